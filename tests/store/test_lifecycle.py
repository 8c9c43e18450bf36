"""The transitions of payments and payment requests: the commands and the database agree on them."""

import os
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, get_args
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace

from laari.rules.actors import Payer, sandbox_customer
from laari.rules.lifecycle import (
    PAYMENT_TRANSITIONS,
    REQUEST_TRANSITIONS,
    Action,
    State,
    TransitionError,
    Transitions,
    shown_state,
    state_of,
)
from laari.rules.merchants.sandbox_wallet import SetSandboxWallet
from laari.rules.payments import payment_requests, payments
from laari.rules.payments.payment_commands import PAYMENTS, move
from laari.rules.payments.refunds import RefundPayment
from laari.rules.records.payments import Payment, PaymentStatus
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import World
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests.actors import OPERATOR
from tests.making import make_merchant

ACTIONS: tuple[Action, ...] = get_args(Action)
STATUSES: tuple[PaymentStatus, ...] = get_args(PaymentStatus)
HOUR = 3600
NOW = datetime(2026, 2, 27, 12, 0, tzinfo=UTC)


class Bench(NamedTuple):
    """A sandbox whose clock can be moved, and one row of either kind in any state."""

    connection: asyncpg.Connection
    runner: BatchRunner
    tenant: Tenant
    kind: str

    @property
    def payer(self) -> Payer:
        return sandbox_customer(self.tenant)

    async def run(self, *commands: Any) -> list[Any]:
        return await self.runner.run(commands, 1.0)

    async def new(self, *references: str) -> list[UUID]:
        deadline = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
        return [made.id for made in await self.run(*(self._new(r, deadline) for r in references))]

    def _new(self, reference: str, deadline: datetime) -> Any:
        if self.kind == "payment":
            draft = payments.PaymentDraft(reference, 100, expires_at=deadline)
            return payments.CreatePayment(self.tenant, draft)
        asked = payment_requests.RequestDraft(reference, 100, "vpa", "payer", expires_at=deadline)
        return payment_requests.CreateRequest(self.tenant, asked, designated=True)

    async def command(self, action: Action, row: UUID, later: int = 0) -> Any:
        """The command of this action, for a clock that is so much ahead."""
        tenant = replace(self.tenant, clock_offset_seconds=later)
        if action == "refund":
            paid = await self.connection.fetchval(
                "SELECT payment_id FROM payment_requests WHERE id = $1", row
            )
            return RefundPayment(tenant, paid or row, OPERATOR)
        names = {"payment": (payments, "Payment"), "request": (payment_requests, "Request")}
        module, noun = names[self.kind]
        command = getattr(module, f"{action.capitalize()}{noun}")
        by_payer = action in ("pay", "reject", "reserve", "release")
        others = [self.payer] if by_payer else [OPERATOR] if action == "cancel" else []
        return command(tenant, row, *others)

    async def bring(self, state: State, rows: list[UUID]) -> None:
        way, later = WAYS[state]
        for step in way:
            expiring = later if step == "expire" else 0
            outcomes = await self.run(*[await self.command(step, row, expiring) for row in rows])
            assert not any(isinstance(outcome, Refusal) for outcome in outcomes), (state, step)

    async def row(self, row: UUID) -> asyncpg.Record:
        table = "payments" if self.kind == "payment" else "payment_requests"
        return await self.connection.fetchrow(f"SELECT * FROM {table} WHERE id = $1", row)


# How each state is come to, and how far the clock has gone on when something is done there.
WAYS: dict[State, tuple[tuple[Action, ...], int]] = {
    "pending": ((), 0),
    "processing": (("reserve",), 2 * HOUR),  # past its deadline: it does not expire
    "overdue": ((), 2 * HOUR),
    "paid": (("pay",), 2 * HOUR),
    "rejected": (("reject",), 2 * HOUR),
    "cancelled": (("cancel",), 2 * HOUR),
    "refunded": (("pay", "refund"), 2 * HOUR),
    "expired": (("expire",), 2 * HOUR),
}


@pytest.fixture(params=["payment", "request"])
async def bench(request: pytest.FixtureRequest, dsn: str) -> AsyncIterator[Bench]:
    runner = BatchRunner(dsn, "http://laari.test")
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
        tenant = await tenants.of_merchant(connection, shop.merchant.id, "sandbox")
        await runner.run([SetSandboxWallet(tenant, OPERATOR, 1_000_000, "business")], 1.0)
        yield Bench(connection, runner, tenant, request.param)
    await runner.close()


def transitions(bench: Bench) -> Transitions:
    return PAYMENT_TRANSITIONS if bench.kind == "payment" else REQUEST_TRANSITIONS


