"""Balances and the ledger of a merchant are the sums of its transfers, whatever was added up."""

import random
from datetime import date, timedelta
from uuid import uuid4

import asyncpg
import pytest

from laari.rules.ledger import FIRST_HELD_ACCOUNT, FIRST_MERCHANT_ACCOUNT
from laari.store.postgres.pool import connection_to
from laari.store.reads.figures import Span
from laari.store.reads.listing import Position
from laari.store.reads.money import balance_history, balances
from laari.store.reads.money.balances import Balance
from tests.store.test_figures import FIRST, MIDNIGHT, SPAN_DAYS, add_up, tenant

__all__ = ["tenant"]  # a fixture

EVER = (date(2020, 1, 1), date(2030, 1, 1))


async def trade(connection: asyncpg.Connection, tenant: int, chance: random.Random) -> None:
    """A payment with its fee, sometimes a refund of a part, a hold or a payout."""
    at = MIDNIGHT + timedelta(minutes=chance.randrange(24 * 60 * SPAN_DAYS))
    merchant, held = FIRST_MERCHANT_ACCOUNT + tenant, FIRST_HELD_ACCOUNT + tenant
    payment, tid = uuid4(), uuid4().hex
    amount, fee = chance.randrange(10, 500), chance.randrange(10)
    await connection.execute(
        "INSERT INTO payments (id, tenant_id, kind, token, reference, amount, metadata, "
        "created_at, status, fee, paid_at, payment_reference, payer_account) "
        "VALUES ($1, $2, 'hosted', $3, $3, $4, '{}', $5, 'paid', $6, $5, $3, 9)",
        payment,
        tenant,
        tid,
        amount,
        at,
        fee,
    )
    moves = [("payment", 9, merchant, amount, payment, tid)]
    if fee:
        moves.append(("fee", merchant, 1, fee, payment, tid))
    if chance.random() < 0.4:
        returned = uuid4().hex
        await connection.execute(
            "INSERT INTO refunds (id, tenant_id, payment_id, amount, actor_kind, actor_name, tid, "
            "created_at) VALUES ($1, $2, $3, $4, 'person', 'owner@shop.mv', $5, $6)",
            uuid4(),
            tenant,
            payment,
            amount // 2,
            returned,
            at,
        )
        moves.append(("refund", merchant, 9, amount // 2, payment, returned))
    other = chance.choice(["hold", "release", "payout", "payout_returned", None])
    sides = {
        "hold": (merchant, held),
        "release": (held, merchant),
        "payout": (merchant, 5),
        "payout_returned": (5, merchant),
    }
    if other is not None:
        moves.append((other, *sides[other], chance.randrange(1, 40), None, uuid4().hex))
    for kind, debit, credit, moved, of, reference in moves:
        await connection.execute(
            "INSERT INTO transfers (id, kind, debit_account, credit_account, amount, payment_id, "
            "tid, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            uuid4(),
            kind,
            debit,
            credit,
            moved,
            of,
            reference,
            at,
        )


async def sums(connection: asyncpg.Connection, tenant: int) -> Balance:
    """The same, the long way."""
    totals = [
        await connection.fetchval(
            "SELECT coalesce(sum(CASE credit_account WHEN $1 THEN amount ELSE -amount END), 0) "
            "FROM transfers WHERE $1 IN (debit_account, credit_account)",
            first + tenant,
        )
        for first in (FIRST_MERCHANT_ACCOUNT, FIRST_HELD_ACCOUNT)
    ]
    return Balance(*map(int, totals))


async def test_a_balance_is_exact_whatever_was_added_up(dsn: str, tenant: int) -> None:
    chance = random.Random(3)
    async with connection_to(dsn) as connection:
        assert await balances.of_tenant(connection, tenant) == Balance()
        for number in range(60):
            await trade(connection, tenant, chance)
            expected = await sums(connection, tenant)
            assert await balances.of_tenant(connection, tenant) == expected
            if number % 7 == 0:
                await add_up(connection)
                assert await balances.of_tenant(connection, tenant) == expected
        assert expected.held != 0
        other = await balances.of_tenants(connection, [tenant, tenant + 1, 99])
        assert other == {tenant: expected, tenant + 1: Balance(), 99: Balance()}


async def test_the_ledger_ends_at_the_balance_and_begins_at_nothing(dsn: str, tenant: int) -> None:
    chance = random.Random(5)
    async with connection_to(dsn) as connection:
        for number in range(40):
            await trade(connection, tenant, chance)
            if number == 25:
                await add_up(connection)
        expected = await sums(connection, tenant)
        for limit in (1, 7, 500):
            lines: list[balance_history.Line] = []
            after: Position | None = None
            while True:
                found = await balance_history.of_span(connection, Span(tenant, *EVER), limit, after)
                assert found.balance == expected
                lines += found.lines
                after = found.next
                if after is None:
                    break
            left = expected.available
            for line in lines:
                assert line.balance == left
                left -= line.movement.effect
            assert left == 0
        # The days of the middle alone have the same balances.
        span = Span(tenant, FIRST + timedelta(days=1), FIRST + timedelta(days=2))
        part = (await balance_history.of_span(connection, span, 500)).lines
        assert part
        assert set(part) <= set(lines)
        refunds = await balance_history.of_span(
            connection, Span(tenant, *EVER), 500, None, ("refund",)
        )
        assert {line.balance for line in refunds.lines} == {None}


async def test_a_file_carries_the_balance_instead_of_summing_up_the_day_again(
    dsn: str, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(6)
    async with connection_to(dsn) as connection:
        for _ in range(30):
            await trade(connection, tenant, chance)
        span = Span(tenant, *EVER)
        whole = await balance_history.of_span(connection, span, 500)
        found = await balance_history.of_span(connection, span, 7)
        lines = found.lines

        async def refuse(*_: object) -> int:
            raise AssertionError("a day was summed up again")

        monkeypatch.setattr(balance_history.movements, "sum_newer", refuse)
        while found.next is not None:
            found = await balance_history.of_span(connection, span, 7, found.next, left=found.left)
            lines += found.lines
        assert lines == whole.lines
        assert (found.left, whole.left) == (0, 0)
