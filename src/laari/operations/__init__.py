"""The operator's actions, each declared once: the desk and the command line are its faces."""
