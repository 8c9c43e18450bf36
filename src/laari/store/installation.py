"""What keeps a database and its master key together.

A wrong key would be noticed only by the first secret that does not open, after others have been
written with it. So a value derived from the key stands in the database and is compared whenever
the service is opened.
"""

from __future__ import annotations

import hmac
from contextlib import suppress

import asyncpg

from laari.store.database import connection_to
from laari.store.merchants import open_secret
from laari.store.secrets import MasterKeyError, derive

PROVE_SECONDS = 10.0  # a few rows are read; a server that has gone silent holds up no start


async def prove_master_key(dsn: str, master_key: bytes, named: str) -> None:
    """Refuses a key that is not this database's; `named` says where it came from.

    A database that has no value yet gets this key's, unless a secret in it was made with another.
    """
    check = derive(master_key, "installation check", "")
    async with connection_to(dsn, PROVE_SECONDS) as connection:
        known = await _stored(connection)
        if known is None:
            is_ours = await _opens_what_is_there(connection, master_key)
            if is_ours and await _exists(connection, "installation"):
                await _store(connection, check)
                known = await _stored(connection)  # of two that come first one stays
        else:
            is_ours = True
    if not is_ours or (known is not None and not hmac.compare_digest(known, check)):
        raise MasterKeyError(
            f"{named} is not the master key that this database was made with: use that one"
        )


async def _stored(connection: asyncpg.Connection) -> bytes | None:
    if not await _exists(connection, "installation"):
        return None
    known: bytes | None = await connection.fetchval("SELECT master_key_check FROM installation")
    return known


async def _store(connection: asyncpg.Connection, check: bytes) -> None:
    with suppress(asyncpg.ReadOnlySQLTransactionError):  # a process that may write stores it
        await connection.execute(
            "INSERT INTO installation (master_key_check) VALUES ($1) ON CONFLICT DO NOTHING", check
        )


async def _opens_what_is_there(connection: asyncpg.Connection, master_key: bytes) -> bool:
    """Of a database that is new, or older than the check value."""
    if not await _exists(connection, "merchants"):
        return True
    row = await connection.fetchrow("SELECT id, secret_encrypted FROM merchants LIMIT 1")
    if row is None:
        return True
    try:
        open_secret(master_key, *row)
    except MasterKeyError:
        return False
    return True


async def _exists(connection: asyncpg.Connection, table: str) -> bool:
    return await connection.fetchval("SELECT to_regclass($1)", table) is not None


async def note_public_url(connection: asyncpg.Connection, url: str) -> None:
    """Remembers where the service is reached, for commands that are not told."""
    await connection.execute(
        "UPDATE installation SET public_url = $1 WHERE public_url IS DISTINCT FROM $1", url
    )


async def known_public_url(connection: asyncpg.Connection) -> str | None:
    url: str | None = await connection.fetchval("SELECT public_url FROM installation")
    return url
