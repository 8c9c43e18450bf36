"""Heavy work of pages takes turns, rests in between, and is refused where there is too much."""

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from laari.edge.load import heavy
from laari.edge.load.admission import Overloaded
from laari.edge.load.heavy import (
    MOST_EXPORTS,
    MOST_EXPORTS_OF_A_MERCHANT,
    DutyCycle,
    Heavy,
    Reports,
    patiently,
)
from laari.edge.pages.dashboard.money.export import csv_lines
from laari.rules.records import Payment


async def test_one_at_a_time_with_a_rest_in_between() -> None:
    cycle, spans = DutyCycle(rest=2.0), []

    async def work() -> None:
        async with cycle.slot():
            began = time.monotonic()
            await asyncio.sleep(0.05)
            spans.append((began, time.monotonic()))

    await asyncio.gather(*(work() for _ in range(3)))
    for (began, ended), (next_began, _) in pairwise(spans):
        assert next_began - ended >= 1.9 * (ended - began)


async def test_a_turn_that_fails_or_is_given_up_ends() -> None:
    cycle = DutyCycle(rest=1.0)

    async def work(error: BaseException) -> None:
        async with cycle.slot():
            await asyncio.sleep(0.001)
            raise error

    with pytest.raises(ValueError, match="x"):
        await work(ValueError("x"))
    with pytest.raises(asyncio.CancelledError):
        await work(asyncio.CancelledError())
    async with asyncio.timeout(5), cycle.slot():
        pass


async def test_whoever_waits_too_long_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy, "PATIENCE_SECONDS", 0.05)
    with pytest.raises(Overloaded):
        await patiently(asyncio.sleep(60))
    assert await patiently(asyncio.sleep(0, "done")) == "done"


async def test_a_turn_for_somebody_who_waits_comes_soon_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heavy, "PATIENCE_SECONDS", 0.05)
    cycle = DutyCycle(rest=0.0)
    async with cycle.slot():
        with pytest.raises(Overloaded):
            async with cycle.slot(soon=True):
                pass
    async with asyncio.timeout(5), cycle.slot(soon=True):
        pass  # whoever gave up has not taken it


async def test_pages_do_not_wait_for_the_rows_of_an_export() -> None:
    looking, answer = asyncio.Event(), asyncio.Event()

    async def find(after: None) -> tuple[list[Payment], None]:
        looking.set()
        await answer.wait()
        return [], None

    async def still_may(permission: str) -> bool:
        return True

    backend: Any = SimpleNamespace(heavy=Heavy())
    request: Any = SimpleNamespace(backend=backend, still_may=still_may)
    lines = csv_lines(request, ["id"], find, lambda payment: 0, lambda payment: {})
    await anext(lines)  # the names of the columns
    rest = asyncio.create_task(_all(lines))
    await looking.wait()
    async with asyncio.timeout(1), backend.heavy.writing.slot(soon=True):
        answer.set()
    assert await rest == []


async def _all(lines: AsyncIterator[bytes]) -> list[bytes]:
    return [line async for line in lines]


def test_one_merchant_does_not_take_every_export() -> None:
    work = Heavy()
    held = [work.export("mrc_1") for _ in range(MOST_EXPORTS_OF_A_MERCHANT)]
    for place in held:
        place.__enter__()
    with pytest.raises(Overloaded), work.export("mrc_1"):
        pass
    with work.export("mrc_2"):
        pass
    held[0].__exit__(None, None, None)
    with work.export("mrc_1"):
        pass


def test_exports_are_bounded_altogether() -> None:
    work = Heavy()
    held = [work.export(f"mrc_{number}") for number in range(MOST_EXPORTS)]
    for place in held:
        place.__enter__()
    with pytest.raises(Overloaded), work.export("mrc_other"):
        pass
    for place in held:
        place.__exit__(None, None, None)
    assert not work._exports  # nothing is kept of merchants that have no export


class Source:
    def __init__(self) -> None:
        self.asked: list[int] = []
        self.value = "old"

    async def work(self, key: int) -> str:
        self.asked.append(key)
        value = self.value
        await asyncio.sleep(0.001)
        if key < 0:
            raise ValueError(key)
        return f"{value} {key}"


async def test_the_same_work_is_done_once_for_all_who_asked_before_it_began() -> None:
    source = Source()
    reports = Reports(source.work)
    found = await asyncio.gather(*(reports.get(key) for key in (3, 1, 3, 2, 1)))
    assert found == ["old 3", "old 1", "old 3", "old 2", "old 1"]
    assert source.asked == [3, 1, 2]


async def test_what_is_asked_after_it_began_is_done_again() -> None:
    source = Source()
    reports = Reports(source.work)
    early = asyncio.create_task(reports.get(1))
    while not source.asked:
        await asyncio.sleep(0)
    source.value = "new"
    assert await reports.get(1) == "new 1"
    assert await early == "old 1"


async def test_a_report_that_nobody_waits_for_any_more_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heavy, "PATIENCE_SECONDS", 0.05)
    source = Source()
    reports = Reports(source.work)
    async with reports._turns.slot():
        with pytest.raises(Overloaded):
            await reports.get(1)
    monkeypatch.setattr(heavy, "PATIENCE_SECONDS", 5)
    assert await reports.get(2) == "old 2"
    assert source.asked == [2]


async def test_a_failure_reaches_its_askers_and_no_others() -> None:
    reports = Reports(Source().work)
    found = await asyncio.gather(*map(reports.get, (-1, 1, -1)), return_exceptions=True)
    assert [type(answer) for answer in found] == [ValueError, str, ValueError]
