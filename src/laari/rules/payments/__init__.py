"""Payments, payment requests and authorizations: how they are made, paid, charged and refunded."""
