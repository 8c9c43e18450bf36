"""Reads that may lag a little: on a standby while there is a good one, else on the primary.

A standby is used only if it is proved to be one of this very database, and not far behind. Every
few seconds the primary is asked what it has, and commits something tiny, so that a standby which
keeps up has always replayed something new. Before each use the standby is asked how far it has
come: it has to know something that the primary had a few seconds ago, and the seal that the
primary had last at that time. A copy that went its own way, such as a staging system restored from
a backup, has the same identifier and other seals.

Whatever is wrong with the standby, the primary is read instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import asyncpg

from laari.errors import UnavailableError
from laari.store.connect import NO_STANDBY, is_lost
from laari.store.connections import Connections
from laari.store.database import Pool
from laari.store.last_seal_file import KnownSeal

log = logging.getLogger(__name__)

A = TypeVar("A")
P = ParamSpec("P")

# Figures and files that are older would surprise whoever looks at them. It is also longer than the
# moments for which a standby stops replaying because somebody reads what is about to be removed.
LAG_SECONDS = 15.0
LOOK_SECONDS = 2.0  # between two looks: several fit into the allowed lag
CONNECTIONS = 2  # per process: reports and exports take turns anyway
STATEMENT_SECONDS = 2.0  # reports and pieces of an export take milliseconds
ACQUIRE_SECONDS = 1.0
WARN_EVERY_SECONDS = 60.0  # while the standby cannot be used

NOT_YET = "it has not been seen to keep up yet"  # nothing is wrong: this process has just begun

_MARK = """
SELECT c.system_identifier, d.oid, s.number, s.mac, clock_timestamp(),
    set_config('synchronous_commit', 'off', true), pg_logical_emit_message(true, 'laari', '')
FROM pg_control_system() c
JOIN pg_database d ON d.datname = current_database()
LEFT JOIN (SELECT number, mac FROM seals ORDER BY number DESC LIMIT 1) s ON true
"""
_IDENTITY = """
SELECT pg_is_in_recovery(), pg_last_xact_replay_timestamp(), c.system_identifier, d.oid
FROM pg_control_system() c JOIN pg_database d ON d.datname = current_database()
"""
# A statement of its own, later: its snapshot has to hold what had been replayed before.
_SEALS = "SELECT number, mac FROM seals WHERE number = ANY($1::bigint[])"


class Mark(NamedTuple):
    """What the primary had at a moment."""

    cluster: int
    database: int
    seal: KnownSeal | None  # the last one
    at: datetime  # by the primary's clock
    heard: float  # by this process's


class State(NamedTuple):
    """How far a standby has come, and which of the seals that were asked for it has."""

    in_recovery: bool
    replayed_at: datetime | None  # by the clock of its primary
    cluster: int
    database: int
    seals: frozenset[KnownSeal] = frozenset()


async def take_mark(connection: asyncpg.Connection) -> Mark:
    """Of the primary. The commit waits for no disk, and is replayed like any other."""
    heard = asyncio.get_running_loop().time()
    cluster, database, number, mac, at, *_ = await connection.fetchrow(_MARK)
    seal = None if number is None else KnownSeal(number, mac)
    return Mark(cluster, database, seal, at, heard)


async def state_of(connection: asyncpg.Connection, marks: Sequence[Mark]) -> State:
    """Of the server at the other end, which may be anything."""
    state = State(*await connection.fetchrow(_IDENTITY))
    if not marks or not is_same(state, marks[-1]):
        return state  # it may have no seals at all
    numbers = [mark.seal.number for mark in marks if mark.seal is not None]
    rows = await connection.fetch(_SEALS, numbers)
    return state._replace(seals=frozenset(KnownSeal(*row) for row in rows))


def is_same(state: State, mark: Mark) -> bool:
    return (state.cluster, state.database) == (mark.cluster, mark.database)


def obstacle(state: State, marks: Sequence[Mark], now: float) -> str | None:
    """Why a standby must not be read; `marks` are the primary's, oldest first."""
    if not state.in_recovery:
        return NO_STANDBY
    if not marks:
        return "the primary has not been heard yet"
    if not is_same(state, marks[-1]):
        return "it belongs to another database: its identifier differs"
    replayed = state.replayed_at
    passed = [mark for mark in marks if replayed is not None and mark.at <= replayed]
    if not passed and now - marks[0].heard <= LAG_SECONDS:
        return NOT_YET
    if not passed or now - passed[-1].heard > LAG_SECONDS:
        return f"it is more than {LAG_SECONDS:.0f} seconds behind"
    seal = passed[-1].seal
    if seal is not None and seal not in state.seals:
        return f"its history is another one: it does not have seal {seal}"
    return None


