"""A queue for hashing: few wait, the least demanding goes first, and who left is not worked for."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvloop
from argon2.exceptions import InvalidHashError

from laari.edge.load.admission import Overloaded
from laari.edge.load.hashing import FIRST, Hashing, RankedQueue
from laari.http.messages import ClientGone
from laari.store.people.passwords import NICENESS, nobodys_hash, password_fits

pytestmark = pytest.mark.ci

# Of "correct horse": slow enough to leave in the middle of it, and no more.
HASH = (
    "$argon2id$v=19$m=16384,t=4,p=1$drOOOLGweHCk9LU4tTnI6g$"
    "SOqskPUUwpKmOFMy6iElSiYRGxi6chSSbadTj81S1U0"
)


async def stays() -> None:
    await asyncio.sleep(3600)


async def left() -> None:
    return


def pid_of(hashing: Hashing) -> int | None:
    return next(iter(hashing._pool._processes), None) if hashing._pool is not None else None


@pytest.fixture
async def hashing() -> AsyncIterator[Hashing]:
    hashing = Hashing()
    yield hashing
    await hashing.close()


async def begin(queue: RankedQueue, *ranks: float) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(queue.acquire(rank)) for rank in ranks]
    await asyncio.sleep(0)
    return tasks


async def done(tasks: list[asyncio.Task[None]]) -> list[bool]:
    await asyncio.sleep(0.01)
    return [task.done() for task in tasks]


async def test_the_lowest_rank_goes_first_and_equals_in_the_order_they_came() -> None:
    queue = RankedQueue()
    await queue.acquire(5)
    tasks = await begin(queue, 2, 0, 1, 0, FIRST)
    for served in (4, 1, 3, 2, 0):
        queue.release()
        assert (await done(tasks))[served]
        assert sum(await done(tasks)) == [4, 1, 3, 2, 0].index(served) + 1
    queue.release()
    await asyncio.wait_for(queue.acquire(9), 1)


async def test_a_full_queue_sends_the_highest_rank_away() -> None:
    queue = RankedQueue(most=2)
    await queue.acquire(0)
    tasks = await begin(queue, 3, 7)
    with pytest.raises(Overloaded):
        await queue.acquire(7)
    newcomer = await begin(queue, 1)
    assert await done(tasks) == [False, True]
    with pytest.raises(Overloaded):
        await tasks[1]
    assert queue.waiting == 2
    queue.release()
    assert await done(newcomer) == [True]
    queue.release()
    assert await done(tasks[:1]) == [True]


async def test_nobody_waits_for_long_and_nobody_who_left_keeps_a_turn() -> None:
    queue = RankedQueue(longest_seconds=0.05)
    await queue.acquire(0)
    with pytest.raises(Overloaded):
        await queue.acquire(0)
    (leaving,) = await begin(queue, 0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    (unlucky,) = await begin(queue, 0)
    queue.release()  # the turn is given …
    unlucky.cancel()  # … in the moment when it is given up
    await asyncio.gather(unlucky, return_exceptions=True)
    await asyncio.wait_for(queue.acquire(0), 1)


async def test_passwords_are_verified_and_hashed_in_another_process(hashing: Hashing) -> None:
    assert pid_of(hashing) is None  # not before it is needed
    assert await hashing.fits("correct horse", HASH, rank=0, disconnected=stays)
    assert not await hashing.fits("Correct horse", HASH, rank=0, disconnected=stays)
    assert not await hashing.fits("", nobodys_hash(), rank=0, disconnected=stays)
    made = await hashing.hash('quotes " and \n ދިވެހި', rank=0, disconnected=stays)
    assert password_fits('quotes " and \n ދިވެހި', made)
    assert psutil.Process(pid_of(hashing)).nice() == min(os.nice(0) + NICENESS, 19)


async def test_a_hash_that_cannot_be_read_is_a_defect_and_not_the_end(hashing: Hashing) -> None:
    with pytest.raises(InvalidHashError):
        await hashing.fits("x", "nonsense", rank=0, disconnected=stays)
    assert await hashing.fits("correct horse", HASH, rank=0, disconnected=stays)


async def test_who_left_is_not_worked_for(hashing: Hashing) -> None:
    waiting = [
        asyncio.create_task(hashing.fits("x", HASH, rank=1, disconnected=stays)) for _ in range(3)
    ]
    await asyncio.sleep(0.05)
    began = time.monotonic()
    for _ in range(50):
        with pytest.raises(ClientGone):
            await hashing.fits("x", HASH, rank=0, disconnected=left)
    spent = time.monotonic() - began
    assert await asyncio.gather(*waiting) == [False] * 3
    began = time.monotonic()
    assert await hashing.fits("correct horse", HASH, rank=0, disconnected=stays)
    one = time.monotonic() - began
    assert spent < max(50 * one / 2, 1)  # half of what their work would have taken


async def test_leaving_while_it_is_hashed_does_not_mix_the_answers(hashing: Hashing) -> None:
    async def leaves() -> None:
        await asyncio.sleep(0.002)

    await hashing.fits("x", HASH, rank=0, disconnected=stays)  # started
    for _ in range(3):
        with pytest.raises(ClientGone):
            await hashing.fits("correct horse", HASH, rank=0, disconnected=leaves)
        assert not await hashing.fits("wrong", HASH, rank=0, disconnected=stays)


async def test_a_cancelled_request_keeps_no_turn(hashing: Hashing) -> None:
    await hashing.fits("x", HASH, rank=0, disconnected=stays)
    for wait in (0, 0, 0.001, 0.05, 0.1):
        request = asyncio.create_task(hashing.fits("x", HASH, rank=0, disconnected=stays))
        await asyncio.sleep(wait)
        request.cancel()
    # Without a turn it would be refused.
    assert await hashing.fits("correct horse", HASH, rank=0, disconnected=stays)


async def test_a_process_that_ends_is_started_again(hashing: Hashing) -> None:
    await hashing.fits("x", HASH, rank=0, disconnected=stays)
    first = pid_of(hashing)
    assert first is not None
    os.kill(first, signal.SIGTERM)  # meant for its parent, which finishes what is under way
    assert await hashing.fits("correct horse", HASH, rank=0, disconnected=stays)
    assert pid_of(hashing) == first
    os.kill(first, signal.SIGKILL)
    assert await hashing.fits("correct horse", HASH, rank=0, disconnected=stays)
    assert pid_of(hashing) != first
    running = asyncio.create_task(hashing.fits("correct horse", HASH, rank=0, disconnected=stays))
    await asyncio.sleep(0.002)
    os.kill(pid_of(hashing) or 0, signal.SIGKILL)  # in the middle of it
    assert await running


@pytest.mark.parametrize("pause", [0.0, 0.3])
@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_process_that_ends_unasked_is_started_again(loop_factory: Any, pause: float) -> None:
    """Out of memory, or by an operator, between two log-ins: noticed before the next, or not.

    The service's loop tells of it in another way than Python's own.
    """

    async def kill_and_ask() -> None:
        hashing = Hashing()
        try:
            for _ in range(2):
                assert await hashing.fits("correct horse", HASH, rank=0, disconnected=stays)
                os.kill(pid_of(hashing) or 0, signal.SIGKILL)
                await asyncio.sleep(pause)
            assert await hashing.fits("correct horse", HASH, rank=0, disconnected=stays)
        finally:
            await hashing.close()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(kill_and_ask())


PARENT = """
import asyncio
from laari.edge.load.hashing import Hashing

async def main():
    hashing = Hashing()
    await hashing.hash("x", rank=0, disconnected=lambda: asyncio.sleep(60))
    print(*hashing._pool._processes, flush=True)
    await asyncio.sleep(60)

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE)
    with parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(30)


async def test_other_work_is_done_in_the_same_process(hashing: Hashing) -> None:
    done_by = await hashing.run(os.getpid, rank=FIRST, disconnected=stays)
    assert done_by == pid_of(hashing) != os.getpid()
