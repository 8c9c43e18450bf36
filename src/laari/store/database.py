"""Connections to PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Concatenate, ParamSpec, TypeVar

import asyncpg

A = TypeVar("A")
P = ParamSpec("P")

READ_CONNECTIONS = 6  # per process; look-ups are coalesced, so listings are what uses more than one
_READING = {
    "statement_timeout": "30s",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",  # each statement has one good plan
}
READY_SECONDS = 2  # a database that takes longer to say anything is not ready for requests


async def _prepare(connection: asyncpg.Connection) -> None:
    # Sums that pass 2^63 are exact Python integers here, never Decimal or float.
    await connection.set_type_codec(
        "numeric", schema="pg_catalog", encoder=str, decoder=int, format="text"
    )


async def connect(dsn: str, **settings: str) -> asyncpg.Connection:
    connection = await asyncpg.connect(
        dsn, server_settings={"application_name": "laari", **settings}
    )
    await _prepare(connection)
    return connection


@asynccontextmanager
async def connection_to(dsn: str, **settings: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(dsn, **settings)
    try:
        yield connection
    finally:
        await connection.close()


class Pool:
    """Connections kept open, each lent to one function of the store at a time.

    asyncpg's own pool ends every loan in a task of its own, which takes longer than a look-up.
    Nothing is reset between loans: what runs here are single statements, or transactions that end.
    """

    def __init__(self, dsn: str, most: int) -> None:
        self._dsn = dsn
        self._most = most
        self._places = asyncio.Semaphore(most)
        self._idle: list[asyncpg.Connection] = []
        self._lent = 0

    @property
    def size(self) -> int:
        return self._lent + len(self._idle)

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def run(
        self,
        query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        """Runs a query on a connection; once more where the connection was lost.

        After a restart of the database every connection is a broken one that looks whole.
        """
        async with self._places:
            self._lent += 1
            try:
                return await self._lend(query, *arguments, **named)
            except (asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, ConnectionError):
                self._drop_idle()
                return await self._lend(query, *arguments, **named)
            finally:
                self._lent -= 1

    async def _lend(
        self,
        query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        connection = self._kept() or await connect(self._dsn, **_READING)
        try:
            return await query(connection, *arguments, **named)
        except asyncio.CancelledError:  # given up in the middle of something
            connection.terminate()
            raise
        finally:
            if not connection.is_closed():
                self._idle.append(connection)

    def _kept(self) -> asyncpg.Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().terminate()

    async def close(self) -> None:
        """Ends the connections, each when whoever has it is done."""
        for _ in range(self._most):
            await self._places.acquire()
        while self._idle:
            await self._idle.pop().close()


async def open_pool(dsn: str, most: int = READ_CONNECTIONS) -> Pool:
    """A pool, after a first connection has shown that the database can be reached."""
    pool = Pool(dsn, most)
    await pool.run(_say_something)
    return pool


async def answers(pool: Pool) -> bool:
    """Whether the database can be reached and says something."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await pool.run(_say_something)
    except Exception:
        return False
    return True


async def _say_something(connection: asyncpg.Connection) -> None:
    await connection.execute("SELECT 1")
