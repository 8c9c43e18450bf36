"""Batching, the transaction and replies; knows no resource."""
