"""What people see: server-rendered pages, each working without JavaScript."""
