"""Questions that arrive together are asked together, each for itself."""

import asyncio

import pytest

from laari.spine.gather import CALM, MAX_REQUESTS, Gathered


async def test_what_comes_while_one_statement_runs_shares_the_next() -> None:
    asked: list[list[str]] = []

    async def ask(questions: list[str]) -> list[str]:
        asked.append(questions)
        await asyncio.sleep(0.01)
        return [f"{question}{number}" for number, question in enumerate(questions)]

    gathered = Gathered(ask)
    first = asyncio.create_task(gathered.call("first"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # the first is under way
    rest = await asyncio.gather(*(gathered.call("same") for _ in range(3)))
    assert await first == "first0"
    assert rest == ["same0", "same1", "same2"]
    assert asked == [["first"], ["same"] * 3]


async def test_a_statement_holds_a_bounded_number_of_requests() -> None:
    sizes: list[int] = []

    async def ask(questions: list[int]) -> list[int]:
        sizes.append(len(questions))
        await asyncio.sleep(0)
        return questions

    gathered = Gathered(ask)
    numbers = range(2 * MAX_REQUESTS + 1)
    assert await asyncio.gather(*map(gathered.call, numbers)) == list(numbers)
    assert sizes == [1, MAX_REQUESTS, MAX_REQUESTS]
    sizes.clear()
    assert await asyncio.gather(*map(gathered.call, range(3))) == [0, 1, 2]
    assert sizes == [3]  # after several at once, a statement waits for all that arrive together
    await gathered.call(0)
    await asyncio.gather(*map(gathered.call, range(3)))
    assert sizes == [3, 1, 3]  # one that came by itself does not mean that the load is low
    sizes.clear()
    for number in range(CALM):
        await gathered.call(number)
    await asyncio.gather(*map(gathered.call, range(3)))
    assert sizes == [1] * CALM + [1, 2]


async def test_one_request_at_a_time_needs_no_task() -> None:
    async def ask(questions: list[int]) -> list[int]:
        tasks.append(asyncio.current_task())
        await asyncio.sleep(0)
        return questions

    tasks: list[asyncio.Task[object] | None] = []
    gathered = Gathered(ask)
    for number in range(3):
        assert await gathered.call(number) == number
    assert tasks == [asyncio.current_task()] * 3


async def test_a_failure_reaches_all_who_asked_and_nobody_after() -> None:
    fails = True

    async def ask(questions: list[int]) -> list[int]:
        if fails:
            raise OSError("lost")
        return questions

    gathered = Gathered(ask)
    outcomes = await asyncio.gather(*map(gathered.call, range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [OSError] * 3
    fails = False
    assert await gathered.call(5) == 5


async def test_whoever_leaves_does_not_stop_the_others() -> None:
    go = asyncio.Event()

    async def ask(questions: list[int]) -> list[int]:
        await go.wait()
        return questions

    gathered = Gathered(ask)
    leaving, staying = (asyncio.create_task(gathered.call(number)) for number in (1, 2))
    await asyncio.sleep(0)
    leaving.cancel()
    go.set()
    assert await staying == 2
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_owners_take_turns_where_more_wait_than_fit() -> None:
    asked: list[list[str]] = []

    async def ask(questions: list[str]) -> list[str]:
        asked.append(questions)
        await asyncio.sleep(0.001)
        return questions

    gathered = Gathered(ask, most=4, owner=lambda request: ord(request[0]))
    flood = [asyncio.create_task(gathered.call(f"a{number}")) for number in range(20)]
    await asyncio.sleep(0)
    other = asyncio.create_task(gathered.call("b"))
    await asyncio.gather(*flood, other)
    assert "b" in asked[0] + asked[1]
