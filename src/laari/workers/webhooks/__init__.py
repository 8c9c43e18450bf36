"""Webhooks: their delivery to merchants, and the training of a receiver."""
