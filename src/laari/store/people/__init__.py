"""Merchants, customers, people, their credentials and their sessions."""
