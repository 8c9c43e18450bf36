"""Connections to PostgreSQL that are kept, lent to one function of the store at a time.

Nothing asked here waits without a bound, and nothing that may have been committed is done again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

import asyncpg

from laari.errors import LaariError, UnavailableError
from laari.spine.engine import OutcomeUnknown
from laari.store.connect import STALE_SECONDS, close, connect, is_lost, prove_writable
from laari.store.watch import Watch

log = logging.getLogger(__name__)

A = TypeVar("A")
P = ParamSpec("P")

# What functions of the store are handed; the name by which other rooms know it.
Connection: TypeAlias = asyncpg.Connection

READ_CONNECTIONS = 6  # per process; look-ups are coalesced, so listings are what uses more than one
WRITE_CONNECTIONS = 2  # per process, for what is not money: sessions, keys, windows
STATEMENT_SECONDS = 3.0  # the server's own limit
GRACE_SECONDS = 0.5  # so much later the connection is taken for dead
# A function that found its connection dead has so much left to connect and try another one.
SECOND_TRY_SECONDS = 2.5
FAIL_FAST_SECONDS = 0.25  # after a connection that could not be made, none is tried
PING_SECONDS = 1.0  # for that trial
PLACE_SECONDS = 2.0  # to wait for a connection to write on
OPERATION_SECONDS = 60.0  # one command of the command line
_SESSION = {
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",  # each statement has one good plan
}
READY_SECONDS = 2.0  # a database that takes longer to commit is not ready for requests
PROBE_EVERY_SECONDS = 1.0

_LOST = "the connection to the database was lost: what was being written may or may not be done"


@asynccontextmanager
async def connection_to(
    dsn: str, seconds: float = OPERATION_SECONDS, **settings: str
) -> AsyncIterator[asyncpg.Connection]:
    """A connection of one's own, for so long at most."""
    connection = await connect(dsn, settings)
    watch = Watch()
    watch.expect(connection, seconds)
    try:
        yield connection
    except asyncpg.ReadOnlySQLTransactionError:
        raise UnavailableError("the database cannot be written: it is read-only") from None
    except Exception as error:
        if is_lost(error):
            raise LaariError(_LOST) from error
        raise
    finally:
        watch.done(connection)
        await close(connection)


