"""References of new payments are presumed to be free, and what is wrong about that is found."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import asyncpg
import pytest

from laari.errors import UnavailableError
from laari.rules.command import Command
from laari.rules.payment_requests import CreateRequest, RequestDraft
from laari.rules.payments import CreatePayment, PaymentDraft
from laari.rules.records import Payment, Tenant
from laari.rules.refusals import Refusal
from laari.rules.tokens import IssueToken
from laari.rules.world import Needs, World
from laari.spine.engine import OutcomeUnknown
from laari.store import batch
from laari.store.batch import BatchRunner
from laari.store.database import connection_to
from laari.store.presuming import MAX_PAUSE_SECONDS, PAUSE_SECONDS, Presuming

TENANT = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)
SANDBOX = Tenant(2, "mer_a", "Shop", "sandbox", 0, 0, 0, 1, True)


def create(reference: str, amount: int = 100, tenant: Tenant = TENANT) -> CreatePayment:
    return CreatePayment(tenant, PaymentDraft(reference, amount))


class Told(BatchRunner):
    """Remembers the statements that batches sent, and loses the connection after one of them."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn, "http://laari.test", clock=lambda: self.now)
        self.now = datetime.now(UTC)
        self.seconds = 0.0  # of the clock that tells how long nothing is presumed
        self._presuming = Presuming(lambda: self.seconds)
        self.sent: list[str] = []
        self.cut_after: str | None = None
        self.warns = False
        self.is_away = False

    async def _ready(self, lock_seconds: float) -> Any:
        if self.is_away:
            raise UnavailableError("it is away")
        return _Spied(self, await super()._ready(lock_seconds))


class _Spied:
    def __init__(self, runner: Told, connection: asyncpg.Connection) -> None:
        self._runner, self._connection = runner, connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def fetch(self, statement: str, *values: Any) -> Any:
        self._runner.sent.append(statement.partition("(")[0])
        done = await self._connection.fetch(statement, *values)
        if self._runner.warns:
            message = SimpleNamespace(severity_en="WARNING")
            self._runner._hear(self._connection, cast(asyncpg.PostgresLogMessage, message))
        cut = self._runner.cut_after
        if cut is not None and cut in statement:
            self._runner.cut_after = None
            self._connection.terminate()
            raise asyncpg.ConnectionDoesNotExistError("connection was closed")
        return done


@pytest.fixture
async def runner(dsn: str) -> AsyncIterator[Told]:
    runner = Told(dsn)
    yield runner
    runner.is_away = False
    await runner.close()


async def count(dsn: str, table: str) -> int:
    async with connection_to(dsn) as connection:
        found: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
        return found


async def test_new_payments_take_one_statement(runner: Told) -> None:
    made = await runner.run([create("A"), create("B")], 1.0)
    assert all(isinstance(each, Payment) for each in made)
    assert runner.sent == ["WITH w1 AS "]


async def test_a_reference_that_is_taken_shows_what_took_it(dsn: str, runner: Told) -> None:
    [first] = await runner.run([create("A")], 1.0)
    again, other, new = await runner.run([create("A"), create("A", 200), create("B")], 1.0)
    assert again == first
    assert isinstance(other, Refusal)
    assert other.code == "reference_conflict"
    assert isinstance(new, Payment)
    assert await count(dsn, "payments") == await count(dsn, "events") == 2


async def test_equal_references_of_one_batch_are_one_payment(dsn: str, runner: Told) -> None:
    first, again = await runner.run([create("A"), create("A")], 1.0)
    assert first == again
    assert len(runner.sent) == 1
    assert await count(dsn, "payments") == await count(dsn, "events") == 1


async def test_who_sends_references_again_makes_them_looked_up_for_a_while(runner: Told) -> None:
    """A batch that fails has written for nothing: that must not happen to every one."""
    await runner.run([create("A")], 1.0)
    await runner.run([create("A")], 1.0)
    runner.sent.clear()
    await runner.run([create("A")], 1.0)
    await runner.run([create("B")], 1.0)
    writes = [statement for statement in runner.sent if statement.startswith("WITH w1")]
    assert len(writes) == 1
    assert len(runner.sent) > 2
    runner.seconds += PAUSE_SECONDS
    runner.sent.clear()
    await runner.run([create("C")], 1.0)
    assert len(runner.sent) == 1


async def test_who_goes_on_doing_so_makes_them_looked_up_for_longer(runner: Told) -> None:
    """Each batch that fails leaves its statement in the server's log."""

    async def wait() -> float:
        """How long nothing is presumed after a reference was sent again."""
        await runner.run([create("A")], 1.0)
        began = runner.seconds
        while not runner._presuming.fits([create("B")], needs):
            runner.seconds += 1.0
        return runner.seconds - began

    needs = Needs()
    create("B").needs(needs)
    assert await wait() == 0  # it is new
    assert [await wait() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 64, 64]
    runner.seconds += MAX_PAUSE_SECONDS
    assert await wait() == 1


async def test_a_retry_that_would_be_refused_were_it_new(dsn: str, runner: Told) -> None:
    """Its deadline has passed since: nothing would be written, and the index could not object."""
    draft = PaymentDraft("A", 100, expires_at=runner.now + timedelta(hours=1))
    [first] = await runner.run([CreatePayment(TENANT, draft)], 1.0)
    runner.now += timedelta(hours=2)
    again, new = await runner.run([CreatePayment(TENANT, draft), create("B")], 1.0)
    assert again == first
    assert isinstance(new, Payment)
    assert await count(dsn, "payments") == 2


