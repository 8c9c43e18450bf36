"""Compares the master key with the database at every start: a wrong key must write no secrets."""

import hmac
from contextlib import suppress
from datetime import datetime

import asyncpg
from asyncpg import Connection

from laari.store.postgres.pool import connection_to
from laari.store.secrets import MasterKeyError, derive

PROVE_SECONDS = 10.0  # a few rows are read; a server that has gone silent holds up no start

_STORED = "SELECT master_key_check FROM installation"


async def prove_master_key(dsn: str, master_key: bytes, named: str) -> None:
    """Refuses a key that is not this database's; `named` says where it came from."""
    check = derive(master_key, "installation check", "")
    async with connection_to(dsn, PROVE_SECONDS) as connection:
        known = await connection.fetchval(_STORED)
        if known is None:
            with suppress(asyncpg.ReadOnlySQLTransactionError):  # one that may write stores it
                await connection.execute(
                    "INSERT INTO installation (master_key_check) VALUES ($1) "
                    "ON CONFLICT DO NOTHING",
                    check,
                )
            known = await connection.fetchval(_STORED)  # of two at once the first stays
    if known is not None and not hmac.compare_digest(known, check):
        raise MasterKeyError(
            f"{named} is not the master key that this database was made with: use that one"
        )


async def note_public_url(connection: Connection, url: str) -> None:
    """For commands that do not know the address of the service."""
    await connection.execute(
        "UPDATE installation SET public_url = $1 WHERE public_url IS DISTINCT FROM $1", url
    )


async def known_public_url(connection: Connection) -> str | None:
    url: str | None = await connection.fetchval("SELECT public_url FROM installation")
    return url


async def note_backup(connection: Connection) -> datetime:
    """For the health page and the metrics."""
    at: datetime = await connection.fetchval(
        "UPDATE installation SET last_backup_at = now() RETURNING last_backup_at"
    )
    return at


async def note_audit(connection: Connection, ok: bool) -> None:
    with suppress(asyncpg.ReadOnlySQLTransactionError):
        await connection.execute(
            "UPDATE installation SET last_audit_at = now(), last_audit_ok = $1", ok
        )
