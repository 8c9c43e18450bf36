"""The command line: thin commands over the other layers."""
