"""Two servers whose clocks differ, and a sandbox's clock that is moved, over the database."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from msgspec.structs import replace

from laari.rules.actors import Payer, sandbox_customer
from laari.rules.calendar import MALDIVES
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.needs import Needs
from laari.rules.payments import authorizations as auth
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.payments.refunds import Refunded, RefundPayment
from laari.rules.periods import Moment, others
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.wallets import counted, spent_now
from laari.spine.batches import Spine
from laari.store.audit import audit
from laari.store.batch import sandbox_periods
from laari.store.batch.runner import BatchRunner, load
from laari.store.batch.save import save
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants, wallets
from tests import shops
from tests.actors import OPERATOR
from tests.making import make_customer, make_merchant

MIDNIGHT = datetime(2026, 3, 1, tzinfo=MALDIVES)  # a Sunday, and the first of a month
DAY = 86_400


class Server(NamedTuple):
    """A service's spine, on a machine whose clock is off by so much."""

    runner: BatchRunner
    spine: Spine

    async def submit(self, command: Any) -> Any:
        return await self.spine.submit(command)


async def server(dsn: str, now: datetime) -> Server:
    runner = BatchRunner(dsn, "http://laari.test", clock=lambda: now)
    spine = Spine(runner.run)
    spine.start()
    return Server(runner, spine)


@pytest.fixture
async def pair(dsn: str) -> AsyncIterator[tuple[Server, Server]]:
    """One server a moment after midnight, the other 0.4 s behind it."""
    ahead = await server(dsn, MIDNIGHT + timedelta(seconds=0.2))
    behind = await server(dsn, MIDNIGHT - timedelta(seconds=0.2))
    yield ahead, behind
    for each in (ahead, behind):
        await each.spine.close()
        await each.runner.close()


async def shop_and_payer(dsn: str, tier: str) -> tuple[Tenant, int]:
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")
        tenant = await tenants.of_merchant(connection, shop.merchant.id, "live")
        payer = await make_customer(
            connection, OPERATOR, name="Aisha", mode="live", tier=tier, balance=100_000_000
        )
    return tenant, payer.account


def told(outcome: Any) -> str:
    if isinstance(outcome, Refusal):
        return outcome.code
    return str(outcome.payment.status if isinstance(outcome, Refunded) else outcome.status)


@pytest.mark.parametrize("limit", ["daily", "weekly", "monthly"])
async def test_two_servers_at_midnight_do_not_pass_a_wallets_limit(
    dsn: str, pair: tuple[Server, Server], limit: str
) -> None:
    async with connection_to(dsn) as connection:
        await shops.set_tier(connection, OPERATOR, "narrow", {limit: 1_000_000})
    tenant, account = await shop_and_payer(dsn, "narrow")
    ahead, _ = pair
    made = [
        await ahead.submit(CreatePayment(tenant, PaymentDraft(f"order-{n}", 500_000)))
        for n in range(25)
    ]
    # The new period begins with the server that is ahead; then both charge as fast as they can.
    assert (
        told(await ahead.submit(PayPayment(tenant, made[0].id, Payer(account, tenant.mode))))
        == "paid"
    )
    outcomes = await asyncio.gather(
        *(
            pair[n % 2].submit(PayPayment(tenant, payment.id, Payer(account, tenant.mode)))
            for n, payment in enumerate(made[1:])
        )
    )
    assert Counter(map(told, outcomes)) == {"paid": 1, "wallet_limit_exceeded": 23}
    async with connection_to(dsn) as connection:
        wallet_status = (await wallets.by_account(connection, [account]))[account]
        assert (await audit(connection)).differences == []
    assert wallet_status.wallet.balance == 99_000_000
    for now in (MIDNIGHT - timedelta(seconds=0.2), MIDNIGHT + timedelta(seconds=0.2)):
        spent = spent_now(wallet_status.wallet, Moment(now))
        assert {period.spent for period in spent} == {1_000_000}
        assert {period.start for period in spent} == {MIDNIGHT.date()}


@pytest.mark.parametrize("limit", ["daily", "weekly", "monthly"])  # one must not hide another
async def test_a_refund_gives_no_limit_back(
    dsn: str, pair: tuple[Server, Server], limit: str
) -> None:
    async with connection_to(dsn) as connection:
        await shops.set_tier(connection, OPERATOR, "narrow", {limit: 100})
    tenant, account = await shop_and_payer(dsn, "narrow")
    ahead, _ = pair
    first, second = [
        await ahead.submit(CreatePayment(tenant, PaymentDraft(f"order-{n}", 100))) for n in (1, 2)
    ]
    assert (
        told(await ahead.submit(PayPayment(tenant, first.id, Payer(account, tenant.mode))))
        == "paid"
    )
    assert told(await ahead.submit(RefundPayment(tenant, first.id, OPERATOR))) == "refunded"
    refused = await ahead.submit(PayPayment(tenant, second.id, Payer(account, tenant.mode)))
    assert told(refused) == "wallet_limit_exceeded"


