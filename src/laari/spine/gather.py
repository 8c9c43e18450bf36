"""Requests of the same kind that arrive while a statement runs share the next one."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeAlias, TypeVar

from laari.rules.command import Share
from laari.spine.fair import FairQueue

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Request = TypeVar("Request")
Response = TypeVar("Response")

MAX_REQUESTS = 512  # in one statement, if responses are small
# The load is low after this many statements of one request each. At high load one comes now and
# then, and the next request must not go alone while others arrive.
CALM = 8
PATIENCE_SECONDS = 0.5  # the next statement waits this long for the current one

_ONE_OWNER = Share(0)
_Waiting: TypeAlias = tuple[Request, "asyncio.Future[Response]"]


class Gathered(Generic[Request, Response]):
    """Turns `run(requests) -> responses`, in the same order, into calls of one request each.

    Equal requests run twice. If more than `most` wait, their owners (`owner`) take turns.
    """

    def __init__(
        self,
        run: Callable[[list[Request]], Awaitable[list[Response]]],
        most: int = MAX_REQUESTS,
        owner: Callable[[Request], object] | None = None,
    ) -> None:
        self._run = run
        self._most = most
        self._owner = owner
        self._waiting: FairQueue[_Waiting[Request, Response]] = FairQueue()
        self._current = 0  # number of the task that takes requests; an overtaken task stops
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_working = False
        self._calm = CALM  # statements in turn that had one request
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def call(self, request: Request) -> Response:
        if self._calm >= CALM and not self._is_working:
            return await self._call_alone(request)
        # Every caller waits on its own future: cancelling one does not affect the others.
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        share = _ONE_OWNER if self._owner is None else Share(self._owner(request))
        self._waiting.put(share, (request, future))
        if not self._is_working:
            self._start()
        return await future

    async def _call_alone(self, request: Request) -> Response:
        """The caller runs its own request: at low load this saves a task and its wake-ups.

        At high load a task runs the next statement. It begins a moment later, and takes
        everything that has arrived by then.
        """
        number = self._begin()
        try:
            return (await self._run([request]))[0]
        finally:
            if self._current == number:
                self._is_working = False
                if self._waiting:
                    self._start()

    def _begin(self) -> int:
        loop = asyncio.get_running_loop()
        self._is_working = True
        self._current += 1
        self._began = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(PATIENCE_SECONDS, self._check)
        return self._current

    def _start(self) -> None:
        task = asyncio.get_running_loop().create_task(self._work(self._begin()))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        while self._current == number and self._waiting:
            self._began = loop.time()
            await self._run_next()
        if self._current == number:
            self._is_working = False

    async def _run_next(self) -> None:
        taken = self._waiting.take(self._most)
        self._calm = self._calm + 1 if len(taken) == 1 else 0
        try:
            responses = await self._run([request for request, _ in taken])
        except Exception as error:
            for _, future in taken:
                if not future.done():
                    future.set_exception(error)
        else:
            for (_, future), response in zip(taken, responses, strict=True):
                if not future.done():  # the caller may have gone away
                    future.set_result(response)

    def _check(self) -> None:
        """Starts another task if the current statement takes long; one timer serves them all."""
        loop = asyncio.get_running_loop()
        self._timer = None
        if not self._is_working:
            return
        if self._waiting and loop.time() - self._began >= PATIENCE_SECONDS:
            self._start()
        else:
            self._timer = loop.call_later(PATIENCE_SECONDS / 2, self._check)


class Coalesced(Gathered[K, V | None]):
    """Turns `fetch(keys) -> found` into look-ups of one key each; equal ones share a result.

    There is no cache: a mode switch or a revoked key counts from the next request.
    """

    def __init__(self, fetch: Callable[[list[K]], Awaitable[dict[K, V]]]) -> None:
        async def run(keys: list[K]) -> list[V | None]:
            found = await fetch(list(dict.fromkeys(keys)))
            return [found.get(key) for key in keys]

        super().__init__(run)

    get = Gathered.call
