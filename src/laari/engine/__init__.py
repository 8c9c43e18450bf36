"""PostgreSQL as a program: the embedded server, its files, backup and restore."""
