"""Ends invitations that nobody accepted in time; their links stop working without this."""

import asyncio
from datetime import UTC, datetime

from laari.rules.people.invitations import ExpireInvitation
from laari.spine.batches import Spine
from laari.store.postgres.pool import Pool
from laari.store.reads.people import invitations

EVERY_SECONDS = 3600
MOST = 50  # at once


async def expire_overdue(pool: Pool, spine: Spine) -> bool:
    """Returns whether there may be more. Another process may have been first."""
    overdue = await pool.read(invitations.overdue, datetime.now(UTC), MOST)
    outcomes = await asyncio.gather(*(spine.submit(ExpireInvitation(*key)) for key in overdue))
    return len(overdue) == MOST and all(outcome is True for outcome in outcomes)
