"""Live and sandbox never meet: whatever is asked, a wallet of the other mode finds nothing."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace

from laari.rules import ledger
from laari.rules.actors import Payer
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.merchants.sandbox_wallet import SetSandboxWallet
from laari.rules.payments import authorizations as auth
from laari.rules.payments import payment_requests, payments
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.refunds import RefundPayment
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import World
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests.actors import OPERATOR
from tests.making import make_customer, make_merchant
from tests.sampling import some_of

pytestmark = pytest.mark.ci

MODES: tuple[Mode, Mode] = ("live", "sandbox")
_numbers = count(1)
TABLES = ("payments", "payment_requests", "authorizations", "wallets", "transfers", "transactions")


class Meeting(NamedTuple):
    """A tenant, a payer of its mode and one of the other, and what there is to decide about."""

    connection: asyncpg.Connection
    runner: BatchRunner
    tenant: Tenant
    payer: Payer
    stranger: Payer
    payment: UUID
    reserved: UUID
    paid: UUID
    request: UUID
    reserved_request: UUID
    pending: UUID
    active: UUID
    suspended: UUID

    async def run(self, command: Any) -> Any:
        [outcome] = await self.runner.run([command], 1.0)
        return outcome

    async def state(self) -> list[Any]:
        rows = [
            await self.connection.fetch(f"SELECT * FROM {table} ORDER BY 1") for table in TABLES
        ]
        return [tuple(row) for found in rows for row in found]

    async def forge(self) -> None:
        """Writes the stranger where no command could have: behind the service's back."""
        account = self.stranger.account
        await self.connection.execute(
            "UPDATE authorizations SET account = $1 WHERE account IS NOT NULL", account
        )
        await self.connection.execute("UPDATE payment_requests SET account = $1", account)
        await self.connection.execute(
            "UPDATE payments SET payer_account = $1 WHERE payer_account IS NOT NULL", account
        )
        await self.connection.execute(
            "UPDATE payments SET reserved_by = $1 WHERE reserved_by IS NOT NULL", account
        )


async def prepare(dsn: str, mode: Mode) -> tuple[Any, ...]:
    """Makes all that a meeting names, but for what it is read with."""
    other: Mode = "sandbox" if mode == "live" else "live"
    runner = BatchRunner(dsn, "http://laari.test")

    async def run(command: Any) -> Any:
        [outcome] = await runner.run([command], 1.0)
        assert not isinstance(outcome, Refusal), outcome
        return outcome

    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode=mode)
        tenant = await tenants.of_merchant(connection, shop.merchant.id, mode)
        accounts = {
            each: (
                await make_customer(
                    connection,
                    OPERATOR,
                    name=each,
                    mode=each,
                    tier="business",
                    balance=10_000,
                    vpa="payer",
                )
            ).account
            for each in MODES
        }
    payer = Payer(accounts[mode] if mode == "live" else tenant.sandbox_account, mode)
    stranger = Payer(accounts[other], other)
    made = [
        (await run(payments.CreatePayment(tenant, payments.PaymentDraft(f"p{n}", 100)))).id
        for n in range(3)
    ]
    await run(payments.ReservePayment(tenant, made[1], payer))
    await run(payments.PayPayment(tenant, made[2], payer))
    asked = [
        (
            await run(
                payment_requests.CreateRequest(
                    tenant,
                    payment_requests.RequestDraft(f"r{n}", 100, "vpa", "payer"),
                    designated=True,
                )
            )
        ).id
        for n in range(2)
    ]
    await run(payment_requests.ReserveRequest(tenant, asked[1], payer))
    given = [
        (await run(auth.CreateAuthorization(tenant, auth.AuthorizationDraft(f"a{n}", "Box")))).id
        for n in range(3)
    ]
    for each in given[1:]:
        await run(auth.ApproveAuthorization(tenant, each, payer))
    await run(auth.SuspendAuthorization(tenant, given[2], payer))
    await runner.close()
    return (tenant, payer, stranger, *made, *asked, *given)


@asynccontextmanager
async def meeting_at(dsn: str, prepared: tuple[Any, ...]) -> AsyncIterator[Meeting]:
    runner = BatchRunner(dsn, "http://laari.test")
    async with connection_to(dsn) as connection:
        yield Meeting(connection, runner, *prepared)
    await runner.close()


@pytest.fixture(params=MODES)
async def meeting(request: pytest.FixtureRequest, dsn: str) -> AsyncIterator[Meeting]:
    """In a database of its own, where the test may change what it likes."""
    async with meeting_at(dsn, await prepare(dsn, request.param)) as meeting:
        yield meeting


