"""What other processes changed, for pages that wait: one statement for all of them."""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.store.reads.figures import FINDING

# Events of the transactions that `$1` does not show. Their transaction finds them, as in the seals.
_CHANGES = """
SELECT 'snapshot' AS kind, NULL::uuid AS id, NULL::bigint AS tenant_id,
    pg_current_snapshot()::text AS label, NULL::bytea AS digest
UNION ALL
SELECT 'payment', id, NULL, NULL, NULL FROM payments WHERE id = ANY($2) AND status <> 'pending'
UNION ALL
SELECT 'till', NULL, p.tenant_id, p.terminal_label, NULL
FROM events e JOIN payments p ON p.id = e.object_id
WHERE e.xid >= pg_snapshot_xmin($1::text::pg_snapshot)::text::bigint
    AND NOT pg_visible_in_snapshot(e.xid::text::xid8, $1::text::pg_snapshot)
    AND e.tenant_id = ANY($3) AND e.type IN ('payment.paid', 'payment.refunded')
    AND p.terminal_label IS NOT NULL
UNION ALL
SELECT 'device', NULL, NULL, NULL, digest FROM till_devices
WHERE digest = ANY($4) AND ended_at IS NOT NULL
"""


class Changes(NamedTuple):
    snapshot: str  # for the next call
    payments: list[UUID]  # that are no longer pending
    tills: list[tuple[int, str]]  # at which something was paid or refunded
    devices: list[bytes]  # that have ended


async def since(
    connection: Connection,
    snapshot: str | None,
    payments: Collection[UUID],
    tenants: Collection[int],
    devices: Collection[bytes],
) -> Changes:
    """Of these payments, tenants and devices, since the snapshot; without one, no tills."""
    async with connection.transaction(readonly=True):
        await connection.execute(FINDING)
        found = await connection.fetch(
            _CHANGES,
            snapshot or await connection.fetchval("SELECT pg_current_snapshot()::text"),
            list(payments),
            list(tenants),
            list(devices),
        )
    of: dict[str, list[tuple[UUID, int, str, bytes]]] = {}
    for kind, *values in found:
        of.setdefault(kind, []).append(tuple(values))
    return Changes(
        snapshot=of["snapshot"][0][2],
        payments=[payment_id for payment_id, *_ in of.get("payment", [])],
        tills=[(tenant_id, label) for _, tenant_id, label, _ in of.get("till", [])],
        devices=[digest for *_, digest in of.get("device", [])],
    )
