"""Writes that decide nothing: windows, last uses and sums."""