class UnfitError(Exception):
    """The standby must not be read, and why."""


class LaggingReads:
    """Reads on the standby at `dsn` while it is fit, and on the primary's pool otherwise."""

    def __init__(
        self,
        dsn: str,
        primary: Pool,
        on_read: Callable[[bool], None] = lambda on_standby: None,
    ) -> None:
        self._standby = Connections(
            dsn, CONNECTIONS, STATEMENT_SECONDS, writing=False, standby=True
        )
        self._primary = primary
        self._on_read = on_read
        self._marks: deque[Mark] = deque(maxlen=int(LAG_SECONDS / LOOK_SECONDS) + 2)
        self._is_fit = False
        self._warned_at: float | None = None  # None while there is nothing to complain about
        self._task: asyncio.Task[None] | None = None

    @property
    def is_fit(self) -> bool:
        """Whether the standby is read, as far as is known."""
        return self._is_fit

    def start(self) -> None:
        self._task = asyncio.create_task(self._work(), name="standby")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._standby.close()

    async def read(
        self,
        query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        """Runs what only reads and may be a little behind."""
        if self._is_fit:
            try:
                result = await self._try(query, *arguments, **named)
            except Exception as error:
                if _is_unfit(error):
                    self._refuse(error)
                elif isinstance(error, asyncpg.PostgresError):
                    # A conflict with what is being replayed, a statement that took too long: the
                    # primary knows. What is wrong with the statement itself fails there too.
                    log.info("read again on the primary: %s", error)
                else:
                    raise
            else:
                self._on_read(True)
                return result
        self._on_read(False)
        return await self._primary.read(query, *arguments, **named)

    async def look(self) -> None:
        """One look at both servers; whatever it finds is known afterwards."""
        try:
            self._marks.append(await self._primary.write_each(take_mark))
        except (UnavailableError, asyncpg.PostgresError) as error:
            log.info("no mark of the primary: %s", error)  # the marks there are grow old
        try:
            await self._try(_nothing)
        except Exception as error:
            if not _is_unfit(error) and not isinstance(error, asyncpg.PostgresError):
                raise
            self._refuse(error)
        else:
            if self._warned_at is not None:
                log.warning("the standby for reads is used again")
            self._is_fit, self._warned_at = True, None

    async def _work(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:
                self._is_fit = False
                log.exception("the standby for reads could not be looked at")
            await asyncio.sleep(LOOK_SECONDS)

    async def _try(
        self,
        query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        await self._standby.acquire(asyncio.get_running_loop().time() + ACQUIRE_SECONDS)
        try:
            return await self._standby.run(self._checked, query, *arguments, **named)
        except UnfitError:
            self._standby.drop_idle()  # the next connection may find a better server
            raise
        finally:
            self._standby.release()

    async def _checked(
        self,
        connection: asyncpg.Connection,
        query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        /,
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        """A connection lives on when its server is promoted or stops replaying: it is asked."""
        marks = tuple(self._marks)
        state = await state_of(connection, marks)
        reason = obstacle(state, marks, asyncio.get_running_loop().time())
        if reason is not None:
            raise UnfitError(reason)
        return await query(connection, *arguments, **named)

    def _refuse(self, error: Exception) -> None:
        """The primary is read until a look finds the standby fit again; says so now and then."""
        self._is_fit = False
        now = asyncio.get_running_loop().time()
        if str(error) == NOT_YET:
            return
        if self._warned_at is None or now - self._warned_at >= WARN_EVERY_SECONDS:
            self._warned_at = now
            log.warning("the standby for reads is not used, the primary is: %s", _reason(error))


def _is_unfit(error: Exception) -> bool:
    return isinstance(error, UnfitError | UnavailableError) or is_lost(error)


def _reason(error: Exception) -> str:
    if isinstance(error, UnfitError | UnavailableError):
        return str(error)
    if is_lost(error):
        return "the connection to it was lost"
    return " ".join(str(error).split())


async def _nothing(connection: asyncpg.Connection) -> None:
    """All that is asked has been asked before."""
