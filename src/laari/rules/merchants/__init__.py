"""Merchants: commands about their settings, terms, keys and applications."""
