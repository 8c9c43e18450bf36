"""A process that ends, or loses its connection, before or after any call to the database.

Whatever the call, what belongs together is there as a whole or not at all, and a retry with the
same reference and key brings it to one end.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from campaigns.crash.calls import Caller
from campaigns.crash.checker import DECIDING, check
from campaigns.crash.clients import about, new_operation
from campaigns.crash.found import read_everything
from campaigns.crash.place import Shop, open_shop
from campaigns.journal import Journal, Operation
from campaigns.test_process_tree import found_first
from tests.databases import Engine
from tests.serving import Service, serving

HOOK = Path(__file__).parent / "crash" / "hook"
NOBODY = "http://127.0.0.1:9/"  # takes no webhooks: they stay pending
LATE_SECONDS = 5.0
QUIET_SECONDS = 0.1  # until nothing of the last request is left to be done
SHORT = ("create", "charge")
MORE = ("pay", "cancel", "refund", "request", "pay_request", "cancel_request")


class Points(NamedTuple):
    """A service whose calls to the database can be made to end badly."""

    service: Service
    shop: Shop
    file: Path

    def arm(self, statement: str, what: str, when: str) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps({"statement": statement, "what": what, "when": when}))
        new.rename(self.file)

    def disarm(self) -> bool:
        """Whether it had not happened."""
        armed = self.file.exists()
        self.file.unlink(missing_ok=True)
        return armed

    async def happened(self, where: str) -> None:
        """Some calls are made when the client has its answer already, such as an announcement."""
        deadline = time.monotonic() + LATE_SECONDS
        while self.file.exists() and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        assert not self.disarm(), f"it did not happen: {where}"

    def calls(self) -> list[str]:
        """The statements since this was last asked."""
        file = Path(f"{self.file}.calls")
        statements = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return statements


@pytest.fixture(scope="module")
def points(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Points]:
    folder = tmp_path_factory.mktemp("points")
    dsn = engine.migrated("points")
    hooked = {"PYTHONPATH": found_first(HOOK), "LAARI_TEST_POINTS": str(folder / "point")}
    with serving(dsn, folder, LAARI_WEBHOOK_ALLOW_PRIVATE="on", **hooked) as service:
        yield Points(service, open_shop(service, NOBODY, 0), folder / "point")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journal]:
    """Of all tests that share the service: what is in its database was asked for by one of them."""
    journal = Journal(tmp_path_factory.mktemp("journal") / "journal.jsonl")
    yield journal
    journal.close()


class Round(NamedTuple):
    points: Points
    caller: Caller

    async def operation(self, kind: str) -> Operation:
        """One that is ready to be asked for; what it is about is there."""
        if kind not in DECIDING:
            operation = new_operation(kind, self.points.shop)
            operation.amount, operation.authorization_id = 100, self.points.shop.limited_id
            return operation
        made = new_operation("request" if kind.endswith("_request") else "create", self.points.shop)
        attempt = await self.caller.settle(self.points.shop, made)
        if kind == "refund":
            paying = about("pay", made, attempt.payment_id or "")
            await self.caller.settle(self.points.shop, paying)
        return about(kind, made, attempt.payment_id or "")

    async def statements(self, kind: str) -> list[str]:
        """What is asked of the database where nothing goes wrong."""
        operation = await self.operation(kind)
        await asyncio.sleep(QUIET_SECONDS)
        self.points.calls()
        self.points.arm("", "exit", "before")
        await self.caller.settle(self.points.shop, operation)
        await asyncio.sleep(QUIET_SECONDS)
        assert self.points.disarm()
        return self.points.calls()

    async def end_at(self, kind: str, statement: str, what: str, when: str) -> None:
        operation = self.caller.journal.begin(await self.operation(kind))
        self.points.arm(statement, what, when)
        await self.caller.attempt(self.points.shop, operation)
        where = f"{kind}: {what} {when} {statement}"
        await self.points.happened(where)
        assert [each for each in await self.problems() if each[0] != "unresolved"] == [], where
        if operation.acknowledged is None:
            await self.caller.finish(self.points.shop, operation)
        assert await self.problems() == [], where

    async def problems(self) -> list[tuple[str, str]]:
        found = await read_everything(self.points.service.dsn, set())
        return [*check(self.caller.journal.operations, found)]


@pytest.fixture
async def turn(points: Points, journal: Journal) -> AsyncIterator[Round]:
    caller = Caller(points.service.origin, journal)
    yield Round(points, caller)
    await caller.close()


async def usual(turn: Round, kind: str) -> list[str]:
    """The statements without those that are asked now and then only: is a connection alive?"""
    first, second = await turn.statements(kind), await turn.statements(kind)
    statements = list(dict.fromkeys(each for each in second if each in first))
    assert any(map(writes, statements)), statements
    return statements


def writes(statement: str) -> bool:
    return statement.startswith(("WITH w1 AS (", "COMMIT"))


@pytest.mark.parametrize("kind", SHORT)
async def test_a_process_that_ends_at_any_call_leaves_all_or_nothing(
    turn: Round, kind: str
) -> None:
    """After a call that only reads is before the next one: the long form does both."""
    for statement in await usual(turn, kind):
        await turn.end_at(kind, statement, "exit", "before")
        if writes(statement):
            await turn.end_at(kind, statement, "exit", "after")


@pytest.mark.parametrize("kind", [*SHORT, "pay"])
async def test_a_commit_whose_answer_is_lost_is_not_done_twice_nor_denied(
    turn: Round, kind: str
) -> None:
    for statement, when in product(await usual(turn, kind), ("before", "after")):
        if writes(statement):
            await turn.end_at(kind, statement, "cut", when)


@pytest.mark.campaign
@pytest.mark.parametrize("what", ["exit", "cut"])
@pytest.mark.parametrize("kind", [*SHORT, *MORE])
async def test_every_operation_at_every_call(
    turn: Round, kind: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    statements = await usual(turn, kind)
    for statement, when in product(statements, ("before", "after")):
        await turn.end_at(kind, statement, what, when)
    with capsys.disabled():
        print(f"{kind}: {what} at {2 * len(statements)} points")
