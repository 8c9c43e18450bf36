"""How long the second person looks twice at what another person made."""

from datetime import timedelta

# A bank account is new that long, even if it was paid. So is a role or log-in that somebody gave.
RECENT = timedelta(days=30)
