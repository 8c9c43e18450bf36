"""Pages that are read together are the pages that would have been read one by one."""

import os
import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import uuid4

import asyncpg
import pytest
from msgspec.structs import replace

from laari.rules.records.payments import Payment, ReferenceClaim
from laari.rules.world import World
from laari.store.batch.save import save
from laari.store.postgres.pool import connection_to
from laari.store.reads import authorizations, events, listing, payment_requests, payments
from laari.store.reads.listing import Found, Listing, Position, Window, page, plain_pages

START = datetime(2026, 1, 1, tzinfo=UTC)


def payment(tenant_id: int, number: int, label: str | None) -> Payment:
    made = uuid4()
    is_paid = number % 7 < 5
    return Payment(
        made,
        tenant_id,
        "hosted",
        made.hex,
        f"ORDER-{number}",
        100,
        None,
        None,
        label,
        None,
        None,
        "{}",
        START + timedelta(minutes=number // 2),
        None,
        None,
        None,
        *(("paid", 0, START, "T", 1) if is_paid else ("expired", None, None, None, None)),
        None,
        None,
        None,
        None,
        None,
    )


async def test_pages_read_together_are_those_read_one_by_one(dsn: str) -> None:
    world = World(START, "", os.urandom)
    rows = [payment(1 + n % 3, n, ("Till 1", "Till 2", None)[n % 5 % 3]) for n in range(300)]
    random.shuffle(rows)
    for row in rows:
        world.payments.add(row.id, row)
    middle = Position(START + timedelta(minutes=75), rows[0].id)
    windows = [
        Window(20),
        Window(7),
        Window(7, after=middle),
        Window(100, created_from=START + timedelta(hours=1)),
        Window(3, middle, START + timedelta(minutes=70), START + timedelta(minutes=200)),
        Window(5, after=Position(START, uuid4())),
        Window(50, created_to=START),
    ]
    filters: list[dict[str, str | None]] = [
        {},
        {"status": "paid"},
        {"terminal_label": "Till 1"},  # of every status
        {"terminal_label": "Till 1", "status": "paid"},
    ]
    asked: list[Listing[Payment]] = [
        payments.of_tenant(tenant, START, window, **named)
        for tenant in (1, 2, 3, 4)
        for window in windows
        for named in filters
    ]
    assert all(listing.is_plain for listing in asked)
    assert len(asked) == 4 * len(windows) * len(filters)
    async with connection_to(dsn) as connection:
        await save(connection, world)
        together = await plain_pages(connection, asked)
        assert together == [await page(connection, listing) for listing in asked]
        assert {len(found.rows) for found in together} >= {0, 3, 7, 20}
        labelled = payments.of_tenant(1, START, Window(100), terminal_label="Till 1")
        of_the_till = [row for row in rows if (row.tenant_id, row.terminal_label) == (1, "Till 1")]
        of_the_till.sort(key=lambda row: (row.created_at, row.id), reverse=True)
        assert (await plain_pages(connection, [labelled]))[0].rows == of_the_till
        others = payment_requests.of_tenant(1, START, Window(5))
        assert await plain_pages(connection, [others, asked[0]]) == [Found([], None), together[0]]


# The columns of each index of a table, in order.
INDEXED = """
SELECT array_agg(pg_get_indexdef(indexrelid, number, false) ORDER BY number) AS columns
FROM pg_index, generate_series(1, indnkeyatts) AS number
WHERE indrelid = $1::text::regclass GROUP BY indexrelid
"""


@pytest.mark.parametrize(
    "asked",
    [
        *(
            payments.of_tenant(1, START, Window(20), status=status, terminal_label=label)
            for status in (None, "paid", "pending", "expired")
            for label in (None, "Till 1")
        ),
        payments.of_tenant(1, START, Window(20), bill_number="007"),
        *(
            payment_requests.of_tenant(1, START, Window(20), status=status)
            for status in (None, "paid", "pending", "expired")
        ),
        payment_requests.of_account(1, Window(20), waiting=True),
        *(
            authorizations.of_tenant(1, START, Window(20), status)
            for status in (None, "active", "expired")
        ),
        authorizations.of_account(1, Window(20)),
        authorizations.payments_of(uuid4(), Window(20), status="paid"),
        events.of_tenant(1, Window(20), types=["payment.paid"]),
    ],
)
async def test_every_walk_goes_along_an_index(dsn: str, asked: Listing[Any]) -> None:
    """Without one, a page of a merchant with a million payments would read all of them."""
    async with connection_to(dsn) as connection:
        rows = await connection.fetch(INDEXED, asked.table.name)
    indexes = [tuple(row["columns"]) for row in rows]
    for walk in asked.walks:
        count = len(walk.equal)
        along = {each[count:] for each in indexes if set(each[:count]) == set(walk.equal)}
        assert ("created_at", "id") in along, walk.equal


async def test_a_reference_is_looked_up_and_not_searched_for(dsn: str) -> None:
    """Payments have no index of references, which every payment would have to write."""
    world = World(START, "", os.urandom)
    for number in range(3_000):
        row = payment(1, number, None)
        world.payments.add(row.id, row)
        claim = ReferenceClaim(1, row.reference, "payment", row.id)
        world.references.add((1, row.reference), claim)
    asked = payments.of_tenant(1, START, Window(20), reference="ORDER-7")
    statement, values = listing._plain_statement(asked)
    async with connection_to(dsn) as connection:
        await save(connection, world)
        await connection.execute("ANALYZE payments, reference_claims")
        plan = await connection.fetch(f"EXPLAIN {statement}", *[[value] for value in values])
        (found,) = await plain_pages(connection, [asked])
    lines = "\n".join(row[0] for row in plan)
    assert "payments_pkey" in lines, lines
    assert "reference_claims_pkey" in lines, lines
    # An empty table that was analysed may be read whole: there are no payment requests.
    read_whole = re.findall(r"Seq Scan on (\w+)", lines)
    assert set(read_whole) <= {"payment_requests"}, lines
    assert [row.reference for row in found.rows] == ["ORDER-7"]


class Recorded:
    """A connection that notes what it was asked with."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self.asked: list[tuple[object, ...]] = []

    async def fetch(self, statement: str, *values: tuple[object, ...]) -> list[asyncpg.Record]:
        self.asked += zip(*values, strict=True)
        return await self._connection.fetch(statement, *values)


async def test_equal_pages_asked_for_together_are_read_once(dsn: str) -> None:
    world = World(START, "", os.urandom)
    for number in range(12):
        row = payment(1 + number % 2, number, "Till 1")
        world.payments.add(row.id, row)
    first, other, last = (payments.of_tenant(1 + n, START, Window(3)) for n in (0, 1, 0))
    longer = payments.of_tenant(1, START, Window(4))
    asked = [first, other, last, longer, *[first] * 20]
    async with connection_to(dsn) as connection:
        await save(connection, world)
        recorded = Recorded(connection)
        found = await plain_pages(cast(asyncpg.Connection, recorded), asked)
        assert sorted(recorded.asked) == [(1,), (1,), (2,)]  # the longer one is of another form
        assert found == [await page(connection, listing) for listing in asked]
    mine = found[0]
    assert [each is mine for each in found] == [True, False, True, False, *[True] * 20]


async def test_a_page_of_several_statements_is_of_one_moment(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is overdue is shown among the expired; it becomes so between the two looks."""
    world = World(START, "", os.urandom)
    row = replace(payment(1, 6, None), status="pending", expires_at=START)
    world.payments.add(row.id, row)
    walk = listing._walk
    async with connection_to(dsn) as connection, connection_to(dsn) as other:
        await save(connection, world)

        async def walk_and_expire(*arguments: Any) -> Any:
            found = await walk(*arguments)
            await other.execute("UPDATE payments SET status = 'expired' WHERE id = $1", row.id)
            return found

        monkeypatch.setattr(listing, "_walk", walk_and_expire)
        asked = payments.of_tenant(1, START, Window(20), status="expired")
        assert len(asked.walks) > 1
        found = await page(connection, asked)
    assert [each.id for each in found.rows] == [row.id]
