"""Closings of tills: every movement is in one of them, also if it is committed late."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import asyncpg
import pytest
from msgspec.structs import replace

from laari.rules.actors import Payer
from laari.rules.payments.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.payments.refunds import RefundPayment
from laari.rules.payments.till_closings import CloseTill
from laari.rules.records.tenants import Tenant
from laari.rules.records.tills import TillClosing
from laari.rules.refusals import Refusal
from laari.spine.batches import Spine
from laari.store.audit import audit
from laari.store.batch.runner import BatchRunner
from laari.store.counters import daily_figures
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.money import tills
from tests.actors import ANYBODY, OPERATOR
from tests.making import make_merchant

NOW = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)  # one in the morning


class Counter(NamedTuple):
    """A shop's counter: commands run in batches of their own."""

    dsn: str
    tenant: Tenant
    runner: BatchRunner

    async def run(self, *commands: Any) -> list[Any]:
        return await self.runner.run(commands, 1.0)

    async def pay(self, amount: int = 1_000, till: str | None = "1") -> Any:
        payment = await self.create(amount, till)
        [paid] = await self.run(self.paying(payment))
        assert paid.status == "paid"
        return paid

    async def create(self, amount: int = 1_000, till: str | None = "1") -> Any:
        draft = replace(PaymentDraft(str(datetime.now(UTC)), amount), terminal_label=till)
        [payment] = await self.run(CreatePayment(self.tenant, draft))
        return payment

    def paying(self, payment: Any) -> PayPayment:
        return PayPayment(self.tenant, payment.id, Payer(self.tenant.sandbox_account, "sandbox"))

    async def close(self, till: str = "1", **options: Any) -> Any:
        [outcome] = await self.run(CloseTill(self.tenant, till, ANYBODY, **options))
        return outcome

    async def differences(self) -> list[str]:
        async with connection_to(self.dsn) as connection:
            return [each.kind for each in (await audit(connection)).differences]


@pytest.fixture
async def counter(dsn: str) -> AsyncIterator[Counter]:
    async with connection_to(dsn) as connection:
        made = await make_merchant(
            connection, OPERATOR, bytes(32), name="Shop", mode="sandbox", fee_bps=100
        )
        tenant = await tenants.of_merchant(connection, made.merchant.id, "sandbox")
    runner = BatchRunner(dsn, "http://laari.test", clock=lambda: NOW)
    yield Counter(dsn, tenant, runner)
    await runner.close()


def sums(closing: TillClosing) -> tuple[int, ...]:
    return (closing.payments, closing.gross, closing.fees, closing.refunds, closing.refunded)


async def test_a_closing_has_everything_since_the_previous_one(counter: Counter) -> None:
    first = await counter.pay(1_000)
    await counter.pay(5_000, "2")
    await counter.pay(7_000, None)
    closing = await counter.close(note="All counted")
    assert (closing.number, closing.note, closing.actor_name) == (1, "All counted", ANYBODY.name)
    assert sums(closing) == (1, 1_000, 10, 0, 0)
    assert closing.net == 990
    await counter.pay(2_000)
    await counter.run(RefundPayment(counter.tenant, first.id, ANYBODY, 300))
    closing = await counter.close()
    assert (closing.number, *sums(closing)) == (2, 1, 2_000, 20, 1, 300)
    # Each till counts by itself, and so do the payments that name none.
    assert (await counter.close("2")).number == 1
    assert sums(await counter.close("")) == (1, 7_000, 70, 0, 0)
    assert await counter.differences() == []


async def test_nothing_is_closed_if_nothing_moved(counter: Counter) -> None:
    unknown = await counter.close("nobody")
    assert isinstance(unknown, Refusal)
    assert "Nothing was paid" in unknown.message
    await counter.pay()
    await counter.close()
    again = await counter.close()
    assert isinstance(again, Refusal)
    assert "since closing 1" in again.message


async def test_a_form_that_is_sent_twice_closes_once(counter: Counter) -> None:
    await counter.pay()
    assert (await counter.close(if_number=1)).number == 1
    await counter.pay()
    again = await counter.close(if_number=1)
    assert isinstance(again, Refusal)
    assert again.code == "payment_conflict"
    assert (await counter.close(if_number=2)).number == 2


