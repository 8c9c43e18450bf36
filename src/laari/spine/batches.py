"""Runs all write commands of a process, in batches.

A batch starts when the previous one has committed, without a timer: at low load nothing waits.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar, cast

from laari.rules.command import Command
from laari.rules.refusals import Refusal, refuse
from laari.spine.fair import FairQueue

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_BATCH = 256  # commands: keeps a batch's locks short; larger ones gained nothing
MAX_WAITING = 4096  # commands: beyond this a refusal is better than a long wait
MAX_RERUNS = 3  # of one batch, after deadlocks and serialization failures
# A client waits ten seconds at most, its look-ups included. A batch that waits for a slow commit
# starts again until its oldest command has waited `WAIT_SECONDS`: a lock and a commit fit into the
# rest.
WAIT_SECONDS = 4.5  # a command that has waited longer in the queue is refused
AWAY_WAIT_SECONDS = 3.0  # the same, while the database is away
RERUN_SECONDS = 3.0  # a failed batch does not start again later than this
SINGLY_SECONDS = 3.0  # nor does any of its commands, run alone
PATIENT_LOCK_SECONDS = 1.0
IMPATIENT_LOCK_SECONDS = 0.05  # for a command run alone: its batch has already waited


class LostRace(Exception):  # noqa: N818  # named for what happened
    """A unique index found that another transaction was first; a rerun sees its rows."""


class LockTimeout(Exception):  # noqa: N818
    """Another transaction held a row for too long."""


class Rerun(Exception):  # noqa: N818
    """Nothing was committed, and the same batch may succeed now."""


class Away(Rerun):
    """The database cannot be reached or cannot be written: nothing was begun."""


class SlowCommit(Rerun):
    """A row is locked by a transaction whose commit waits for the disk or for a standby."""


class TooSlow(Exception):  # noqa: N818
    """A statement reached the server's time limit and was undone."""


class OutcomeUnknown(Exception):  # noqa: N818
    """The commit was sent and its result lost: running the batch again could do its work twice."""


# Loads, decides, saves and commits commands in one transaction; the number is the time to wait for
# each lock, in seconds. Commands of a batch have different types, so their outcomes are `object`.
RunBatch: TypeAlias = Callable[[Sequence[Command[object]], float], Awaitable[list[object]]]


class _Waiting(NamedTuple):
    command: Command[object]
    outcome: asyncio.Future[object]
    since: float


