"""Makes the changes of contacts whose moment has come."""

import asyncio
from datetime import UTC, datetime

from laari.rules.people.contact_changes import ApplyContactChange
from laari.rules.refusals import Refusal
from laari.spine.batches import Spine
from laari.store.postgres.pool import Pool
from laari.store.reads import contact_changes

EVERY_SECONDS = 5.0  # how late a changed contact may take effect
MOST = 50  # at once


async def apply_due(pool: Pool, spine: Spine) -> bool:
    """Returns whether there may be more. Another process may have been first."""
    due = await pool.read(contact_changes.due, datetime.now(UTC), MOST)
    commands = [ApplyContactChange(change.customer_id, change.id) for change in due]
    outcomes = await asyncio.gather(*map(spine.submit, commands))
    return len(due) == MOST and not any(isinstance(each, Refusal) for each in outcomes)
