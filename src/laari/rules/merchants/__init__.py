"""Merchants: commands about their settings, terms, keys, applications and sandboxes."""
