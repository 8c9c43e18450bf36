"""New connections to PostgreSQL; a silent host of the URL must not hide a working one.

Settings are statements: a pooler refuses start-up parameters that it does not know.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg
from asyncpg import Connection

from laari.errors import UnavailableError

CONNECT_SECONDS = 2.0  # for one host: network, authentication, settings and proof
NEXT_HOST_SECONDS = 0.25  # a host that takes longer has company
CLOSE_SECONDS = 1.0
STALE_SECONDS = 1.0  # a connection that was idle for longer is tested before a write
STUCK_COMMIT_SECONDS = 2  # a commit that waits longer for a standby keeps others from trying

# These options notice a lost peer on idle connections, too.
_KEEP_ALIVE = {
    "TCP_KEEPIDLE": 5,  # seconds
    "TCP_KEEPINTVL": 2,  # seconds
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 8000,  # milliseconds until what was sent has to be acknowledged
}
# Statements are short: compiling one, or starting processes for it, takes longer than running it.
_SETTINGS = {"jit": "off", "max_parallel_workers_per_gather": "0"}
_PRIMARY = ("any", "primary", "read-write")  # allowed in a URL: all mean a primary here

# Why nothing can be committed. If one of our backends has waited long for a standby, the next one
# would only wait beside it: dropping a connection does not end its commit.
_OBSTACLE = f"""
SELECT CASE
    WHEN current_setting('transaction_read_only')::boolean THEN 'it is read-only'
    WHEN EXISTS (
        SELECT FROM pg_stat_activity
        WHERE usename = current_user AND wait_event = 'SyncRep' AND state = 'active'
            AND query_start < clock_timestamp() - interval '{STUCK_COMMIT_SECONDS} seconds'
    ) THEN 'commits wait for a synchronous standby that does not answer'
