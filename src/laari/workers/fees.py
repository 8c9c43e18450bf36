"""Sets scheduled fees whose moment has come."""

from datetime import UTC, datetime

from laari.rules.merchants.fee_terms import StartFees
from laari.rules.refusals import Refusal
from laari.spine.batches import Spine
from laari.store.postgres.pool import Pool
from laari.store.reads import fees

MOST = 50  # at once


async def start_due(pool: Pool, spine: Spine) -> bool:
    """Returns whether there may be more. Of one merchant, the earliest come first."""
    due = await pool.read(fees.due, datetime.now(UTC), MOST)
    outcomes = [await spine.submit(StartFees(*each)) for each in due]
    return len(due) == MOST and not any(isinstance(each, Refusal) for each in outcomes)
