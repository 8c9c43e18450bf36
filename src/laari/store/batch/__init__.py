"""One batch of commands as one transaction: load, decide, save, commit."""
