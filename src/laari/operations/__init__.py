"""Actions, each declared once: pages and the command line are its faces."""
