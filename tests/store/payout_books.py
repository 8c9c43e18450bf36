"""A merchant with payments, and the operator's commands about its money, on a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import count
from typing import Any
from uuid import UUID

import asyncpg

from laari.rules.actors import Actor, Payer
from laari.rules.banking.merchant_money import MoveFunds
from laari.rules.banking.payout_approval import ApproveRun
from laari.rules.banking.payout_runs import OpenRun, Run, SendRun
from laari.rules.banking.payouts import RequestPayout
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.payments import payments
from laari.rules.payments.refunds import RefundPayment
from laari.rules.records.payments import Payment
from laari.rules.records.payouts import Payout, PayoutMovement, PayoutRun
from laari.rules.records.tenants import Mode, Tenant
from laari.spine.batches import LostRace
from laari.store.audit import audit
from laari.store.batch.runner import BatchRunner
from laari.store.counters import daily_figures
from laari.store.ledger.seals import sealing_key
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.money import balances
from laari.store.reads.money import payouts as reads
from tests.actors import ANYBODY, OPERATOR
from tests.bank_accounts import enter
from tests.making import make_customer, make_merchant

MASTER_KEY = bytes(32)
SECOND = Actor("command_line", "second", "admin")
_numbers = count(1)


@dataclass
class Shop:
    dsn: str
    connection: asyncpg.Connection
    runner: BatchRunner
    tenant: Tenant
    payer: Payer

    async def run(self, command: Any) -> Any:
        [outcome] = await self.runner.run([command], 1.0)
        return outcome

    async def together(self, *commands: Any) -> list[Any]:
        """In one batch."""
        return list(await self.runner.run(list(commands), 1.0))

    async def pay(self, amount: int) -> Payment:
        draft = payments.PaymentDraft(f"order {next(_numbers)}", amount)
        made = await self.run(payments.CreatePayment(self.tenant, draft))
        paid = await self.run(payments.PayPayment(self.tenant, made.id, self.payer))
        assert isinstance(paid, Payment), paid
        return paid

    async def refund(self, payment: UUID, amount: int | None = None) -> Any:
        return await self.run(RefundPayment(self.tenant, payment, ANYBODY, amount))

    async def funds(self, kind: Any, amount: int, **more: Any) -> Any:
        return await self.run(MoveFunds(self.tenant.id, OPERATOR, kind, amount, "Because", **more))

    async def withdraw(self, amount: int, **more: Any) -> Any:
        """By the customer who pays in this shop."""
        return await self.run(RequestWithdrawal(OPERATOR, self.payer.account, amount, **more))

    async def wallet(self) -> int:
        found = "SELECT balance FROM wallets WHERE account = $1"
        return int(await self.connection.fetchval(found, self.payer.account))

    async def request(self, cut_off: datetime | None = None, **more: Any) -> Any:
        return await self.run(RequestPayout(self.tenant.id, OPERATOR, cut_off, **more))

    async def payout(self, cut_off: datetime | None = None, **more: Any) -> Payout:
        made = await self.request(cut_off, **more)
        assert isinstance(made, Payout), made
        return made

    async def open_run(self) -> PayoutRun:
        made = await self.run(OpenRun(OPERATOR, self.tenant.mode, date(2026, 11, 17)))
        assert isinstance(made, PayoutRun), made
        return made

    async def approval(
        self, run: UUID, actor: Actor = SECOND, threshold: int = 0, total: int | None = None
    ) -> ApproveRun:
        """Of the total that the run has now."""
        payouts = await reads.of_run(self.connection, run)
        seen = sum(each.amount for each in payouts if each.status != "cancelled")
        return ApproveRun(actor, run, threshold, seen if total is None else total)

    async def send(self, run: UUID, most: int = 20_000_000) -> Run:
        approved = await self.run(await self.approval(run))
        assert isinstance(approved, Run), approved
        sent = await self.run(SendRun(SECOND, run, date(2026, 11, 19), most))
        assert isinstance(sent, Run), sent
        return sent

    async def found(self, payout: Payout) -> Payout:
        return (await reads.by_id(self.connection, [payout.id]))[payout.id]

    async def movements(self, payout: Payout, limit: int = 1_000) -> list[PayoutMovement]:
        page = await reads.movements(self.connection, payout, limit)
        rows = page.rows
        while page.next is not None:
            page = await reads.movements(self.connection, payout, limit, page.next)
            rows += page.rows
        return rows

    async def sums(self, payout: Payout) -> list[tuple[str, int]]:
        return sorted((each.type, each.amount) for each in await self.movements(payout))

    async def balance(self) -> balances.Balance:
        return await balances.of_tenant(self.connection, self.tenant.id)

    async def add_up(self) -> None:
        async with self.connection.transaction():
            await daily_figures.add_up(self.connection)

    async def differences(self) -> list[str]:
        async with connection_to(self.dsn) as connection:
            report = await audit(connection, sealing_key(MASTER_KEY))
        return [f"{each.kind}: {each}" for each in report.differences]


async def bank_account(
    shop: Shop, number: str = "7730000012345", *, of_wallet: bool = False
) -> None:
    owner = shop.payer.account if of_wallet else shop.tenant.id
    await enter(shop.connection, owner, number)


@asynccontextmanager
async def a_shop(
    dsn: str, mode: Mode = "live", fee_bps: int = 100, above: int | None = None
) -> AsyncIterator[Shop]:
    """`above` is what one person of the operator may move alone on a day."""
    async with connection_to(dsn) as connection:
        made = await make_merchant(
            connection, OPERATOR, MASTER_KEY, name="Seagull", mode=mode, fee_bps=fee_bps
        )
        tenant = await tenants.of_merchant(connection, made.merchant.id, mode)
        payer = await make_customer(
            connection, OPERATOR, name="Aisha", mode=mode, tier="business", balance=1_000_000_000
        )
        runner = BatchRunner(dsn, "http://laari.test", second_operator_above=above)
        shop = Shop(dsn, connection, runner, tenant, Payer(payer.account, mode))
        try:
            yield shop
        finally:
            await runner.close()


def now() -> datetime:
    return datetime.now(UTC)


async def until_decided(runner: BatchRunner, command: Any) -> Any:
    """As the spine does: a batch that lost a race runs again."""
    while True:
        try:
            [outcome] = await runner.run([command], 1.0)
        except LostRace:
            continue
        return outcome
