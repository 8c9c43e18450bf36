"""Admission control: a bounded number at once, and the others are told when to come back."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from laari.edge.admission import LONGEST_WAIT_SECONDS, RETURNS_PER_SECOND, Admission
from laari.edge.http import Reply, Request
from laari.rules.refusals import Refusal


class Exchange:
    operation, id = "test", "req_1"

    def __init__(self) -> None:
        self.replies: list[Reply] = []

    def reply(self, reply: Reply, *headers: Any) -> None:
        self.replies.append(reply)


class Asked:
    def __init__(self) -> None:
        self.exchange = Exchange()


def refused(refusal: Refusal) -> Reply:
    return Reply(refusal.status, str(refusal.retry_after).encode())


async def test_beyond_the_bound_requests_are_refused_at_once() -> None:
    admission, go_on = Admission(most=2), asyncio.Event()

    async def answer(request: Request) -> Reply:
        await go_on.wait()
        return Reply(200, b"")

    def serve(asked: Asked) -> asyncio.Task[None]:
        return asyncio.create_task(admission.serve(cast(Request, asked), answer, refused))

    first, second, third, later = (Asked() for _ in range(4))
    under_way = [serve(first), serve(second)]
    await asyncio.sleep(0)
    await asyncio.wait_for(serve(third), 5)
    assert [reply.status for reply in third.exchange.replies] == [503]
    go_on.set()
    await asyncio.gather(*under_way)
    await serve(later)  # a place is free again
    assert [each.exchange.replies[0].status for each in (first, second, later)] == [200] * 3
    assert admission.in_flight == 0


async def test_an_answer_that_fails_gives_its_place_back() -> None:
    admission, asked = Admission(most=1), Asked()

    async def fail(request: Request) -> Reply:
        raise ValueError("on purpose")

    for _ in range(3):
        await admission.serve(cast(Request, asked), fail, refused)
    assert [reply.status for reply in asked.exchange.replies] == [500] * 3


def test_those_who_are_refused_come_back_one_after_the_other() -> None:
    admission = Admission()
    waits = [admission.wait_seconds(100.0) for _ in range(20 * RETURNS_PER_SECOND)]
    assert waits == sorted(waits)
    assert waits.count(1) <= RETURNS_PER_SECOND + 1
    assert max(waits) == LONGEST_WAIT_SECONDS
