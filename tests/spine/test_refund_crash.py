"""A connection that is lost at any statement of a refund: nothing is lost or doubled."""

from typing import Any, NamedTuple

import asyncpg
import pytest

from laari.rules.actors import Payer
from laari.rules.idempotency import Keyed, Response
from laari.rules.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.records import Tenant
from laari.rules.refunds import Refunded, RefundPayment
from laari.rules.refusals import Refusal
from laari.rules.shapes.envelopes import Data, to_json
from laari.rules.shapes.refunds import refund_shape
from laari.spine.engine import OutcomeUnknown, Spine
from laari.store.batch.runner import BatchRunner
from laari.store.people import customers, merchants
from laari.store.postgres.pool import connection_to
from laari.store.reads import balances, tenants
from tests.actors import OPERATOR
from tests.audit.books import look

ORIGIN = "http://laari.test"
PAID, PART, FEE = 10_000, 4_000, 250
BALANCE = 50_000
STATEMENTS = 11  # of the batch of a refund; a test counts them


class CutAtNumber(BatchRunner):
    """Loses the connection at one statement of a batch, before or after it is done."""

    def __init__(self, dsn: str, number: int, is_done: bool) -> None:
        super().__init__(dsn, ORIGIN)
        self.number, self.is_done, self.seen = number, is_done, 0

    async def _ready(self, lock_seconds: float) -> Any:
        return _Counted(self, await super()._ready(lock_seconds))


class _Counted:
    def __init__(self, runner: CutAtNumber, connection: asyncpg.Connection) -> None:
        self._runner = runner
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._connection, name)
        if name not in ("execute", "fetch", "fetchrow", "fetchval", "executemany"):
            return found

        async def counted(*arguments: Any) -> Any:
            runner = self._runner
            runner.seen += 1
            if runner.seen != runner.number:
                return await found(*arguments)
            if runner.is_done:
                await found(*arguments)
            self._connection.terminate()
            raise asyncpg.ConnectionDoesNotExistError("connection was closed")

        return counted


class Shop(NamedTuple):
    dsn: str
    tenant: Tenant
    refund: Keyed[Refunded]
    account: int


@pytest.fixture
async def shop(dsn: str) -> Shop:
    """A shop with a payment to refund, in live mode with a fee."""
    async with connection_to(dsn) as connection:
        made = await merchants.create(
            connection, OPERATOR, bytes(32), name="Shop", mode="live", fee_bps=250
        )
        customer = await customers.create(
            connection, OPERATOR, name="A", mode="live", tier="business", balance=BALANCE
        )
        tenant = await tenants.of_merchant(connection, made.merchant.id, "live")
    runner = BatchRunner(dsn, ORIGIN)
    [payment] = await runner.run([CreatePayment(tenant, PaymentDraft("r", PAID))], 1)
    await runner.run([PayPayment(tenant, payment.id, Payer(customer.account, "live"))], 1)
    await runner.close()

    def render(outcome: Refunded | Refusal) -> Response:
        assert not isinstance(outcome, Refusal), outcome
        body = to_json(Data(refund_shape(outcome.refund)))
        return Response(201, body, resource_id=outcome.refund.id)

    command = RefundPayment(tenant, payment.id, OPERATOR, PART)
    return Shop(
        dsn, tenant, Keyed(tenant, "refund", "key", bytes(32), command, render), customer.account
    )


async def refund_with(shop: Shop, runner: BatchRunner) -> bool:
    """False if nobody can say whether it was done."""
    spine = Spine(runner.run)
    spine.start()
    try:
        await spine.submit(shop.refund)
    except OutcomeUnknown:
        return False
    finally:
        await spine.close()
        await runner.close()
    return True


async def statements(shop: Shop) -> int:
    runner = CutAtNumber(shop.dsn, 0, False)
    assert await refund_with(shop, runner)
    return runner.seen


async def check_once(shop: Shop) -> None:
    async with connection_to(shop.dsn) as connection:
        for table, most in (("refunds", 1), ("transfers WHERE kind = 'refund'", 1)):
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == most
        events = "SELECT count(*) FROM events WHERE type = 'payment.refunded'"
        assert await connection.fetchval(events) == 1
        entries = "SELECT count(*) FROM journal WHERE action = 'payment.refund'"
        assert await connection.fetchval(entries) == 1
        held = "SELECT balance FROM wallets WHERE account = $1"
        assert await connection.fetchval(held, shop.account) == BALANCE - PAID + PART
        [balance] = (await balances.of_tenants(connection, [shop.tenant.id])).values()
        assert balance.available == PAID - FEE - PART
    assert (await look(shop.dsn)).differences == []


async def test_the_statements_of_a_refund_are_counted(shop: Shop) -> None:
    assert await statements(shop) == STATEMENTS
    await check_once(shop)


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, STATEMENTS + 1))
async def test_a_lost_connection_loses_and_doubles_nothing(
    shop: Shop, number: int, is_done: bool
) -> None:
    runner = CutAtNumber(shop.dsn, number, is_done)
    known = await refund_with(shop, runner)
    assert runner.seen >= number
    async with connection_to(shop.dsn) as connection:
        made = await connection.fetchval("SELECT count(*) FROM refunds")
    assert made == 1 if known else made in (0, 1)
    # The caller sends it again with its key: done once, whatever happened the first time.
    assert await refund_with(shop, BatchRunner(shop.dsn, ORIGIN))
    await check_once(shop)
