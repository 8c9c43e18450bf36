"""What the store knows about merchants: only SELECT."""
