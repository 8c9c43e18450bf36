"""References of new payments are not looked up before: the unique index refuses one in use."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from laari.rules.needs import Needs
from laari.rules.payments.payments import CreatePayment, PaymentDraft
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import World
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to

TENANT = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)


def create(reference: str, amount: int = 100) -> CreatePayment:
    return CreatePayment(TENANT, PaymentDraft(reference, amount))


class Runner(BatchRunner):
    """Remembers whether each attempt looked references up."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn, "http://laari.test", clock=lambda: self.now)
        self.now = datetime.now(UTC)
        self.looked_up: list[bool] = []

    async def _load(self, connection: asyncpg.Connection, needs: Needs) -> World:
        self.looked_up.append(bool(needs.reads))
        return await super()._load(connection, needs)

    async def decide(self, *commands: CreatePayment) -> list[Payment | Refusal]:
        self.looked_up.clear()
        return await self.run(commands, 1.0)


@pytest.fixture
async def runner(dsn: str) -> AsyncIterator[Runner]:
    runner = Runner(dsn)
    yield runner
    await runner.close()


async def count(dsn: str, table: str) -> int:
    async with connection_to(dsn) as connection:
        return int(await connection.fetchval(f"SELECT count(*) FROM {table}"))


async def test_new_payments_are_not_looked_up(dsn: str, runner: Runner) -> None:
    first, again, other = await runner.decide(create("A"), create("A"), create("B"))
    assert runner.looked_up == [False]
    assert first == again
    assert isinstance(other, Payment)
    assert await count(dsn, "payments") == await count(dsn, "events") == 2


async def test_a_reference_in_use_shows_its_payment(dsn: str, runner: Runner) -> None:
    [first] = await runner.decide(create("A"))
    again, differs, new = await runner.decide(create("A"), create("A", 200), create("B"))
    assert runner.looked_up == [False, True]
    assert again == first
    assert isinstance(differs, Refusal)
    assert differs.code == "reference_conflict"
    assert isinstance(new, Payment)
    assert await count(dsn, "payments") == await count(dsn, "events") == 2


async def test_retries_do_not_fail_every_batch(runner: Runner) -> None:
    await runner.decide(create("A"))
    await runner.decide(create("A"))
    for reference in ("A", "B"):
        await runner.decide(create(reference))
        assert runner.looked_up == [True]
    runner._look_up_until = 0.0  # as if some seconds had passed
    await runner.decide(create("C"))
    assert runner.looked_up == [False]


async def test_a_retry_that_would_be_refused_if_it_was_new(dsn: str, runner: Runner) -> None:
    """Its deadline has passed: it claims nothing, so the index cannot refuse it."""
    draft = PaymentDraft("A", 100, expires_at=runner.now + timedelta(hours=1))
    [first] = await runner.decide(CreatePayment(TENANT, draft))
    runner.now += timedelta(hours=2)
    again, new = await runner.decide(CreatePayment(TENANT, draft), create("B"))
    assert again == first
    assert isinstance(new, Payment)
    assert await count(dsn, "payments") == 2


async def test_two_processes_with_one_reference_make_one_payment(dsn: str) -> None:
    runners = [Runner(dsn) for _ in range(3)]
    commands = [create(f"R{n}") for n in range(20)]
    made = await asyncio.gather(*(runner.decide(*commands) for runner in runners))
    assert all(outcomes == made[0] for outcomes in made)
    assert await count(dsn, "payments") == await count(dsn, "events") == 20
    for runner in runners:
        await runner.close()
