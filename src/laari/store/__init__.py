"""The only layer that knows SQL."""
