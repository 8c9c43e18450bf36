"""Expires payment requests that nobody reads, so that their merchants hear of it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from laari.rules.payment_requests import ExpireRequest
from laari.rules.refusals import Refusal
from laari.spine.engine import Spine
from laari.store import payment_requests, tenants
from laari.store.database import Pool

EVERY_SECONDS = 20  # a request may be marked at most a minute late, a slow round included
CHUNK = 200  # requests in one go: the spine's share of one batch


async def expire_overdue_requests(pool: Pool, spine: Spine, chunk: int = CHUNK) -> int:
    """Expires what is overdue by its tenant's own clock, through the spine like any reader."""
    expired = 0
    while True:
        found = await pool.read(payment_requests.overdue, datetime.now(UTC), chunk)
        owners = await pool.read(tenants.by_id, [tenant_id for _, tenant_id in found])
        outcomes = await asyncio.gather(
            *(spine.submit(ExpireRequest(owners[tenant_id], id)) for id, tenant_id in found)
        )
        done = sum(not isinstance(outcome, Refusal) for outcome in outcomes)
        expired += done
        # A row whose lock could not be acquired is left for the next round.
        if len(found) < chunk or done == 0:
            return expired