async def test_requests_of_a_sandbox_take_one_statement_too(runner: Told) -> None:
    draft = RequestDraft("A", 100, "email", "sandbox@laari.test")
    await runner.run([CreateRequest(SANDBOX, draft, designated=True)], 1.0)
    assert len(runner.sent) == 1
    live = CreateRequest(TENANT, RequestDraft("B", 100, "email", "aisha@laari.test"), False)
    [unknown] = await runner.run([live], 1.0)
    assert isinstance(unknown, Refusal)
    assert unknown.code == "customer_not_found"


@pytest.mark.parametrize("committed", [True, False])
async def test_payments_whose_connection_is_lost_are_found_or_made(
    dsn: str, runner: Told, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await runner.run([create("0")], 1.0)
    if committed:
        runner.cut_after = "INSERT INTO reference_claims"
    else:
        assert runner._connection is not None
        runner._connection.terminate()
        monkeypatch.setattr(type(runner._connection), "is_closed", lambda self: False, raising=True)
        monkeypatch.setattr(runner, "_forget", lambda: forget(runner, monkeypatch))
    made = await runner.run([create("A"), create("B")], 1.0)
    assert all(isinstance(each, Payment) for each in made)
    assert await count(dsn, "payments") == await count(dsn, "events") == 3


def forget(runner: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    BatchRunner._forget(runner)


async def test_what_nobody_can_look_up_stays_unknown(runner: Told) -> None:
    """It may have been committed: to call the database away would say that it was not."""

    def lose() -> None:
        runner.is_away = True
        BatchRunner._forget(runner)

    await runner.run([create("0")], 1.0)
    runner._forget = lose  # type: ignore[method-assign]
    runner.cut_after = "INSERT INTO reference_claims"
    with pytest.raises(OutcomeUnknown):
        await runner.run([create("A")], 1.0)


@pytest.mark.parametrize("cut", [None, "INSERT INTO reference_claims"])
async def test_what_may_not_have_reached_a_standby_stays_unknown(
    runner: Told, cut: str | None
) -> None:
    """It is there to be found, and gone if the primary is lost."""
    await runner.run([create("0")], 1.0)
    runner.warns, runner.cut_after = True, cut
    with pytest.raises(OutcomeUnknown):
        await runner.run([create("A")], 1.0)


async def test_nobody_waits_for_a_second_look_who_has_waited_for_the_first(
    runner: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "SECOND_LOOK_SECONDS", -1.0)
    await runner.run([create("0")], 1.0)
    runner.cut_after = "INSERT INTO reference_claims"
    with pytest.raises(OutcomeUnknown):
        await runner.run([create("A")], 1.0)


async def test_beside_what_cannot_be_repeated_nothing_is_run_again(dsn: str, runner: Told) -> None:
    issue = IssueToken(bytes(32), "cl_" + "a" * 20, "payments:read", 0)
    runner.cut_after = "INSERT INTO reference_claims"
    with pytest.raises(OutcomeUnknown):
        await runner.run([issue, create("A")], 1.0)
    assert runner.sent.count("WITH w1 AS ") == 1
    assert runner.sent[-1] == "WITH w1 AS "
    assert await count(dsn, "access_tokens") == 1


def commands(kind: type[Command[Any]] = Command) -> set[type[Command[Any]]]:
    found = {kind}
    for each in kind.__subclasses__():
        found |= commands(each)
    return found


REPEATABLE: dict[type[Command[Any]], Command[Any]] = {
    CreatePayment: create("A"),
    CreateRequest: CreateRequest(
        SANDBOX, RequestDraft("A", 100, "email", "sandbox@laari.test"), designated=True
    ),
}


def test_every_repeatable_command_is_tried() -> None:
    declared = {each.__qualname__ for each in commands() if each.repeatable}
    assert declared == {each.__qualname__ for each in REPEATABLE}


@pytest.mark.parametrize("command", REPEATABLE.values(), ids=lambda each: type(each).__name__)
def test_a_repeatable_command_finds_what_it_has_made(command: Command[Any]) -> None:
    first = World(datetime.now(UTC), "http://laari.test", os.urandom)
    made = command.decide(first)
    assert not isinstance(made, Refusal)
    assert len(first.references.added) == 1
    second = World(datetime.now(UTC), "http://laari.test", os.urandom)
    for rows, shown in (
        (first.references, second.references),
        (first.payments, second.payments),
        (first.requests, second.requests),
    ):
        for key, row in rows.added.items():
            shown.show(key, row)
    assert command.decide(second) == made
    added = [rows.added for rows in (second.references, second.payments, second.requests)]
    assert not any(added)
    assert not second.events


async def test_two_processes_with_one_reference_make_one_payment(dsn: str) -> None:
    runners = [BatchRunner(dsn, "http://laari.test") for _ in range(4)]
    made = await asyncio.gather(
        *(runner.run([create(f"R{n}") for n in range(20)], 1.0) for runner in runners)
    )
    assert all(outcomes == made[0] for outcomes in made)
    assert await count(dsn, "payments") == await count(dsn, "events") == 20
    for runner in runners:
        await runner.close()