class Place(NamedTuple):
    dsn: str
    prepared: tuple[Any, ...]


@pytest.fixture(scope="module", params=MODES)
def place(request: pytest.FixtureRequest, engine: Any) -> Place:
    """A database for all tests that see that nothing changes."""
    dsn = engine.migrated(f"modes_{next(_numbers)}")
    return Place(dsn, asyncio.run(prepare(dsn, request.param)))


@pytest.fixture
async def unchanged(place: Place) -> AsyncIterator[Meeting]:
    async with meeting_at(*place) as meeting:
        yield meeting


@pytest.fixture(scope="module", params=MODES)
def forged_place(request: pytest.FixtureRequest, engine: Any) -> Place:
    dsn = engine.migrated(f"modes_{next(_numbers)}")

    async def forge() -> tuple[Any, ...]:
        prepared = await prepare(dsn, request.param)
        async with meeting_at(dsn, prepared) as meeting:
            await meeting.forge()
        return prepared

    return Place(dsn, asyncio.run(forge()))


@pytest.fixture
async def forged(forged_place: Place) -> AsyncIterator[Meeting]:
    async with meeting_at(*forged_place) as meeting:
        yield meeting


Make = Callable[[Meeting, Payer], Any]

# Each command with the payer that is handed in, and what it answers to one of the other mode.
BY_PAYER: dict[str, tuple[Make, str]] = {
    "pay": (lambda m, who: payments.PayPayment(m.tenant, m.payment, who), "not_found"),
    "reject": (lambda m, who: payments.RejectPayment(m.tenant, m.payment, who), "not_found"),
    "reserve": (lambda m, who: payments.ReservePayment(m.tenant, m.payment, who), "not_found"),
    "release": (lambda m, who: payments.ReleasePayment(m.tenant, m.reserved, who), "not_found"),
    "pay request": (
        lambda m, who: payment_requests.PayRequest(m.tenant, m.request, who),
        "payment_request_not_found",
    ),
    "reject request": (
        lambda m, who: payment_requests.RejectRequest(m.tenant, m.request, who),
        "payment_request_not_found",
    ),
    "reserve request": (
        lambda m, who: payment_requests.ReserveRequest(m.tenant, m.request, who),
        "payment_request_not_found",
    ),
    "release request": (
        lambda m, who: payment_requests.ReleaseRequest(m.tenant, m.reserved_request, who),
        "payment_request_not_found",
    ),
    "approve": (
        lambda m, who: auth.ApproveAuthorization(m.tenant, m.pending, who),
        "authorization_not_found",
    ),
    "reject authorization": (
        lambda m, who: auth.RejectAuthorization(m.tenant, m.pending, who),
        "authorization_not_found",
    ),
    "suspend": (
        lambda m, who: auth.SuspendAuthorization(m.tenant, m.active, who),
        "authorization_not_found",
    ),
    "resume": (
        lambda m, who: auth.ResumeAuthorization(m.tenant, m.suspended, who),
        "authorization_not_found",
    ),
    "revoke": (
        lambda m, who: auth.RevokeAuthorization(m.tenant, m.active, who),
        "authorization_not_found",
    ),
    # These name no payer: it stands on the row.
    "charge": (
        lambda m, who: ChargeAuthorization(m.tenant, m.active, payments.PaymentDraft("c", 100)),
        "authorization_not_found",
    ),
    "refund": (lambda m, who: RefundPayment(m.tenant, m.paid, OPERATOR), "not_found"),
}


@pytest.mark.parametrize("claim", ["its own mode", "the tenant's mode"])
@pytest.mark.parametrize("name", some_of(BY_PAYER, 3))
async def test_a_payer_of_the_other_mode_finds_nothing(
    forged: Meeting, name: str, claim: str
) -> None:
    """The rows say that they are the stranger's: nothing but the mode can be what stops it."""
    make, code = BY_PAYER[name]
    before = await forged.state()
    stranger = forged.stranger
    if claim == "the tenant's mode":
        stranger = stranger._replace(mode=forged.tenant.mode)
    outcome = await forged.run(make(forged, stranger))
    assert isinstance(outcome, Refusal), outcome
    assert outcome.code == code
    assert await forged.state() == before


