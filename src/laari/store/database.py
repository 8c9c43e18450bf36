"""Connections to PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import asyncpg

A = TypeVar("A")
P = ParamSpec("P")

Pool: TypeAlias = asyncpg.Pool  # for rooms that hand one on without knowing the database

READ_CONNECTIONS = 6  # per process; look-ups are coalesced, so listings are what uses more than one
STATEMENT_TIMEOUT_MS = 30_000
READY_SECONDS = 2  # a database that takes longer to say anything is not ready for requests


async def _prepare(connection: asyncpg.Connection) -> None:
    # Sums that pass 2^63 are exact Python integers here, never Decimal or float.
    await connection.set_type_codec(
        "numeric", schema="pg_catalog", encoder=str, decoder=int, format="text"
    )


async def _keep(connection: asyncpg.Connection) -> None:
    """Nothing to reset: pooled connections only run single statements, which leave nothing behind.

    A reset would cost a round trip each.
    """


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


async def open_pool(dsn: str, size: int = READ_CONNECTIONS) -> asyncpg.Pool:
    options: dict[str, Any] = {
        "min_size": 1,
        "max_size": size,
        "init": _prepare,
        "reset": _keep,
        "server_settings": {
            "application_name": "laari",
            "statement_timeout": str(STATEMENT_TIMEOUT_MS),
            "jit": "off",
            "plan_cache_mode": "force_generic_plan",  # each statement has one good plan
        },
    }
    return await asyncpg.create_pool(dsn, **options)


async def on_connection(
    pool: asyncpg.Pool,
    query: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
    *arguments: P.args,
    **named: P.kwargs,
) -> A:
    """Runs a query on a connection of the pool; once more where the connection was lost.

    After a restart of the database every pooled connection is a broken one that looks whole.
    """
    try:
        async with pool.acquire() as connection:
            return await query(connection, *arguments, **named)
    except (asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, ConnectionError):
        await pool.expire_connections()
        async with pool.acquire() as connection:
            return await query(connection, *arguments, **named)


async def answers(pool: asyncpg.Pool) -> bool:
    """Whether the database can be reached and says something."""
    try:
        async with pool.acquire(timeout=READY_SECONDS) as connection:
            await connection.execute("SELECT 1", timeout=READY_SECONDS)
    except Exception:
        return False
    return True