class Spine:
    def __init__(
        self,
        run_batch: RunBatch,
        max_batch: int = MAX_BATCH,
        max_waiting: int = MAX_WAITING,
        on_batch: Callable[[int, float], None] = lambda size, waited_seconds: None,
    ) -> None:
        self._run_batch = run_batch
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._on_batch = on_batch
        self._waiting: FairQueue[_Waiting] = FairQueue()
        self._arrived = asyncio.Event()
        self._closing = False
        self._is_away = False  # whether the last batch found the database away
        self._task: asyncio.Task[None] | None = None
        self.batches = 0
        self.commands = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def start(self) -> None:
        self._task = asyncio.create_task(self._work(), name="spine")

    async def close(self) -> None:
        """Finishes all submitted commands, then stops."""
        self._closing = True
        self._arrived.set()
        if self._task is not None:
            await self._task

    async def submit(self, command: Command[T]) -> T | Refusal:
        """Returns the command's outcome once it is committed.

        A caller that is cancelled does not stop the commit: the batch runs in the spine's task.
        """
        if self._closing or len(self._waiting) >= self._max_waiting:
            return refuse("service_unavailable")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(command, loop.create_future(), loop.time())
        self._waiting.put(command.share, waiting)
        self._arrived.set()
        return cast("T | Refusal", await waiting.outcome)

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            if not self._waiting:
                if self._closing:
                    return
                self._arrived.clear()
                continue
            batch = self._next_batch()
            if not batch:
                continue
            self.batches += 1
            self.commands += len(batch)
            since = min(waiting.since for waiting in batch)
            self._on_batch(len(batch), asyncio.get_running_loop().time() - since)
            await self._complete(batch)

    def _next_batch(self) -> list[_Waiting]:
        """The next commands, in fair turns; refuses those that have waited too long."""
        patience = AWAY_WAIT_SECONDS if self._is_away else WAIT_SECONDS
        oldest = asyncio.get_running_loop().time() - patience
        for late in self._waiting.drop_while(lambda waiting: waiting.since < oldest):
            if not late.outcome.done():
                late.outcome.set_result(refuse("service_unavailable"))
        return self._waiting.take(self._max_batch)

    async def _complete(self, batch: list[_Waiting]) -> None:
        """Gives every command of the batch an outcome, whatever fails."""
        commands = [waiting.command for waiting in batch]
        since = min(waiting.since for waiting in batch)
        self._is_away = False
        try:
            outcomes = await self._run(commands, PATIENT_LOCK_SECONDS, since)
        except OutcomeUnknown as error:
            log.error("batch of %d: outcome of the commit unknown", len(batch), exc_info=error)
            outcomes = [error for _ in batch]
        except Away as error:
            reason = str(error) or "the database is away"
            log.warning("batch of %d not begun: %s", len(batch), reason)
            self._is_away = True
            outcomes = [refuse("service_unavailable") for _ in batch]
        except SlowCommit:
            log.warning("batch of %d given up: commits of other processes are slow", len(batch))
            outcomes = [refuse("service_unavailable") for _ in batch]
        except Exception as error:
            if not isinstance(error, LockTimeout):
                log.warning("batch of %d failed, running singly", len(batch), exc_info=error)
            outcomes = await self._run_singly(commands)
        for waiting, outcome in zip(batch, outcomes, strict=True):
            if waiting.outcome.done():  # the caller was cancelled
                continue
            if isinstance(outcome, Exception):
                waiting.outcome.set_exception(outcome)
            else:
                waiting.outcome.set_result(outcome)

    async def _run(
        self, commands: Sequence[Command[object]], lock_seconds: float, since: float
    ) -> list[object]:
        """Runs a batch, again if that can help: once after a lost race, at most three times.

        `since` is when its first command arrived. Waiting for a slow commit is not counted.
        """
        loop = asyncio.get_running_loop()
        last_start = loop.time() + RERUN_SECONDS
        races = attempt = 0
        while True:
            try:
                return await self._run_batch(commands, lock_seconds)
            except LostRace:
                races += 1
                if races > 1 or attempt == MAX_RERUNS:
                    raise
                attempt += 1
            except SlowCommit:
                if loop.time() > since + WAIT_SECONDS:
                    raise
            except Rerun:
                wait_seconds = 0.01 * 4**attempt
                if attempt == MAX_RERUNS or loop.time() + wait_seconds > last_start:
                    raise
                attempt += 1
                await asyncio.sleep(wait_seconds)

    async def _run_singly(self, commands: Sequence[Command[object]]) -> list[object]:
        """One bad command must not fail the others, and they must not wait forever."""
        loop = asyncio.get_running_loop()
        last_start = loop.time() + SINGLY_SECONDS
        outcomes: list[object] = []
        for command in commands:
            if loop.time() > last_start:
                outcomes.append(refuse("service_unavailable"))
                continue
            try:
                outcomes.append(await self._run_alone(command, last_start - WAIT_SECONDS))
            except Away:
                outcomes.append(refuse("service_unavailable"))
                last_start = loop.time()  # the others would fail too
        return outcomes

    async def _run_alone(self, command: Command[object], since: float) -> object:
        try:
            return (await self._run([command], IMPATIENT_LOCK_SECONDS, since))[0]
        except LockTimeout:
            return command.busy()
        except Away:
            raise
        except (LostRace, Rerun, TooSlow):
            return refuse("service_unavailable")
        except Exception as error:
            log.exception("command %s failed", type(command).__name__)
            return error
