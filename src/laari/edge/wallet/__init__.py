"""The read-only wallet interface."""