async def test_two_closings_of_one_batch_make_one(counter: Counter) -> None:
    await counter.pay()
    close = CloseTill(counter.tenant, "1", ANYBODY)
    first, second = await counter.run(close, close)
    assert isinstance(first, TillClosing)
    assert isinstance(second, Refusal)


async def test_closings_at_once_make_one(counter: Counter) -> None:
    """The unique number decides, whatever process they come from."""
    await counter.pay()

    async def close() -> Any:
        runner = BatchRunner(counter.dsn, "http://laari.test")
        spine = Spine(runner.run)
        spine.start()
        try:
            return await spine.submit(CloseTill(counter.tenant, "1", ANYBODY))
        finally:
            await spine.close()
            await runner.close()

    outcomes = await asyncio.gather(*(close() for _ in range(8)))
    assert [isinstance(each, TillClosing) for each in outcomes].count(True) == 1
    assert await counter.differences() == []


async def test_a_movement_of_the_same_batch_belongs_to_the_next_closing(counter: Counter) -> None:
    await counter.pay(1_000)
    payment = await counter.create(2_000)
    _, closing = await counter.run(counter.paying(payment), CloseTill(counter.tenant, "1", ANYBODY))
    assert sums(closing) == (1, 1_000, 10, 0, 0)
    assert sums(await counter.close()) == (1, 2_000, 20, 0, 0)
    assert await counter.differences() == []


async def test_a_movement_that_is_committed_late_belongs_to_the_next_closing(
    counter: Counter,
) -> None:
    """It has a lower number than others that the closing has."""
    async with connection_to(counter.dsn) as late:
        transaction = late.transaction()
        await transaction.start()
        await _copy_payment(late, await counter.pay(1_000))
        await counter.pay(2_000)
        assert sums(await counter.close()) == (2, 3_000, 30, 0, 0)
        await counter.pay(4_000)
        # It is still running: not in this one either.
        assert sums(await counter.close()) == (1, 4_000, 40, 0, 0)
        await transaction.commit()
        async with connection_to(counter.dsn) as connection, connection.transaction():
            await daily_figures.add_up(connection)
        assert sums(await counter.close()) == (1, 555, 0, 0, 0)
    kinds = await counter.differences()
    assert "till_closing" not in kinds


async def _copy_payment(connection: asyncpg.Connection, payment: Any) -> None:
    """Another payment of the same till, as a batch would write it."""
    await connection.execute(
        "INSERT INTO payments (id, tenant_id, kind, token, reference, amount, terminal_label, "
        "metadata, created_at, status, fee, paid_at, payment_reference, payer_account) "
        "SELECT gen_random_uuid(), tenant_id, kind, 'late', 'late', 555, terminal_label, metadata, "
        "created_at, status, 0, paid_at, 'LATE', payer_account FROM payments WHERE id = $1",
        payment.id,
    )
    await connection.execute(
        "INSERT INTO transfers (id, kind, debit_account, credit_account, amount, payment_id, tid, "
        "created_at) SELECT gen_random_uuid(), 'payment', payer_account, 1000000000 + tenant_id, "
        "555, id, 'LATE', paid_at FROM payments WHERE reference = 'late'"
    )


async def test_other_merchants_and_modes_have_their_own_tills(counter: Counter, dsn: str) -> None:
    await counter.pay()
    await counter.close()
    async with connection_to(dsn) as connection:
        other = await make_merchant(connection, OPERATOR, bytes(32), name="Other", mode="sandbox")
        tenant = await tenants.of_merchant(connection, other.merchant.id, "sandbox")
        assert await tills.show_open(connection, tenant.id) == []
        assert await tills.closings(connection, tenant.id, None, 10) == ([], None)
        [mine], _ = await tills.closings(connection, counter.tenant.id, None, 10)
        assert await tills.closing(connection, tenant.id, mine.id) is None
        assert await tills.closing(connection, counter.tenant.id, mine.id) == mine


async def test_a_closing_cannot_be_changed(counter: Counter, dsn: str) -> None:
    await counter.pay()
    await counter.close()
    async with connection_to(dsn) as connection:
        for statement in ("UPDATE till_closings SET gross = 1", "DELETE FROM till_closings"):
            with pytest.raises(asyncpg.PostgresError):
                await connection.execute(statement)
