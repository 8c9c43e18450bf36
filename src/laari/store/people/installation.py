"""What keeps a database and its master key together.

A wrong key would be noticed only by the first secret that does not open, after others have been
written with it. So a value derived from the key stands in the database and is compared whenever
the service is opened.
"""

import hmac
from contextlib import suppress

import asyncpg
from asyncpg import Connection

from laari.store.postgres.pool import connection_to
from laari.store.secrets import MasterKeyError, derive

PROVE_SECONDS = 10.0  # a few rows are read; a server that has gone silent holds up no start


async def prove_master_key(dsn: str, master_key: bytes, named: str) -> None:
    """Refuses a key that is not this database's; `named` says where it came from.

    A database that has no value yet gets this key's.
    """
    check = derive(master_key, "installation check", "")
    async with connection_to(dsn, PROVE_SECONDS) as connection:
        known = await _stored(connection)
        if known is None:
            with suppress(asyncpg.ReadOnlySQLTransactionError):  # one that may write stores it
                await connection.execute(
                    "INSERT INTO installation (master_key_check) VALUES ($1) "
                    "ON CONFLICT DO NOTHING",
                    check,
                )
            known = await _stored(connection)  # of two that come first one stays
    if known is not None and not hmac.compare_digest(known, check):
        raise MasterKeyError(
            f"{named} is not the master key that this database was made with: use that one"
        )


async def _stored(connection: Connection) -> bytes | None:
    known: bytes | None = await connection.fetchval("SELECT master_key_check FROM installation")
    return known


async def note_public_url(connection: Connection, url: str) -> None:
    """Remembers where the service is reached, for commands that are not told."""
    await connection.execute(
        "UPDATE installation SET public_url = $1 WHERE public_url IS DISTINCT FROM $1", url
    )


async def known_public_url(connection: Connection) -> str | None:
    url: str | None = await connection.fetchval("SELECT public_url FROM installation")
    return url
