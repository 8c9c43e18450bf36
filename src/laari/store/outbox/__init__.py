"""Webhooks and messages that are sent later: leased by senders, and recorded."""
