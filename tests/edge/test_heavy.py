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
    Doors,
    DutyCycle,
    Heavy,
    Reports,
    patiently,
)
from laari.edge.pages.csv_files import csv_lines
from laari.rules.records.payments import Payment


async def test_one_at_a_time_with_a_rest_in_between() -> None:
    cycle, spans = DutyCycle(rest=2.0), []

    async def work() -> None:
        async with cycle.slot("mrc_1"):
            began = time.monotonic()
            await asyncio.sleep(0.05)
            spans.append((began, time.monotonic()))

    await asyncio.gather(*(work() for _ in range(3)))
    for (began, ended), (next_began, _) in pairwise(spans):
        assert next_began - ended >= 1.9 * (ended - began)


async def test_a_turn_that_fails_or_is_given_up_ends() -> None:
    cycle = DutyCycle(rest=1.0)

    async def work(error: BaseException) -> None:
        async with cycle.slot("mrc_1"):
            await asyncio.sleep(0.001)
            raise error

    with pytest.raises(ValueError, match="x"):
        await work(ValueError("x"))
    with pytest.raises(asyncio.CancelledError):
        await work(asyncio.CancelledError())
    async with asyncio.timeout(30), cycle.slot("mrc_1"):
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
    async with cycle.slot("mrc_1"):
        with pytest.raises(Overloaded):
            async with cycle.slot("mrc_1", soon=True):
                pass
    async with asyncio.timeout(30), cycle.slot("mrc_1", soon=True):
        pass  # whoever gave up has not taken it


async def test_merchants_take_turns() -> None:
    cycle, came = DutyCycle(rest=0.0), []

    async def work(name: str, owner: str) -> None:
        async with cycle.slot(owner):
            came.append(name)

    async with cycle.slot("mrc_0"):
        names = [*(f"a{n}" for n in range(4)), "b0", "b1", "c0"]
        tasks = [asyncio.create_task(work(name, name[0])) for name in names]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert came == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]
    await asyncio.sleep(0.01)
    assert not cycle._waiting
    assert not cycle._is_taken


async def test_somebody_who_leaves_when_admitted_passes_the_turn_on() -> None:
    cycle = DutyCycle(rest=0.0)
    await cycle._take("mrc_0")
    leaving, staying = (asyncio.create_task(cycle._take(owner)) for owner in ("mrc_1", "mrc_2"))
    await asyncio.sleep(0)
    cycle._pass_on()  # admits the one who leaves
    leaving.cancel()
    await asyncio.wait_for(staying, 1)
    assert leaving.cancelled()


async def test_a_person_has_one_long_page_and_the_newest_waits() -> None:
    doors, came, refused = Doors(), list[str](), list[str]()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def open_page(name: str, person: str) -> None:
        try:
            async with doors.enter(person):
                came.append(name)
                begun.set()
                await go_on.wait()
        except Overloaded:
            refused.append(name)

    pages = [("first", "one"), ("older", "one"), ("newest", "one"), ("other", "two")]
    tasks = []
    for name, person in pages:
        tasks.append(asyncio.create_task(open_page(name, person)))
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert came == ["first", "other"]
    assert refused == ["older"]
    go_on.set()
    await asyncio.gather(*tasks)
    assert came == ["first", "other", "newest"]
    assert not doors._inside
    assert not doors._waiting


@pytest.mark.parametrize("is_admitted", [False, True])
async def test_a_person_who_leaves_at_the_door_keeps_nobody_out(is_admitted: bool) -> None:
    doors = Doors()

    async def open_page() -> None:
        async with doors.enter("one"):
            pass

    async with doors.enter("one"):
        leaving = asyncio.create_task(open_page())
        await asyncio.sleep(0)
        if not is_admitted:
            leaving.cancel()
            await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait([leaving])
    assert leaving.cancelled()
    assert not doors._inside
    assert not doors._waiting
    await asyncio.wait_for(open_page(), 1)


async def test_the_desk_does_not_wait_for_merchants() -> None:
    work = Heavy()
    async with work.merchants.writing.slot("mrc_1"), work.merchants.searches.slot("mrc_1"):
        desk = work.desk
        async with asyncio.timeout(1), desk.writing.slot("d"), desk.searches.slot("d"):
            pass


async def test_pages_do_not_wait_for_the_rows_of_an_export() -> None:
    looking, answer = asyncio.Event(), asyncio.Event()

    async def find(after: None) -> tuple[list[Payment], None]:
        looking.set()
        await answer.wait()
        return [], None

    async def may_still_export() -> bool:
        return True

    backend: Any = SimpleNamespace(heavy=Heavy())
    request: Any = SimpleNamespace(
        backend=backend, may_still_export=may_still_export, file_owner="mrc_1"
    )
    lines = csv_lines(request, ["id"], find, lambda payment: 0, lambda payment: {})
    await anext(lines)  # the names of the columns
    rest = asyncio.create_task(_all(lines))
    await looking.wait()
    async with asyncio.timeout(30), backend.heavy.merchants.writing.slot("mrc_2", soon=True):
        answer.set()
    assert await rest == []


async def _all(lines: AsyncIterator[bytes]) -> list[bytes]:
    return [line async for line in lines]


def test_one_merchant_does_not_take_every_export() -> None:
    work = Heavy()
    held = [work.exports.place("mrc_1") for _ in range(MOST_EXPORTS_OF_A_MERCHANT)]
    for place in held:
        place.__enter__()
    with pytest.raises(Overloaded), work.exports.place("mrc_1"):
        pass
    with work.exports.place("mrc_2"):
        pass
    held[0].__exit__(None, None, None)
    with work.exports.place("mrc_1"):
        pass


def test_exports_are_bounded_altogether() -> None:
    work = Heavy()
    held = [work.exports.place(f"mrc_{number}") for number in range(MOST_EXPORTS)]
    for place in held:
        place.__enter__()
    with pytest.raises(Overloaded), work.exports.place("mrc_other"):
        pass
    for place in held:
        place.__exit__(None, None, None)
    assert not work.exports._taken  # nothing is kept of merchants that have no export


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
    found = await asyncio.gather(*(reports.get(key, "mrc_1") for key in (3, 1, 3, 2, 1)))
    assert found == ["old 3", "old 1", "old 3", "old 2", "old 1"]
    assert source.asked == [3, 1, 2]


async def test_what_is_asked_after_it_began_is_done_again() -> None:
    source = Source()
    reports = Reports(source.work)
    early = asyncio.create_task(reports.get(1, "mrc_1"))
    while not source.asked:
        await asyncio.sleep(0)
    source.value = "new"
    assert await reports.get(1, "mrc_1") == "new 1"
    assert await early == "old 1"


async def test_a_report_that_nobody_waits_for_any_more_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heavy, "PATIENCE_SECONDS", 0.05)
    source = Source()
    reports = Reports(source.work)
    async with reports._turns.slot("mrc_1"):
        with pytest.raises(Overloaded):
            await reports.get(1, "mrc_1")
    monkeypatch.setattr(heavy, "PATIENCE_SECONDS", 5)
    assert await reports.get(2, "mrc_1") == "old 2"
    assert source.asked == [2]


async def test_a_failure_reaches_its_askers_and_no_others() -> None:
    reports = Reports(Source().work)
    asked = [reports.get(key, "mrc_1") for key in (-1, 1, -1)]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in found] == [ValueError, str, ValueError]
