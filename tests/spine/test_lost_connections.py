"""A connection lost at any statement of a refund or a payout: nothing is lost or doubled."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import date
from typing import Any, Literal, NamedTuple

import asyncpg
import pytest

from laari.rules.banking.payout_runs import AnswerPayout, CancelRun, OpenRun, SendRun
from laari.rules.banking.payouts import RequestPayout
from laari.rules.command import Command
from laari.rules.idempotency import Keyed, Response
from laari.rules.payments.refunds import Refunded, RefundPayment
from laari.rules.records.payouts import PayoutRun
from laari.rules.refusals import Refusal
from laari.rules.shapes.envelopes import Data, to_json
from laari.rules.shapes.refunds import refund_shape
from laari.spine.batches import OutcomeUnknown, Spine
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from tests import shops
from tests.actors import OPERATOR
from tests.sampling import some_of
from tests.store.payout_books import SECOND, Shop, a_shop, bank_account

pytestmark = pytest.mark.ci

ORIGIN = "http://laari.test"
PAID, FEE, PART, PAYOUT_FEE = 10_000, 250, 4_000, 50
OWED = PAID - FEE
DAY = date(2026, 11, 17)
MOST = 5_000  # laari in one order: the payout has two


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


# == The operations ===============================================================================


class Operation(NamedTuple):
    """One command after some others, and what is there when it is done once."""

    statements: int  # of its batch; a test counts them
    prepare: Callable[[Shop], Awaitable[Command[Any]]]
    counts: dict[str, int]  # of rows, after FROM
    balance: tuple[int, int, int]  # available, held, in transit
    # The answer to a repetition of what is done; without one, it is accepted again.
    repeated: str | None = None


async def refund(shop: Shop) -> Command[Any]:
    payment = await shop.connection.fetchval("SELECT id FROM payments")

    def render(outcome: Refunded | Refusal) -> Response:
        assert not isinstance(outcome, Refusal), outcome
        body = to_json(Data(refund_shape(outcome.refund)))
        return Response(201, body, resource_id=outcome.refund.id)

    command = RefundPayment(shop.tenant, payment, OPERATOR, PART)
    return Keyed(shop.tenant, "refund", "key", bytes(32), command, render)


async def open_run(shop: Shop) -> Command[Any]:
    return OpenRun(OPERATOR, "live", DAY)


async def request(shop: Shop) -> Command[Any]:
    return RequestPayout(shop.tenant.id, OPERATOR, run_id=(await shop.open_run()).id)


async def requested(shop: Shop) -> PayoutRun:
    run = await shop.open_run()
    await shop.payout(run_id=run.id)
    return run


async def approve(shop: Shop) -> Command[Any]:
    run = await requested(shop)
    return await shop.approval(run.id)


async def cancel(shop: Shop) -> Command[Any]:
    run = await requested(shop)
    return CancelRun(OPERATOR, run.id)


async def send(shop: Shop) -> Command[Any]:
    run = await requested(shop)
    await shop.run(await shop.approval(run.id))
    return SendRun(SECOND, run.id, date(2026, 11, 19), MOST)


async def answered(shop: Shop, action: Literal["settle", "return"]) -> Command[Any]:
    (payout,) = (await shop.send((await requested(shop)).id, MOST)).payouts
    return AnswerPayout(OPERATOR, payout.id, action)


async def settle(shop: Shop) -> Command[Any]:
    return await answered(shop, "settle")


async def give_back(shop: Shop) -> Command[Any]:
    return await answered(shop, "return")


GONE = OWED - PAYOUT_FEE  # the payout
_OUT = "transfers WHERE kind = "
OPERATIONS = {
    "refund": Operation(
        11,
        refund,
        {
            "refunds": 1,
            f"{_OUT}'refund'": 1,
            "events WHERE type = 'payment.refunded'": 1,
            "journal WHERE action = 'payment.refund'": 1,
        },
        (OWED - PART, 0, 0),
    ),
    "open": Operation(
        3,
        open_run,
        {"payout_runs": 1, "journal WHERE action = 'payout_run.open'": 1},
        (OWED, 0, 0),
    ),
    "request": Operation(
        13,
        request,
        {
            "payouts": 1,
            f"{_OUT}'payout'": 1,
            f"{_OUT}'payout_fee'": 1,
            "journal WHERE action = 'payout.request'": 1,
        },
        (0, 0, GONE),
        repeated="payout_conflict",
    ),
    "approve": Operation(
        11,
        approve,
        {
            "payouts WHERE status = 'approved'": 1,
            "journal WHERE action = 'payout_run.approve'": 1,
        },
        (0, 0, GONE),
    ),
    "cancel": Operation(
        7,
        cancel,
        {
            "payouts WHERE status = 'cancelled'": 1,
            f"{_OUT}'payout_returned'": 1,
            f"{_OUT}'payout_fee'": 2,
            "journal WHERE action = 'payout_run.cancel'": 1,
        },
        (OWED, 0, 0),
    ),
    "send": Operation(
        10,
        send,
        {
            "bank_files": 1,
            "bank_orders": 2,
            "payouts WHERE status = 'sent'": 1,
            "events WHERE type = 'payout.sent'": 1,
            "journal WHERE action = 'payout_run.send'": 1,
        },
        (0, 0, GONE),
    ),
    "settle": Operation(
        9,
        settle,
        {
            "bank_orders WHERE status = 'settled'": 2,
            f"{_OUT}'payout_settled'": 2,
            "events WHERE type = 'payout.settled'": 1,
            "journal WHERE action = 'payout.settle'": 1,
        },
        (0, 0, 0),
        repeated="payout_conflict",
    ),
    "return": Operation(
        10,
        give_back,
        {
            "bank_orders WHERE status = 'returned'": 2,
            f"{_OUT}'payout_returned'": 2,
            "events WHERE type = 'payout.returned'": 1,
            "journal WHERE action = 'payout.return'": 1,
        },
        (GONE, 0, 0),
        repeated="payout_conflict",
    ),
}


# == The tests ====================================================================================


class Prepared(NamedTuple):
    shop: Shop
    operation: Operation
    command: Command[Any]

    async def run_with(self, runner: BatchRunner) -> Any:
        """The outcome; None if nobody can say whether it was done."""
        spine = Spine(runner.run)
        spine.start()
        try:
            return await spine.submit(self.command)
        except OutcomeUnknown:
            return None
        finally:
            await spine.close()
            await runner.close()

    async def counts(self) -> dict[str, int]:
        async with connection_to(self.shop.dsn) as connection:
            return {
                rows: await connection.fetchval(f"SELECT count(*) FROM {rows}")
                for rows in self.operation.counts
            }

    async def check_once(self) -> None:
        assert await self.counts() == self.operation.counts
        assert tuple(await self.shop.balance()) == self.operation.balance
        assert await self.shop.differences() == []


@asynccontextmanager
async def prepared(dsn: str, name: str) -> AsyncIterator[Prepared]:
    """A shop with a paid payment in live mode, up to the command."""
    operation = OPERATIONS[name]
    async with a_shop(dsn, fee_bps=250) as shop:
        await bank_account(shop)
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, fee=PAYOUT_FEE)
        await shop.pay(PAID)
        yield Prepared(shop, operation, await operation.prepare(shop))


CUTS = [
    (name, number, is_done)
    for name, operation in OPERATIONS.items()
    for number in range(1, operation.statements + 1)
    for is_done in (False, True)
]
# CI cuts before the even statements and after the odd ones, and campaigns the others.
OFTEN = some_of([cut for cut in CUTS if (cut[1] + cut[2]) % 2 == 0], 3)
SELDOM = [
    pytest.param(*cut, marks=pytest.mark.campaign) for cut in CUTS if (cut[1] + cut[2]) % 2 == 1
]


@pytest.mark.parametrize("name", OPERATIONS)
async def test_the_statements_are_counted(dsn: str, name: str) -> None:
    async with prepared(dsn, name) as ready:
        runner = CutAtNumber(dsn, 0, False)
        assert not isinstance(await ready.run_with(runner), Refusal | None)
        assert runner.seen == ready.operation.statements
        await ready.check_once()


@pytest.mark.parametrize(("name", "number", "is_done"), OFTEN + SELDOM)
async def test_a_lost_connection_loses_and_doubles_nothing(
    dsn: str, name: str, number: int, is_done: bool
) -> None:
    async with prepared(dsn, name) as ready:
        before = await ready.counts()
        runner = CutAtNumber(dsn, number, is_done)
        outcome = await ready.run_with(runner)
        assert runner.seen >= number
        after = await ready.counts()
        assert after in ([ready.operation.counts] if outcome else [before, ready.operation.counts])
        # The caller tries again: done once, whatever happened the first time.
        again = await ready.run_with(BatchRunner(dsn, ORIGIN))
        if after == ready.operation.counts and ready.operation.repeated is not None:
            assert isinstance(again, Refusal)
            assert again.code == ready.operation.repeated
        else:
            assert not isinstance(again, Refusal | None)
        await ready.check_once()
