"""Merchants: their settings, terms, keys and applications."""