class _Lane:
    """Connections for one purpose.

    asyncpg's own pool ends every loan in a task of its own, which takes longer than a look-up.
    Nothing is reset between loans: what runs here are single statements, or transactions that end.
    """

    def __init__(self, dsn: str, most: int, seconds: float, *, writing: bool) -> None:
        self._dsn = dsn
        self._most = most
        self._writing = writing
        # A write cannot be repeated, and what may take long would be waited for as long in vain.
        self._tries_first = writing or seconds > STATEMENT_SECONDS
        self._settings = _SESSION | {"statement_timeout": f"{int(seconds * 1000)}ms"}
        if not writing:
            self._settings["default_transaction_read_only"] = "on"
        self.seconds = seconds + GRACE_SECONDS
        self._places = asyncio.Semaphore(most)
        self._idle: list[tuple[asyncpg.Connection, float]] = []
        self._lent = 0
        self._watch = Watch()
        self._failure: UnavailableError | None = None
        self._failed_at = 0.0

    @property
    def size(self) -> int:
        return self._lent + len(self._idle)

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def enter(self, deadline: float) -> None:
        """Takes one of the places, each of which has a connection at most."""
        if self._places.locked():
            try:
                async with asyncio.timeout_at(deadline):
                    await self._places.acquire()
            except TimeoutError:
                raise UnavailableError("all connections to the database are in use") from None
        else:
            await self._places.acquire()  # at once
        self._lent += 1

    def leave(self) -> None:
        self._lent -= 1
        self._places.release()

    async def lend(
        self,
        query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        connection = await self._take()
        self._watch.expect(connection, self.seconds)
        try:
            return await query(connection, *arguments, **named)
        except asyncio.CancelledError:  # given up in the middle of something
            connection.terminate()
            raise
        except BaseException as error:
            unusable = is_lost(error) or isinstance(error, OutcomeUnknown)
            if unusable or (self._writing and _is_read_only(error)):
                connection.terminate()
                self.drop_idle()  # they were made at the same time as this one
            raise
        finally:
            self._watch.done(connection)
            if not connection.is_closed():
                self._idle.append((connection, asyncio.get_running_loop().time()))

    async def _take(self) -> asyncpg.Connection:
        while self._idle:
            connection, since = self._idle.pop()
            if not connection.is_closed() and await self._is_alive(connection, since):
                return connection
        return await self._connect()

    async def _is_alive(self, connection: asyncpg.Connection, since: float) -> bool:
        """Asks first, where it matters, on a connection that was not used for a while."""
        if not self._tries_first or asyncio.get_running_loop().time() - since < STALE_SECONDS:
            return True
        try:
            with self._watch.bound(connection, PING_SECONDS):
                await connection.execute("SELECT")
        except BaseException as error:
            connection.terminate()
            if is_lost(error):
                self.drop_idle()
                return False
            raise
        return True

    async def _connect(self) -> asyncpg.Connection:
        """A new connection; while none can be made, most hear of it without trying themselves."""
        loop = asyncio.get_running_loop()
        if self._failure is not None and loop.time() - self._failed_at < FAIL_FAST_SECONDS:
            raise UnavailableError(str(self._failure))
        try:
            connection = await connect(self._dsn, self._settings, writing=self._writing)
        except UnavailableError as error:
            if self._failure is None:
                log.warning("no connection to the database: %s", error)
            self._failure, self._failed_at = error, loop.time()
            raise
        if self._failure is not None:
            self._failure = None
            log.warning("the database is back")
        return connection

    def drop_idle(self) -> None:
        while self._idle:
            self._idle.pop()[0].terminate()

    async def close(self) -> None:
        """Ends the connections, each when whoever has it is done."""
        for _ in range(self._most):
            await self._places.acquire()
        while self._idle:
            await close(self._idle.pop()[0])


def _is_read_only(error: BaseException) -> bool:
    """The server was a primary once, or has been told to take no writes."""
    return isinstance(error, asyncpg.ReadOnlySQLTransactionError)


class Pool:
    """Reads and writes, each on connections of their own: those for reads refuse to write."""

    def __init__(
        self,
        dsn: str,
        most: int = READ_CONNECTIONS,
        writers: int = WRITE_CONNECTIONS,
        seconds: float = STATEMENT_SECONDS,
    ) -> None:
        self._reading = _Lane(dsn, most, seconds, writing=False)
        self._writing = _Lane(dsn, writers, seconds, writing=True)
        self._probe: asyncio.Task[bool] | None = None
        self._probed_at = 0.0

    @property
    def size(self) -> int:
        """Of the connections for reads."""
        return self._reading.size

    @property
    def idle(self) -> int:
        return self._reading.idle

    async def open(self) -> None:
        """Makes the first connection, which shows that the database can be reached."""
        await self.read(_say_something)

    async def read(
        self,
        query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        """Runs what only reads; once more where its connection was lost.

        After a restart of the database every connection is a broken one that looks whole.
        """
        lane, loop = self._reading, asyncio.get_running_loop()
        deadline = loop.time() + lane.seconds + SECOND_TRY_SECONDS
        await lane.enter(deadline)
        try:
            try:
                return await lane.lend(query, *arguments, **named)
            except Exception as error:
                if not is_lost(error):
                    raise
            async with asyncio.timeout_at(deadline):
                return await lane.lend(query, *arguments, **named)
        except Exception as error:
            _refuse_unavailable(error)
            raise
        finally:
            lane.leave()

    async def write(
        self,
        query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        """Runs what writes as one transaction, once; not for money, which takes the spine."""
        lane = self._writing
        await lane.enter(asyncio.get_running_loop().time() + PLACE_SECONDS)
        try:
            return await lane.lend(_committed, query, *arguments, **named)
        except Exception as error:
            _refuse_unavailable(error)
            _refuse_read_only(error)
            raise
        finally:
            lane.leave()

    async def write_each(
        self,
        query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        """Runs statements that each commit by themselves, where one lost or repeated does no harm.

        They count and clean up: whether one was done nobody needs to know.
        """
        lane = self._writing
        await lane.enter(asyncio.get_running_loop().time() + PLACE_SECONDS)
        try:
            return await lane.lend(query, *arguments, **named)
        except Exception as error:
            _refuse_unavailable(error)
            _refuse_read_only(error)
            raise
        finally:
            lane.leave()

    async def is_writable(self) -> bool:
        """Whether something can be committed: looked at once a second, for all who ask."""
        loop = asyncio.get_running_loop()
        recent = loop.time() - self._probed_at < PROBE_EVERY_SECONDS
        if self._probe is None or (self._probe.done() and not recent):
            self._probed_at = loop.time()
            self._probe = asyncio.create_task(self._look())
        return await asyncio.shield(self._probe)

    async def _look(self) -> bool:
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self.write_each(prove_writable)
        except Exception:
            return False
        return True

    async def close(self) -> None:
        await self._reading.close()
        await self._writing.close()


async def _committed(
    connection: asyncpg.Connection,
    query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
    /,
    *arguments: P.args,
    **named: P.kwargs,
) -> A:
    """All of it as one transaction: what fails before the commit has left nothing behind."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        result = await query(connection, *arguments, **named)
        # A commit of a transaction that has failed is answered with a rollback, and no error.
        await connection.execute("SELECT")
    except BaseException:
        if not connection.is_closed():
            await transaction.rollback()
        raise
    warnings: list[str] = []

    def hear(_connection: asyncpg.Connection, message: asyncpg.PostgresLogMessage) -> None:
        if message.severity_en == "WARNING":
            warnings.append(message.message)

    # A commit that somebody stops from waiting for its standby is done with a warning.
    connection.add_log_listener(hear)
    try:
        await transaction.commit()
    except Exception as error:
        if is_lost(error):
            raise OutcomeUnknown from error
        raise
    finally:
        if not connection.is_closed():
            connection.remove_log_listener(hear)
    if warnings:
        raise OutcomeUnknown("; ".join(warnings))
    return result


def _refuse_unavailable(error: Exception) -> None:
    """Says so where nothing was done and the same may be tried again."""
    if is_lost(error):
        raise UnavailableError("the connection to the database was lost") from error
    if isinstance(error, asyncpg.QueryCanceledError | asyncpg.LockNotAvailableError):
        raise UnavailableError("the database takes too long") from error


def _refuse_read_only(error: Exception) -> None:
    if _is_read_only(error):
        raise UnavailableError("the database cannot be written: it is read-only") from error


async def open_pool(
    dsn: str, most: int = READ_CONNECTIONS, seconds: float = STATEMENT_SECONDS
) -> Pool:
    pool = Pool(dsn, most, seconds=seconds)
    await pool.open()
    return pool


async def check_writable(dsn: str) -> None:
    """Refuses, in one line, a database that nothing can be committed to."""
    await close(await connect(dsn, writing=True))


async def _say_something(connection: asyncpg.Connection) -> None:
    await connection.execute("SELECT 1")
