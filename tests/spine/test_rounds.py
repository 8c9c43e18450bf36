"""A round that never ends holds up nobody who came after it."""

import asyncio

from laari.spine.gather import Coalesced, Gathered


async def test_a_look_up_that_is_stuck_is_overtaken_and_answered_later() -> None:
    stuck = asyncio.Event()
    asked: list[list[int]] = []

    async def fetch(keys: list[int]) -> dict[int, int]:
        asked.append(keys)
        if 1 in keys:
            await stuck.wait()
        return {key: -key for key in keys}

    look_up = Coalesced(fetch)
    first = asyncio.create_task(look_up.get(1))
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        assert await asyncio.gather(look_up.get(2), look_up.get(3)) == [-2, -3]
        assert await look_up.get(4) == -4  # the one that overtook has taken its place
    assert asked == [[1], [2, 3], [4]]
    stuck.set()
    assert await first == -1
    assert await look_up.get(5) == -5


async def test_a_stuck_one_does_not_begin_another_round_when_it_ends() -> None:
    under_way = most = 0
    stuck = asyncio.Event()

    async def ask(questions: list[int]) -> list[int]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await (stuck.wait() if 0 in questions else asyncio.sleep(0.01))
        under_way -= 1
        return questions

    gathered = Gathered(ask, most=1)
    first = asyncio.create_task(gathered.call(0))
    await asyncio.sleep(0)
    rest = [asyncio.create_task(gathered.call(number)) for number in range(1, 100)]
    await rest[10]
    stuck.set()
    await first
    most = under_way
    await asyncio.gather(*rest)
    assert most == 1
