"""The work of the background process."""
