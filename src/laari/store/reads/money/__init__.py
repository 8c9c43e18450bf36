"""Reads about a merchant's or the bank's money."""
