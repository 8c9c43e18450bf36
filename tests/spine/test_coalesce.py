"""Look-ups that arrive together share a query, and each is answered from after it was asked."""

import asyncio

import pytest

from laari.spine.gather import Coalesced


class Source:
    def __init__(self) -> None:
        self.queries: list[list[int]] = []
        self.fails = False
        self.value = "old"

    async def fetch(self, keys: list[int]) -> dict[int, str]:
        self.queries.append(sorted(keys))
        value = self.value
        await asyncio.sleep(0.001)
        if self.fails:
            raise ConnectionError
        return {key: value for key in keys if key >= 0}


async def test_keys_gather_while_a_query_is_under_way() -> None:
    source = Source()
    lookup = Coalesced(source.fetch)
    first = asyncio.create_task(lookup.get(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    rest = [asyncio.create_task(lookup.get(key)) for key in (2, 3, 3, -1)]
    assert await asyncio.gather(first, *rest) == ["old", "old", "old", "old", None]
    assert source.queries == [[1], [-1, 2, 3]]


async def test_an_answer_is_never_older_than_its_question() -> None:
    source = Source()
    lookup = Coalesced(source.fetch)
    early = asyncio.create_task(lookup.get(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    source.value = "new"
    assert await lookup.get(1) == "new"
    assert await early == "old"


async def test_a_failure_reaches_its_askers_and_no_others() -> None:
    source = Source()
    lookup = Coalesced(source.fetch)
    source.fails = True
    with pytest.raises(ConnectionError):
        await lookup.get(1)
    source.fails = False
    assert await lookup.get(1) == "old"


async def test_one_caller_going_away_leaves_the_others_alone() -> None:
    lookup = Coalesced(Source().fetch)
    gone, stays = (asyncio.create_task(lookup.get(1)) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    assert await stays == "old"
