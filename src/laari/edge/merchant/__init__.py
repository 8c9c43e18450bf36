"""The merchant payments interface."""
