"""How a batch loads rows that are not found by the key of their table."""
