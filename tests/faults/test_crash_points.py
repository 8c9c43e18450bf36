"""A process that ends, or loses its connection, before or after any call to the database.

Whatever the call, what belongs together is there as a whole or not at all, and a retry with the
same reference and key brings it to one end.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from itertools import count, product
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Engine
from tests.faults.crash.calls import Caller
from tests.faults.crash.checker import DECIDING, check
from tests.faults.crash.clients import about, new_operation
from tests.faults.crash.found import read_everything
from tests.faults.crash.place import Shop, open_shop
from tests.faults.journal import Journal, Operation
from tests.serving import Service, serving

HOOK = Path(__file__).parent / "crash" / "hook"
NOBODY = "http://127.0.0.1:9/"  # takes no webhooks: they stay pending
SHORT = ("create", "charge")
MORE = ("pay", "cancel", "refund", "request", "pay_request", "cancel_request")

_numbers = count(1)


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

    def calls(self) -> list[str]:
        """The statements since this was last asked."""
        file = Path(f"{self.file}.calls")
        statements = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return statements


@pytest.fixture(scope="module")
def points(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Points]:
    folder = tmp_path_factory.mktemp("points")
    dsn = engine.migrated(f"points_{os.getpid()}_{next(_numbers)}")
    hooked = {"PYTHONPATH": str(HOOK), "LAARI_TEST_POINTS": str(folder / "point")}
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
        self.points.calls()
        self.points.arm("", "exit", "before")
        await self.caller.settle(self.points.shop, operation)
        assert self.points.disarm()
        return self.points.calls()

    async def end_at(self, kind: str, statement: str, what: str, when: str) -> None:
        operation = self.caller.journal.begin(await self.operation(kind))
        self.points.arm(statement, what, when)
        await self.caller.attempt(self.points.shop, operation)
        where = f"{kind}: {what} {when} {statement}"
        assert not self.points.disarm(), f"it did not happen, {where}"
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
    assert any(each.startswith("WITH w1 AS (") for each in statements), statements
    return statements


@pytest.mark.parametrize(
    "kind", [*SHORT, *(pytest.param(kind, marks=pytest.mark.campaign) for kind in MORE)]
)
async def test_a_process_that_ends_at_any_call_leaves_all_or_nothing(
    turn: Round, kind: str
) -> None:
    for statement, when in product(await usual(turn, kind), ("before", "after")):
        await turn.end_at(kind, statement, "exit", when)


@pytest.mark.parametrize("kind", [*SHORT, "pay"])
async def test_a_commit_whose_answer_is_lost_is_not_done_twice_nor_denied(
    turn: Round, kind: str
) -> None:
    for statement, when in product((await usual(turn, kind))[-2:], ("before", "after")):
        await turn.end_at(kind, statement, "cut", when)


@pytest.mark.campaign
@pytest.mark.parametrize("kind", [*SHORT, *MORE])
async def test_a_connection_that_is_lost_at_any_call_leaves_all_or_nothing(
    turn: Round, kind: str
) -> None:
    for statement, when in product(await usual(turn, kind), ("before", "after")):
        await turn.end_at(kind, statement, "cut", when)
