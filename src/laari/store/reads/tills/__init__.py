"""Tills: their records and devices, their sales, and what their pages wait for."""
