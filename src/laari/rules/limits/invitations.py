"""How long an invitation to a role works, and how many there are."""

from datetime import timedelta

INVITATION_LIFE = timedelta(hours=24)
OPEN_INVITATIONS = 50  # of one merchant
INVITATIONS_A_DAY = 10  # to one address in 24 hours, of all merchants
