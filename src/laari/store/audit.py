"""The proof that the books are right, recomputed from the ledger.

All checks read one snapshot, so the audit can run while payments are made.
"""

from __future__ import annotations

import asyncpg
from msgspec import Struct

from laari.store.audit_checks import CHECKS

SHOWN = 100  # differences of each kind; how many there are in all is counted


class Difference(Struct, frozen=True):
    kind: str
    id: str
    expected: str
    found: str
    message: str


class Report(Struct, frozen=True):
    """What the audit found; `counts` is how many differences of each kind there are in all."""

    ok: bool
    payments: int
    transfers: int
    differences: list[Difference]
    counts: dict[str, int]


async def audit(connection: asyncpg.Connection) -> Report:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        # The joins of whole tables are hashed in memory instead of on disk.
        await connection.execute("SET LOCAL work_mem = '128MB'; SET LOCAL jit = off")
        payments, transfers = await connection.fetchrow(
            "SELECT (SELECT count(*) FROM payments), (SELECT count(*) FROM transfers)"
        )
        differences: list[Difference] = []
        counts: dict[str, int] = {}
        for check in CHECKS:
            rows = await connection.fetch(
                "SELECT id, expected, found, count(*) OVER () AS total "
                f"FROM ({check.sql}) d ORDER BY id, expected LIMIT {SHOWN}"
            )
            if rows:
                counts[check.kind] = rows[0]["total"]
            differences += [
                Difference(check.kind, row["id"], row["expected"], row["found"], check.message)
                for row in rows
            ]
    return Report(not differences, payments, transfers, differences, counts)
