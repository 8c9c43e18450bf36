"""Merchants, customers, staff, their credentials and their sessions."""