class Sandbox(NamedTuple):
    dsn: str
    tenant: Tenant
    authorization: UUID
    runner: BatchRunner

    async def run(self, *commands: Any) -> list[Any]:
        return await self.runner.run(commands, 1.0)

    async def at(self, offset: int) -> Tenant:
        """The tenant after its clock was moved there."""
        [clock] = await self.run(MoveClock(self.tenant, OPERATOR, None))
        [clock] = await self.run(MoveClock(self.tenant, OPERATOR, offset))
        assert clock.clock_offset_seconds == offset
        return replace(self.tenant, clock_offset_seconds=offset)

    def charge(self, tenant: Tenant, reference: str, amount: int) -> ChargeAuthorization:
        draft = PaymentDraft(reference, amount)
        return ChargeAuthorization(tenant, self.authorization, draft)

    async def usage(self, tenant: Tenant) -> tuple[int, ...]:
        """What the wallet interface would show at this tenant's time."""
        account, now = tenant.sandbox_account, NOON + timedelta(seconds=tenant.clock_offset_seconds)
        async with connection_to(self.dsn) as connection:
            wallet = (await wallets.by_account(connection, [account]))[account].wallet
            aside = await sandbox_periods.put_aside(connection, others(counted(wallet), now))
        moment = Moment(now, tenant.clock_offset_seconds, aside)
        return tuple(period.spent for period in spent_now(wallet, moment))


NOON = datetime(2026, 2, 27, 7, tzinfo=UTC)  # a Friday, the second to last day of its month


@pytest.fixture
async def sandbox(dsn: str) -> AsyncIterator[Sandbox]:
    runner = BatchRunner(dsn, "http://laari.test", clock=lambda: NOON)
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
        tenant = await tenants.of_merchant(connection, shop.merchant.id, "sandbox")
    draft = auth.AuthorizationDraft("box", "Box", period_interval="month", period_amount=1_000)
    [made] = await runner.run([auth.CreateAuthorization(tenant, draft)], 1.0)
    await runner.run([auth.ApproveAuthorization(tenant, made.id, sandbox_customer(tenant))], 1.0)
    yield Sandbox(dsn, tenant, made.id, runner)
    await runner.close()


async def test_a_moved_clock_finds_the_usage_of_that_time_again(sandbox: Sandbox) -> None:
    now = sandbox.tenant
    later = await sandbox.at(3 * DAY)  # a Monday in March
    [paid] = await sandbox.run(sandbox.charge(later, "march", 900))
    assert paid.paid_at == NOON + timedelta(days=3)
    await sandbox.at(0)
    assert await sandbox.usage(now) == (0, 0, 0)
    [paid] = await sandbox.run(sandbox.charge(now, "february", 600))
    assert isinstance(paid, Payment)
    over, fits = await sandbox.run(
        sandbox.charge(now, "too much", 401), sandbox.charge(now, "rest", 400)
    )
    assert (told(over), told(fits)) == ("period_limit_exceeded", "paid")
    assert await sandbox.usage(now) == (1_000, 1_000, 1_000)
    later = await sandbox.at(3 * DAY)
    assert await sandbox.usage(later) == (900, 900, 900)
    over, fits = await sandbox.run(
        sandbox.charge(later, "too much again", 101), sandbox.charge(later, "the rest", 100)
    )
    assert (told(over), told(fits)) == ("period_limit_exceeded", "paid")
    assert await sandbox.usage(now) == (1_000, 1_000, 1_000)


async def test_charges_of_two_times_in_one_batch_each_count_in_their_own(sandbox: Sandbox) -> None:
    """Requests that came before and after a move, decided together."""
    now, later = sandbox.tenant, replace(sandbox.tenant, clock_offset_seconds=3 * DAY)
    outcomes = await sandbox.run(
        sandbox.charge(now, "a", 600),
        MoveClock(now, OPERATOR, 3 * DAY),
        sandbox.charge(later, "b", 700),
        sandbox.charge(now, "c", 401),
        sandbox.charge(later, "d", 301),
        sandbox.charge(now, "e", 400),
        sandbox.charge(later, "f", 300),
    )
    del outcomes[1]
    over = "period_limit_exceeded"
    assert list(map(told, outcomes)) == ["paid", "paid", over, over, "paid", "paid"]
    assert (await sandbox.usage(now))[2] == (await sandbox.usage(later))[2] == 1_000


async def test_moving_the_clock_leaves_what_others_decide_meanwhile(sandbox: Sandbox) -> None:
    """A retry in the batch has read the authorization, without a lock, before it is approved."""
    tenant = sandbox.tenant
    draft = auth.AuthorizationDraft("new", "Box", period_interval="day", period_amount=10)
    [made] = await sandbox.run(auth.CreateAuthorization(tenant, draft))
    commands = [auth.CreateAuthorization(tenant, draft), MoveClock(tenant, OPERATOR, DAY)]
    needs = Needs()
    for command in commands:
        command.needs(needs)
    async with connection_to(sandbox.dsn) as connection, connection.transaction():
        world = await load(connection, needs, "http://laari.test", lambda: NOON)
        approval = auth.ApproveAuthorization(tenant, made.id, sandbox_customer(tenant))
        [approved] = await sandbox.run(approval)
        assert approved.status == "active"
        for command in commands:
            command.decide(world)
        await save(connection, world)
    async with connection_to(sandbox.dsn) as connection:
        status = await connection.fetchval(
            "SELECT status FROM authorizations WHERE id = $1", made.id
        )
    assert status == "active"