@pytest.mark.parametrize("name", some_of(BY_PAYER, 3))
async def test_the_payer_of_the_mode_is_served(meeting: Meeting, name: str) -> None:
    outcome = await meeting.run(BY_PAYER[name][0](meeting, meeting.payer))
    assert not isinstance(outcome, Refusal), outcome


@pytest.mark.parametrize(
    "name", some_of([name for name in BY_PAYER if name not in ("charge", "refund")], 3)
)
async def test_a_payer_who_claims_the_other_mode_finds_nothing(
    unchanged: Meeting, name: str
) -> None:
    """The wallet is of the tenant's mode, but whoever logged the payer in says otherwise."""
    make, code = BY_PAYER[name]
    before = await unchanged.state()
    outcome = await unchanged.run(
        make(unchanged, unchanged.payer._replace(mode=unchanged.stranger.mode))
    )
    assert isinstance(outcome, Refusal), outcome
    assert outcome.code == code
    assert await unchanged.state() == before


@pytest.mark.parametrize(
    ("command", "row"),
    [(auth.SuspendAuthorization, "active"), (auth.ResumeAuthorization, "suspended")],
)
async def test_who_suspends_and_resumes(meeting: Meeting, command: Any, row: str) -> None:
    """The operator anywhere; the merchant in its own sandbox, whose customers it stands in for."""
    asked = getattr(meeting, row)
    tenant = meeting.tenant
    other = replace(tenant, id=tenant.id + 1000)
    before = await meeting.state()
    strange = await meeting.run(command(tenant, asked, other))
    assert strange.code == "authorization_not_found"
    by_merchant = await meeting.run(command(tenant, asked, tenant))
    if tenant.mode == "live":
        assert by_merchant.code == "authorization_not_found"
        assert await meeting.state() == before
    else:
        assert not isinstance(by_merchant, Refusal)
    assert not isinstance(await meeting.run(command(tenant, asked, OPERATOR)), Refusal)


async def test_an_account_that_does_not_exist_finds_nothing(unchanged: Meeting) -> None:
    outcome = await unchanged.run(
        payments.PayPayment(unchanged.tenant, unchanged.payment, Payer(42, unchanged.tenant.mode))
    )
    assert outcome.code == "not_found"


@pytest.mark.parametrize(
    "command",
    [
        lambda tenant: SetSandboxWallet(tenant, OPERATOR, 5, None),
        lambda tenant: MoveClock(tenant, OPERATOR, 60),
    ],
)
async def test_sandbox_controls_do_not_exist_in_live_mode(dsn: str, command: Any) -> None:
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")
        tenant = await tenants.of_merchant(connection, shop.merchant.id, "live")
    runner = BatchRunner(dsn, "http://laari.test")
    [outcome] = await runner.run([command(tenant)], 1.0)
    await runner.close()
    assert outcome.code == "not_found"


def test_the_ledger_moves_no_money_between_the_modes() -> None:
    now = datetime(2026, 2, 27, tzinfo=UTC)
    world = World(now, "http://laari.test", os.urandom)
    live, sandbox = ledger.outside_account("live"), ledger.fee_account("sandbox")
    with pytest.raises(ledger.ModesMixedError):
        ledger.transfer(world, "adjustment", live, sandbox, 1, tid="t", created_at=now)
    assert world.transfers == []


@pytest.mark.parametrize("name", ["suspend", "resume", "revoke", "pay request", "reject request"])
async def test_another_account_of_the_same_mode_finds_nothing_either(
    unchanged: Meeting, name: str
) -> None:
    make, code = BY_PAYER[name]
    other = await _another(unchanged)
    before = await unchanged.state()
    outcome = await unchanged.run(make(unchanged, other))
    assert isinstance(outcome, Refusal), outcome
    assert outcome.code == code
    assert await unchanged.state() == before


@pytest.mark.parametrize("command", [payments.PayPayment, payments.ReleasePayment])
async def test_an_attempt_in_processing_is_its_own_payers(unchanged: Meeting, command: Any) -> None:
    other = await _another(unchanged)
    before = await unchanged.state()
    outcome = await unchanged.run(command(unchanged.tenant, unchanged.reserved, other))
    assert isinstance(outcome, Refusal), outcome
    assert outcome.code == "payment_conflict"
    assert await unchanged.state() == before


async def _another(meeting: Meeting) -> Payer:
    made = await make_customer(
        meeting.connection,
        OPERATOR,
        name="B",
        mode=meeting.tenant.mode,
        tier="business",
        balance=10_000,
    )
    return Payer(made.account, meeting.tenant.mode)
