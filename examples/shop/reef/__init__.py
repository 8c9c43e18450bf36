"""Reef: a small dive shop that takes its money through Laari."""
