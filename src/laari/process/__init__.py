"""The process tree: a supervisor, its interface processes and the background process."""
