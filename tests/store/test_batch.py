"""Batches that lock nothing keep the same promises, and none walks through a table."""

from __future__ import annotations

import asyncio
from math import inf
from typing import Any, cast

import asyncpg
import pytest

from laari.rules.payments import CreatePayment, PaymentDraft
from laari.rules.records import AccessToken, Payment, Tenant
from laari.rules.tokens import IssueToken
from laari.spine.engine import PATIENT_LOCK_SECONDS, Spine
from laari.store.batch import _SESSION, BatchRunner
from laari.store.database import connection_to
from laari.store.tables import CLAIMS, PAYMENTS, SAVED_RESPONSES, Table


def issue(number: int, scope: str = "payments:read") -> IssueToken:
    return IssueToken(number.to_bytes(32, "big"), "cl_" + "a" * 20, scope, 0)


async def test_a_row_that_cannot_be_written_fails_alone(dsn: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    spine = Spine(runner.run)
    half = "\ud800"  # of a character: it has no bytes, so nothing is sent
    commands = [issue(1), issue(2, scope=half), issue(3)]
    submitted = [asyncio.ensure_future(spine.submit(command)) for command in commands]
    await asyncio.sleep(0)
    spine.start()
    first, bad, last = await asyncio.gather(*submitted, return_exceptions=True)
    assert isinstance(first, AccessToken)
    assert isinstance(last, AccessToken)
    assert isinstance(bad, UnicodeEncodeError)
    await spine.close()
    await runner.close()
    async with connection_to(dsn) as connection:
        assert await connection.fetchval("SELECT count(*) FROM access_tokens") == 2


class Confused:
    """A connection that no longer knows what it is doing, and does not say that it is closed."""

    def is_closed(self) -> bool:
        return False

    def terminate(self) -> None:
        pass

    async def fetch(self, *arguments: Any) -> Any:
        raise asyncpg.InterfaceError("another operation is in progress")


async def test_a_connection_that_fails_while_loading_is_replaced(dsn: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    runner._connection = cast(Any, Confused())
    runner._lock_seconds = PATIENT_LOCK_SECONDS
    runner._planned_at = inf
    spine = Spine(runner.run)
    spine.start()
    tenant = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)
    made = await spine.submit(CreatePayment(tenant, PaymentDraft("ORDER-1", 100)))
    assert isinstance(made, Payment)
    await spine.close()
    await runner.close()


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (SAVED_RESPONSES, ("tenant_id", "operation", "key")),
        (CLAIMS, ("tenant_id", "reference")),
    ],
)
async def test_rows_are_found_by_their_key_however_few_there_were(
    dsn: str, table: Table[Any], columns: tuple[str, ...]
) -> None:
    async with connection_to(dsn, **_SESSION) as connection:
        await connection.execute(f"VACUUM ANALYZE {table.name}")  # now it is known to be empty
        await connection.execute(f"PREPARE look_up AS {table.select_by(*columns)}")
        nothing = ", ".join("'{}'" for _ in columns)
        rows = await connection.fetch(f"EXPLAIN EXECUTE look_up ({nothing})")
    [condition] = [row[0] for row in rows if "Index Cond" in row[0]]
    assert all(f"({column} = wanted.{column})" in condition for column in columns)


async def test_a_plan_for_few_rows_is_not_kept_when_they_are_many(dsn: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    tenant = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)

    async def create(*numbers: int) -> None:
        drafts = [PaymentDraft(f"ORDER-{number}", 100) for number in numbers]
        await runner.run([CreatePayment(tenant, draft) for draft in drafts], 1)

    async def plan() -> str:
        assert runner._connection is not None
        rows = await runner._connection.fetch("EXPLAIN EXECUTE change ('[]')")
        return "\n".join(row[0] for row in rows)

    await create(1, 2)
    assert runner._connection is not None
    await runner._connection.execute("VACUUM ANALYZE payments")  # now it is known to be small
    await runner._connection.execute(f"PREPARE change AS {PAYMENTS.update(1)}")
    small = await plan()
    await create(*range(3, 2_000))
    assert await plan() == small
    runner._planned_at = 0.0  # as if some seconds had passed
    await create(2_000)
    assert "Index Cond: (id = sent.id)" in await plan()
    await runner.close()