END
"""
# A commit without a table or a lock. It waits for standbys like any other.
COMMIT_NOTHING = "SELECT pg_logical_emit_message(true, 'laari', '')"


# A pooler knows this one. The page of the person on call reads it (store/reads/health.py).
_STARTING = {"application_name": "laari"}


def name_connections(role: str) -> None:
    """Names the connections that this process makes from now on."""
    _STARTING["application_name"] = f"laari {role} {os.getpid()} {socket.gethostname()}"


class DatabaseUnreachableError(UnavailableError):
    """No usable database at the given address, or it refuses us."""


class Host(NamedTuple):
    """A server of a URL; None means the default of the driver."""

    name: str | None
    port: int | None

    def __str__(self) -> str:
        return self.name or "the database"


# The last primary found, by URL: it is tried first.
_last_found: dict[str, Host] = {}


@lru_cache(maxsize=16)
def hosts_of(dsn: str) -> tuple[Host, ...]:
    parts = urlsplit(dsn)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    attributes = query.get("target_session_attrs", "any")
    if attributes not in _PRIMARY:
        raise DatabaseUnreachableError(
            f"LAARI_DATABASE_URL asks for target_session_attrs={attributes}, and Laari needs "
            "a server that can be written: leave it out"
        )
    listed = parts.netloc.partition("@")[2] if "@" in parts.netloc else parts.netloc
    names = [unquote(each) for each in listed.split(",")] if listed else []
    names = names or [each for each in query.get("host", "").split(",") if each]
    if not names:
        return (Host(None, None),)
    hosts = [_read_host(name) for name in names]
    ports = [int(port) for port in query.get("port", "").split(",") if port]
    if len(ports) not in (0, 1, len(hosts)):
        raise ValueError("as many ports as hosts")
    if ports:
        every = ports * (len(hosts) // len(ports))
        hosts = [Host(h.name, h.port or port) for h, port in zip(hosts, every, strict=True)]
    return tuple(hosts)


def _read_host(text: str) -> Host:
    if text.startswith("/"):  # the directory of a Unix socket
        return Host(text, None)
    if text.startswith("["):
        name, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        name, _, port = text.partition(":")
    return Host(name, int(port) if port else None)


async def connect(
    dsn: str, settings: Mapping[str, str] | None = None, *, writing: bool = False
) -> Connection:
    """A connection to the primary; for `writing` one that has just committed something."""
    settings = settings or {}
    try:
        hosts = list(hosts_of(dsn))
    except ValueError:  # its text may quote a piece of the password
        raise DatabaseUnreachableError("LAARI_DATABASE_URL is not a usable URL") from None
    known = _last_found.get(dsn)
    if known in hosts:
        hosts.remove(known)
        hosts.insert(0, known)
    if len(hosts) == 1:
        return await _connect_to(dsn, hosts[0], settings, writing)
    return await _connect_to_first(dsn, hosts, settings, writing)


async def connect_to_standby(dsn: str) -> Connection:
    """A connection to the only server of a URL, which has to follow a primary."""
    try:
        (host,) = hosts_of(dsn)
    except ValueError:
        raise DatabaseUnreachableError("--standby is not the URL of one server") from None
    return await _connect_to(dsn, host, {}, writing=False, standby=True)


async def _connect_to_first(
    dsn: str, hosts: Sequence[Host], settings: Mapping[str, str], writing: bool
) -> Connection:
    """Tries the hosts in order; the next one starts before the last has failed."""
    left = list(hosts)
    trying: dict[asyncio.Task[Connection], Host] = {}
    reasons: list[str] = []
    try:
        while left or trying:
            if left:
                host = left.pop(0)
                attempt = _connect_to(dsn, host, settings, writing)
                trying[asyncio.create_task(attempt)] = host
            done, _ = await asyncio.wait(
                trying,
                timeout=NEXT_HOST_SECONDS if left else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in done:
                error = task.exception()
                if error is None:
                    _last_found[dsn] = trying.pop(task)
                    return task.result()
                if not isinstance(error, UnavailableError):
                    raise error
                reasons.append(f"{trying.pop(task)}: {error}")
    finally:
        for task in trying:
            task.cancel()
            task.add_done_callback(_end_unwanted)
    raise DatabaseUnreachableError("; ".join(reasons))


def _end_unwanted(task: asyncio.Task[Connection]) -> None:
    """A connection that came too late to be used and too early to be cancelled."""
    if not task.cancelled() and task.exception() is None:
        task.result().terminate()


async def _connect_to(
    dsn: str, host: Host, settings: Mapping[str, str], writing: bool, standby: bool = False
) -> Connection:
    connection: Connection | None = None
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            connection = await asyncpg.connect(
                dsn,
                host=host.name,
                port=host.port,
                target_session_attrs="any",
                server_settings=dict(_STARTING),
            )
            await _prepare(connection, settings, standby)
            if writing:
                await prove_writable(connection)
            return connection
    except BaseException as error:
        if connection is not None:
            connection.terminate()
        raise _explained(error) from None


def _explained(error: BaseException) -> BaseException:
    """The reason in one line without a secret; other errors stay as they are."""
    if isinstance(error, TimeoutError):
        return DatabaseUnreachableError(
            f"the database does not answer within {CONNECT_SECONDS:.0f} seconds"
        )
    if isinstance(error, ValueError):  # its text may quote a piece of the password
        return DatabaseUnreachableError("the URL of the database is not usable")
    if isinstance(
        error,
        OSError | asyncpg.PostgresError | asyncpg.InterfaceError | asyncpg.InternalClientError,
    ):
        reason = " ".join(str(error).split())
        return DatabaseUnreachableError(f"the database cannot be reached: {reason}")
    return error


async def _prepare(connection: Connection, settings: Mapping[str, str], standby: bool) -> None:
    _keep_alive(connection)
    columns = ["pg_is_in_recovery()"]
    every = {**_SETTINGS, **settings}
    columns += [f"set_config('{name}', '{value}', false)" for name, value in every.items()]
    is_standby = await connection.fetchval(f"SELECT {', '.join(columns)}")
    if is_standby and not standby:
        raise DatabaseUnreachableError("the database is a standby, which cannot be written")
    if standby and not is_standby:
        raise DatabaseUnreachableError("--standby names a server that follows no primary")
    # Sums that pass 2^63 are exact Python integers here, never Decimal or float.
    await connection.set_type_codec(
        "numeric", schema="pg_catalog", encoder=str, decoder=int, format="text"
    )


def _keep_alive(connection: Connection) -> None:
    own = connection._transport.get_extra_info("socket")  # asyncpg has no public way to it
    if own is None or own.family == socket.AF_UNIX:
        return
    own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        option = getattr(socket, name, None)  # Linux has them all
        if option is not None:
            own.setsockopt(socket.IPPROTO_TCP, option, value)


async def prove_writable(connection: Connection) -> None:
    """Commits something tiny; the caller limits the time, since a commit may wait forever."""
    obstacle = await connection.fetchval(_OBSTACLE)
    if obstacle is not None:
        raise DatabaseUnreachableError(f"the database cannot be written: {obstacle}")
    await connection.execute(COMMIT_NOTHING)


async def close(connection: Connection) -> None:
    try:
        await connection.close(timeout=CLOSE_SECONDS)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
        connection.terminate()


def is_lost(error: BaseException) -> bool:
    """Whether the connection failed, not the statement."""
    if isinstance(error, ValueError | asyncpg.QueryCanceledError):  # an argument's type; too slow
        return False
    return isinstance(
        error,
        asyncpg.PostgresConnectionError
        | asyncpg.OperatorInterventionError  # shut down, crashed, starting
        | asyncpg.IdleInTransactionSessionTimeoutError
        | asyncpg.InterfaceError
        | asyncpg.InternalClientError
        | OSError,
    )


@asynccontextmanager
async def local_settings(connection: Connection, **settings: str) -> AsyncIterator[None]:
    """Settings for the block; an error in it leaves the transaction usable.

    The savepoint is always rolled back: settings would outlive its release.
    """
    savepoint = connection.transaction()
    await savepoint.start()
    try:
        for name, value in settings.items():
            await connection.execute(f"SET LOCAL {name} = '{value}'")
        yield
    finally:
        await savepoint.rollback()
