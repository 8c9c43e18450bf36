"""Expires payment requests that nobody reads, so that their merchants get the event."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

from laari.rules.payments.payment_requests import ExpireRequest
from laari.rules.refusals import Refusal
from laari.spine.batches import Spine
from laari.store.postgres.pool import Pool
from laari.store.reads import payment_requests, tenants

EVERY_SECONDS = 20  # with a slow round, a request expires at most a minute late
CHUNK = 200  # requests at a time: the spine's share of one batch


async def expire_overdue_requests(pool: Pool, spine: Spine, chunk: int = CHUNK) -> int:
    """Expires requests that are overdue by their tenant's clock; returns how many.

    Each round takes a share of each tenant's requests, so no sandbox delays other tenants.
    """
    expired = 0
    while True:
        done, more = await _expire_a_share_of_each(pool, spine, chunk, max(chunk // 2, 1))
        expired += done
        # The next job takes rows that were locked.
        if not more or done == 0:
            return expired


async def _expire_a_share_of_each(
    pool: Pool, spine: Spine, chunk: int, share: int
) -> tuple[int, bool]:
    """Returns how many requests expired, and whether a tenant may have more."""
    done, more, last_tenant = 0, False, 0
    while True:
        found = await pool.read(
            payment_requests.overdue, datetime.now(UTC), chunk, share, last_tenant
        )
        owners = await pool.read(tenants.by_id, [tenant_id for _, tenant_id in found])
        outcomes = await asyncio.gather(
            *(spine.submit(ExpireRequest(owners[tenant_id], id)) for id, tenant_id in found)
        )
        done += sum(not isinstance(outcome, Refusal) for outcome in outcomes)
        shares = Counter(tenant_id for _, tenant_id in found)
        more = more or len(found) == chunk or share in shares.values()
        if len(found) < chunk:
            return done, more
        last_tenant = found[-1][1]
