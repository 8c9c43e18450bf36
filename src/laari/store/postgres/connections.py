"""A bounded number of connections, opened when they are needed and again where they were lost."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

import asyncpg
from asyncpg import Connection

from laari.errors import UnavailableError
from laari.spine.engine import OutcomeUnknown
from laari.store.postgres.connect import STALE_SECONDS, close, connect, is_lost
from laari.store.postgres.deadlines import Watch

log = logging.getLogger(__name__)

A = TypeVar("A")

# A function of the store, but for its connection.
Query: TypeAlias = Callable[[Connection], Awaitable[A]]

STATEMENT_SECONDS = 3.0  # the server's own limit
GRACE_SECONDS = 0.5  # so much later the connection is taken for dead
FAIL_FAST_SECONDS = 0.25  # after a connection that could not be made, none is tried
PING_SECONDS = 1.0  # for that trial
_SESSION = {
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",  # each statement has one good plan
}


class ConnectionGroup:
    """A bounded number of connections for one purpose, opened when they are needed.

    asyncpg's own pool ends every use in a task, which takes longer than a look-up. Nothing is reset
    between uses: they are single statements, or transactions that end.
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
        self._permits = asyncio.Semaphore(most)
        self._idle: list[tuple[Connection, float]] = []
        self._used = 0
        self._watch = Watch()
        self._failure: UnavailableError | None = None
        self._failed_at = 0.0

    @property
    def size(self) -> int:
        return self._used + len(self._idle)

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def acquire(self, deadline: float) -> None:
        """Waits for the right to use one connection; `release` ends it."""
        if self._permits.locked():
            try:
                async with asyncio.timeout_at(deadline):
                    await self._permits.acquire()
            except TimeoutError:
                raise UnavailableError("all connections to the database are in use") from None
        else:
            await self._permits.acquire()  # at once
        self._used += 1

    def release(self) -> None:
        self._used -= 1
        self._permits.release()

    async def run(self, query: Query[A]) -> A:
        connection = await self._take()
        self._watch.expect(connection, self.seconds)
        try:
            return await query(connection)
        except asyncio.CancelledError:  # given up in the middle of something
            connection.terminate()
            raise
        except BaseException as error:
            unusable = is_lost(error) or isinstance(error, OutcomeUnknown)
            if unusable or (self._writing and is_read_only(error)):
                connection.terminate()
                self.drop_idle()  # they were made at the same time as this one
            raise
        finally:
            self._watch.done(connection)
            if not connection.is_closed():
                self._idle.append((connection, asyncio.get_running_loop().time()))

    async def _take(self) -> Connection:
        while self._idle:
            connection, since = self._idle.pop()
            if not connection.is_closed() and await self._is_alive(connection, since):
                return connection
        return await self._connect()

    async def _is_alive(self, connection: Connection, since: float) -> bool:
        """Tests a connection that was idle for a while, if a retry is not possible."""
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

    async def _connect(self) -> Connection:
        """Fails at once for a moment after a connection that could not be made."""
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
        """Ends the connections, each when its user is done."""
        for _ in range(self._most):
            await self._permits.acquire()
        while self._idle:
            await close(self._idle.pop()[0])


def is_read_only(error: BaseException) -> bool:
    """The server was a primary once, or refuses writes."""
    return isinstance(error, asyncpg.ReadOnlySQLTransactionError)
