"""Pages that wait: woken by a commit of their process, or by one look for all of them."""

import asyncio
import os
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from laari.edge.load import live
from laari.edge.load.admission import Admission
from laari.edge.load.live import Live, OneDevice, OnePayment, OneTill
from laari.errors import UnavailableError
from laari.rules.records.tills import TillDevice
from laari.rules.world import World
from laari.store.reads.tills.changes import Changes

NOW = datetime(2026, 11, 19, tzinfo=UTC)
PAYMENT = OnePayment(UUID(int=1))
TILL = OneTill(1, "Till 1")


class Looks:
    """What other processes changed, as one statement would find it."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.next = Changes("1:1:", [], [], [])
        self.error: Exception | None = None

    async def __call__(self, query: Any, *given: Any) -> Changes:
        self.asked.append(given)
        if self.error is not None:
            raise self.error
        found, self.next = self.next, Changes("2:2:", [], [], [])
        return found


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.05)
    return Looks()


async def is_set(changed: asyncio.Event, seconds: float = 0.5) -> bool:
    try:
        await asyncio.wait_for(changed.wait(), seconds)
    except TimeoutError:
        return False
    return True


async def test_a_thousand_pages_cost_one_look_a_period(looks: Looks) -> None:
    pages = Live(looks)

    async def wait() -> None:
        with pages.watching(OnePayment(uuid4())) as changed:
            await is_set(changed, 0.5)

    await asyncio.gather(*(wait() for _ in range(1000)))
    assert len(looks.asked) <= 11
    assert len(looks.asked[1][1]) == 1000
    count = len(looks.asked)
    await asyncio.sleep(0.2)
    assert len(looks.asked) <= count + 1  # nobody waits: nobody looks


async def test_a_look_wakes_what_it_finds_and_nothing_else(looks: Looks) -> None:
    pages = Live(looks)
    device = OneDevice(b"d")
    with (
        pages.watching(PAYMENT, device) as first,
        pages.watching(OnePayment(UUID(int=2))) as second,
    ):
        looks.next = Changes("1:1:", [], [], [b"d"])
        assert await is_set(first)
        assert not await is_set(second, 0.1)


async def test_a_till_looks_once_after_the_first_snapshot(looks: Looks) -> None:
    """Nobody knows what happened before it."""
    pages = Live(looks)
    with pages.watching(TILL) as early:
        assert await is_set(early)
        with pages.watching(TILL) as later:
            assert not await is_set(later, 0.1)
            looks.next = Changes("3:3:", [], [(1, "Till 1")], [])
            assert await is_set(later)
    assert looks.asked[-1][0] in ("2:2:", "3:3:")


async def test_a_commit_of_the_process_wakes_at_once(looks: Looks) -> None:
    pages = Live(looks)
    world = World(NOW, "http://laari.test", os.urandom)
    ended = TillDevice(b"d", b"b", UUID(int=1), "Chrome", NOW)
    world.till_devices.lock(b"d", ended)
    world.till_devices.change(b"d", ended)
    with pages.watching(OneDevice(b"d")) as changed, pages.watching(OneDevice(b"e")) as other:
        pages.committed(world)
        assert changed.is_set()
        assert not other.is_set()


async def test_looking_goes_on_after_the_database_was_away(looks: Looks) -> None:
    pages = Live(looks)
    looks.error = UnavailableError("away")
    with pages.watching(PAYMENT) as changed:
        assert not await is_set(changed, 0.2)
        looks.error, looks.next = None, Changes("1:1:", [PAYMENT.id], [], [])
        assert await is_set(changed)


async def test_too_many_and_a_process_that_stops_do_not_wait(
    looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_WAITING", 1)
    pages = Live(looks)
    with pages.watching(PAYMENT) as one, pages.watching(PAYMENT) as more:
        assert more.is_set()
        assert not one.is_set()
        pages.close()
        assert one.is_set()
    with pages.watching(PAYMENT) as late:
        assert late.is_set()


@pytest.mark.parametrize("changes", [False, True])
async def test_a_page_that_waited_in_vain_is_not_read_again(
    looks: Looks, monkeypatch: pytest.MonkeyPatch, changes: bool
) -> None:
    monkeypatch.setattr(live, "WAIT_SECONDS", 0.3)
    states = ["pending", "paid"]

    async def read() -> str:
        if changes and len(states) == 2:
            looks.next = Changes("1:1:", [PAYMENT.id], [], [])
        return states.pop(0)

    admission = Admission(1)
    admission.in_flight = 1
    request: Any = SimpleNamespace(started=0.0)
    answer = await Live(looks).state(request, admission, read, "pending", [PAYMENT])
    assert answer == {"status": "paid" if changes else "pending", "waited": "yes"}
    assert len(states) == (0 if changes else 1)


async def test_a_request_that_waits_leaves_its_place() -> None:
    admission = Admission(1)
    admission.in_flight = 1
    with admission.aside():
        assert admission.in_flight == 0
    assert admission.in_flight == 1


async def test_pages_that_began_together_do_not_come_back_together(
    looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def wait_for(waiting: Any, seconds: float) -> None:
        waiting.close()
        waits.append(seconds)
        raise TimeoutError

    async def read() -> str:
        return "pending"

    monkeypatch.setattr(live, "asyncio", SimpleNamespace(**vars(asyncio) | {"wait_for": wait_for}))
    pages, request, admission = Live(looks), SimpleNamespace(started=0.0), Admission(1)
    for _ in range(100):
        await pages.state(cast(Any, request), admission, read, "pending", [PAYMENT])
    pages.close()
    assert len(set(waits)) > 90
    assert 15 <= min(waits) < 18
    assert 22 < max(waits) <= 25
