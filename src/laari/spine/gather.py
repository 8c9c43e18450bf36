"""Requests of the same kind that arrive together share one statement, and each has its own effect.

Unlike a coalesced look-up, an equal request made twice is run twice: it may count.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from laari.rules.command import Share
from laari.spine.fair import FairQueue
from laari.spine.rounds import Rounds

Request = TypeVar("Request")
Response = TypeVar("Response")

MAX_REQUESTS = 512  # in one statement, where responses are small


class _Waiting(NamedTuple, Generic[Request, Response]):
    request: Request
    response: asyncio.Future[Response]


class Gathered(Generic[Request, Response]):
    """Turns `run(requests) -> responses`, in the same order, into calls of one request each.

    While one statement is running the next one's requests gather, unless it takes long. If more
    gather than fit, owners take turns; `owner` says whose a request is.
    """

    def __init__(
        self,
        run: Callable[[list[Request]], Awaitable[list[Response]]],
        most: int = MAX_REQUESTS,
        owner: Callable[[Request], object] = lambda request: 0,
    ) -> None:
        self._run = run
        self._most = most
        self._owner = owner
        self._gathering: FairQueue[_Waiting[Request, Response]] = FairQueue()
        self._rounds = Rounds(self._run_round, lambda: len(self._gathering) > 0)

    async def call(self, request: Request) -> Response:
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._gathering.put(Share(self._owner(request)), _Waiting(request, future))
        self._rounds.wake()
        return await future

    async def _run_round(self) -> None:
        taken = self._gathering.take(self._most)
        try:
            responses = await self._run([waiting.request for waiting in taken])
        except Exception as error:
            for waiting in taken:
                if not waiting.response.done():
                    waiting.response.set_exception(error)
        else:
            for waiting, response in zip(taken, responses, strict=True):
                if not waiting.response.done():  # the caller may have gone away
                    waiting.response.set_result(response)