async def test_what_is_done_in_each_state_is_what_the_table_says(bench: Bench) -> None:
    table = transitions(bench)
    assert table.keys() == WAYS.keys() == {*STATUSES, "processing", "overdue"}
    for state in WAYS:
        rows = await bench.new(*(f"{state} {action}" for action in ACTIONS))
        await bench.bring(state, rows)
        before = [await bench.row(row) for row in rows]
        doing = zip(ACTIONS, rows, strict=True)
        outcomes = await bench.run(
            *[await bench.command(action, row, WAYS[state][1]) for action, row in doing]
        )
        for action, row, old, outcome in zip(ACTIONS, rows, before, outcomes, strict=True):
            after, allowed = await bench.row(row), table[state].get(action)
            if allowed is not None:
                assert not isinstance(outcome, Refusal), (state, action, outcome)
                assert after["status"] == allowed, (state, action)
                assert (after["reserved_at"] is not None) == (action == "reserve")
            else:
                assert after == old, (state, action)
                unchanged = action == "expire" or (state, action) == ("cancelled", "cancel")
                assert isinstance(outcome, Refusal) != unchanged, (state, action, outcome)


async def test_an_overdue_request_is_not_cancelled_and_an_overdue_payment_is(bench: Bench) -> None:
    [row] = await bench.new("late")
    [outcome] = await bench.run(await bench.command("cancel", row, 2 * HOUR))
    if bench.kind == "payment":
        assert outcome.status == "cancelled"
    else:
        assert outcome.code == "payment_request_not_cancellable"


async def test_the_database_knows_the_same_states(bench: Bench) -> None:
    """The statuses of the table and no others; reserved only where it can be reserved."""
    table = "payments" if bench.kind == "payment" else "payment_requests"
    known = {state for state in transitions(bench) if state not in ("processing", "overdue")}
    assert known == set(STATUSES)
    [check] = await bench.connection.fetch(
        "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint "
        "WHERE conrelid = $1::regclass AND conname = $1 || '_status_check'",
        table,
    )
    assert set(re.findall(r"(?<=[{',])[a-z]+(?=[},'])", check["text"])) == known
    reserve = "reserved_at = now()" + (", reserved_by = 1" if bench.kind == "payment" else "")
    for status in STATUSES:
        [row] = await bench.new(f"reserve {status}")
        await bench.bring(status, [row])
        assert (await bench.row(row))["status"] == status
        update = f"UPDATE {table} SET {reserve} WHERE id = $1"
        if "reserve" in transitions(bench)[status]:
            await bench.connection.execute(update, row)
        else:
            with pytest.raises(asyncpg.CheckViolationError):
                await bench.connection.execute(update, row)
        for other in STATUSES:  # a status alone, without what belongs to it
            if other in ("pending", "expired") and status in ("pending", "expired"):
                continue
            if other != status and {other, status} != {"paid", "refunded"}:
                with pytest.raises(asyncpg.CheckViolationError):
                    await bench.connection.execute(
                        f"UPDATE {table} SET status = $2 WHERE id = $1", row, other
                    )


def payment(**changes: Any) -> Payment:
    tenant = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)
    world = World(NOW, "http://laari.test", os.urandom)
    made = payments.new_payment(world, tenant, "hosted", payments.PaymentDraft("a", 100))
    return replace(made, **changes)


def test_a_command_that_does_not_ask_fails() -> None:
    tenant = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)
    world = World(NOW, "http://laari.test", os.urandom)
    paid = payment(status="paid")
    world.payments.lock(paid.id, paid)
    for action in ACTIONS:
        if action != "refund":
            with pytest.raises(TransitionError):
                move(PAYMENTS, world, tenant, paid, action)
    assert (world.payments.changed, world.events) == ({}, [])


@pytest.mark.parametrize(
    ("changes", "state", "shown", "closed"),
    [
        ({}, "pending", "pending", "closed"),
        ({"expires_at": NOW}, "overdue", "expired", "expired"),
        ({"expires_at": NOW + timedelta(microseconds=1)}, "pending", "pending", "closed"),
        ({"expires_at": NOW, "reserved_at": NOW}, "processing", "processing", "closed"),
        ({"expires_at": NOW, "status": "paid"}, "paid", "paid", "paid"),
        ({"status": "expired"}, "expired", "expired", "expired"),
    ],
)
def test_the_state_is_derived_in_one_place(
    changes: dict[str, Any], state: str, shown: str, closed: str
) -> None:
    made = payment(**changes)
    assert state_of(made, NOW) == state
    assert shown_state(made, NOW) == shown
    assert shown_state(made, NOW, active=False) == closed
