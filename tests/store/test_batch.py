"""Batches that lock nothing keep the same promises, and none walks through a table."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, cast

import asyncpg
import pytest

from laari.rules.actors import Payer
from laari.rules.idempotency import Keyed, Response
from laari.rules.needs import Needs
from laari.rules.payments.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.records.merchants import AccessToken
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.tokens import IssueToken
from laari.rules.world import World
from laari.spine.batches import PATIENT_LOCK_SECONDS, Spine
from laari.store.batch.load import load
from laari.store.batch.runner import _SESSION, BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.tables import (
    AUTHORIZATIONS,
    PAYMENTS,
    REFERENCES,
    SAVED_RESPONSES,
    KeyedStatements,
    Statements,
)
from tests.actors import OPERATOR
from tests.making import make_customer, make_merchant


def issue(number: int, scope: str = "payments:read") -> IssueToken:
    return IssueToken(number.to_bytes(32, "big"), bytes(32), "cl_" + "a" * 20, scope, 0)


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
        (REFERENCES, ("tenant_id", "reference")),
    ],
)
async def test_rows_are_found_by_their_key_however_few_there_were(
    dsn: str, table: KeyedStatements[Any, Any], columns: tuple[str, ...]
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
    # Now it is known to be small: one page, also if an earlier test used this database.
    await runner._connection.execute("VACUUM (FULL, ANALYZE) payments")
    await runner._connection.execute(f"PREPARE change AS {PAYMENTS.update(1)}")
    small = await plan()
    await create(*range(3, 2_000))
    assert await plan() == small
    runner._planned_at = 0.0  # as if some seconds had passed
    await create(2_000)
    assert "Index Cond: (id = sent.id)" in await plan()
    await runner.close()


async def test_a_process_that_stops_in_a_batch_does_not_keep_its_locks_for_ever(dsn: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    await runner.run([issue(1)], 1.0)
    assert runner._connection is not None
    limit = await runner._connection.fetchval(
        "SELECT current_setting('idle_in_transaction_session_timeout')::interval"
    )
    await runner.close()
    assert timedelta(0) < limit <= timedelta(seconds=10)


@pytest.mark.parametrize("table", [REFERENCES, AUTHORIZATIONS, Statements(World.slips)])
def test_rows_that_two_batches_may_meet_on_are_written_in_one_order(table: Statements[Any]) -> None:
    """Two batches that insert the same rows crosswise would wait for each other for ever."""
    of_slips = table.name == "topup_slips"
    first, second = ("mode", "slip") if of_slips else ("tenant_id", "reference")
    rows = [
        table.record(**dict.fromkeys(table.record.__struct_fields__) | {first: a, second: b})
        for a, b in (("2", "a"), ("1", "b"), ("1", "a"), ("2", "0"))
    ]
    sent = [(row[first], row[second]) for row in json.loads(table.encode(rows))]
    assert sent == [("1", "a"), ("1", "b"), ("2", "0"), ("2", "a")]


class Overtaken:
    """A connection that asks for a key's lock just after its holder has committed its response."""

    def __init__(self, connection: asyncpg.Connection, commit: Any) -> None:
        self._connection, self._commit = connection, commit

    async def fetch(self, statement: str, *values: Any) -> Any:
        if "pg_try_advisory_xact_lock" in statement:
            await self._commit()
        return await self._connection.fetch(statement, *values)


async def test_what_the_last_holder_of_a_key_has_saved_is_seen(dsn: str) -> None:
    tenant = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)

    def answer(outcome: Any) -> Response:
        return Response(201, str(outcome.id).encode())

    command = CreatePayment(tenant, PaymentDraft("ORDER-1", 100))
    keyed = Keyed(tenant, "create_payment", "key", bytes(32), command, answer)
    runner = BatchRunner(dsn, "http://laari.test")
    needs = Needs()
    keyed.needs(needs)
    async with connection_to(dsn) as connection:
        first: list[Any] = []

        async def commit() -> None:
            first.extend(await runner.run([keyed], 1.0))

        spy = cast(asyncpg.Connection, Overtaken(connection, commit))
        world = await load(spy, needs, "http://laari.test", lambda: datetime.now(UTC))
    await runner.close()
    again = keyed.decide(world)
    assert again.replayed
    assert again.body == first[0].body


async def test_a_decision_waits_for_a_row_that_another_process_is_changing(dsn: str) -> None:
    """And then rests on what that one has made of it."""
    runner = BatchRunner(dsn, "http://laari.test")
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")
        tenant = await tenants.of_merchant(connection, shop.merchant.id, "live")
        payer = await make_customer(
            connection, OPERATOR, name="Aisha", mode="live", tier="business", balance=100
        )
        [payment] = await runner.run([CreatePayment(tenant, PaymentDraft("ORDER-1", 100))], 1.0)
        async with connection.transaction():
            await connection.execute(
                "UPDATE wallets SET balance = 40 WHERE account = $1", payer.account
            )
            pay = PayPayment(tenant, payment.id, Payer(payer.account, tenant.mode))
            paying = asyncio.create_task(runner.run([pay], 10.0))
            _, waits = await asyncio.wait([paying], timeout=0.5)
            assert waits
        [outcome] = await paying
        assert isinstance(outcome, Refusal)
        assert outcome.code == "insufficient_balance"
        assert (
            await connection.fetchval("SELECT max(balance) FROM wallets WHERE mode = 'live'") == 40
        )
    await runner.close()
