"""Admission control: a bounded number at once, and the others are told when to come back."""

import asyncio
from typing import Any

import pytest

from laari.edge.load.admission import LONGEST_WAIT_SECONDS, RETURNS_PER_SECOND, Admission
from laari.errors import UnavailableError
from laari.http.messages import ClientGone, Reply, Request
from laari.rules.refusals import Refusal
from tests.edge.sent import sent


def refused(refusal: Refusal) -> Reply:
    return Reply(refusal.status, str(refusal.retry_after).encode())


async def test_beyond_the_bound_requests_are_refused_at_once() -> None:
    admission, go_on = Admission(most=2), asyncio.Event()

    async def handle(request: Request) -> Reply:
        await go_on.wait()
        return Reply(200)

    def serve() -> asyncio.Task[Reply]:
        return asyncio.create_task(admission.serve(sent(), handle, refused))

    under_way = [serve(), serve()]
    await asyncio.sleep(0)
    third = await asyncio.wait_for(serve(), 5)
    assert (third.status, third.body) == (503, b"1")  # the second to come back in
    go_on.set()
    assert [reply.status for reply in await asyncio.gather(*under_way)] == [200, 200]
    assert (await serve()).status == 200  # a place is free again
    assert admission.in_flight == 0


async def test_one_caller_has_a_part_of_the_places() -> None:
    admission, go_on = Admission(most=4, most_of_one=2), asyncio.Event()

    async def handle(request: Request) -> Reply:
        await go_on.wait()
        return Reply(200)

    def serve(**headers: Any) -> asyncio.Task[Reply]:
        return asyncio.create_task(admission.serve(sent(**headers), handle, refused))

    crowd = [serve(x_api_key="a"), serve(x_api_key="a")]
    await asyncio.sleep(0)
    assert (await asyncio.wait_for(serve(x_api_key="a"), 5)).status == 503
    others = [serve(x_api_key="b"), serve(authorization="Bearer c")]
    await asyncio.sleep(0)
    go_on.set()
    assert {reply.status for reply in await asyncio.gather(*crowd, *others)} == {200}
    assert (await serve(x_api_key="a")).status == 200  # its places are free again
    assert admission._owners == {}


async def test_callers_behind_one_authorization_are_told_apart() -> None:
    """A proxy may add the same to all of them."""
    admission, go_on = Admission(most=4, most_of_one=1), asyncio.Event()

    async def handle(request: Request) -> Reply:
        await go_on.wait()
        return Reply(200)

    def serve(key: str) -> asyncio.Task[Reply]:
        asked = sent(authorization="Basic proxy", x_api_key=key)
        return asyncio.create_task(admission.serve(asked, handle, refused))

    under_way = [serve("a"), serve("b")]
    await asyncio.sleep(0)
    go_on.set()
    assert {reply.status for reply in await asyncio.gather(*under_way)} == {200}


async def test_the_credentials_of_one_merchant_share_its_places() -> None:
    admission, go_on = Admission(most=4, most_of_one=2), asyncio.Event()

    async def handle(request: Request) -> Reply:
        with admission.share(7):  # as whoever has found out who it is does
            await go_on.wait()
        return Reply(200)

    def serve(key: str) -> asyncio.Task[Reply]:
        return asyncio.create_task(admission.serve(sent(x_api_key=key), handle, refused))

    crowd = [serve("a"), serve("b")]
    await asyncio.sleep(0)
    assert (await asyncio.wait_for(serve("c"), 5)).status == 503
    go_on.set()
    assert {reply.status for reply in await asyncio.gather(*crowd)} == {200}
    assert (admission._owners, admission.in_flight) == ({}, 0)


@pytest.mark.parametrize(
    ("failure", "status"),
    [(ValueError("on purpose"), 500), (UnavailableError("on purpose"), 503), (ClientGone(), 400)],
)
async def test_a_failure_gives_its_place_back(failure: Exception, status: int) -> None:
    admission = Admission(most=1)

    async def fail(request: Request) -> Reply:
        raise failure

    replies = [await admission.serve(sent(), fail, refused) for _ in range(3)]
    assert [reply.status for reply in replies] == [status] * 3


def test_those_who_are_refused_come_back_one_after_the_other() -> None:
    admission = Admission()
    waits = [admission.wait_seconds(100.0) for _ in range(20 * RETURNS_PER_SECOND)]
    assert waits == sorted(waits)
    assert waits.count(1) <= RETURNS_PER_SECOND + 1
    assert max(waits) == LONGEST_WAIT_SECONDS
