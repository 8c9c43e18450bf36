"""The process tree: a supervisor, interface processes and a background process."""
