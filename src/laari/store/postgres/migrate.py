"""Numbered migrations: `migrations/NNNN_name.sql`, applied in order, one transaction each."""

import hashlib
import math
import re
from pathlib import Path
from typing import NamedTuple

import asyncpg
from asyncpg import Connection

from laari.errors import LaariError
from laari.store.postgres.pool import connection_to

FOLDER = Path(__file__).parents[1] / "migrations"
LOOK_SECONDS = 5.0  # to read the version; a running migration does not block it
ADVISORY_LOCK = 0x6C61617269  # "laari": one migration at a time in a database

_FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql", re.ASCII)


class MigrationError(LaariError):
    """The database's schema does not fit this version of the code."""


class Migration(NamedTuple):
    version: int
    name: str
    sql: str

    @property
    def digest(self) -> bytes:
        """Of its file: a schema that an edited file made is another one, under the same name."""
        return hashlib.sha256(self.sql.encode()).digest()


class Applied(NamedTuple):
    """A migration that the database has."""

    name: str
    digest: bytes | None  # null in databases of 0.1, which kept none


def known_migrations(folder: Path = FOLDER) -> list[Migration]:
    found = []
    for path in sorted(folder.glob("*.sql")):
        named = _FILE_NAME.fullmatch(path.name)
        if named is None:
            raise MigrationError(f"{path} is not named like a migration: NNNN_name.sql")
        found.append(Migration(int(named[1]), named[2], path.read_text()))
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationError(f"the migrations in {folder} are not numbered one by one from 0001")
    return found


async def migrate(dsn: str, folder: Path = FOLDER) -> tuple[int, int]:
    """Brings the schema to this version; returns the versions before and after."""
    known = known_migrations(folder)
    async with connection_to(dsn, math.inf) as connection:  # a migration may take its time
        # Held until the connection closes: the second process finds the work done.
        await connection.execute("SELECT pg_advisory_lock($1)", ADVISORY_LOCK)
        before = _compare(await _applied(connection), known)
        if before == 0:
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS schema_migrations ("
                "version bigint PRIMARY KEY, name text NOT NULL, digest bytea NOT NULL, "
                "applied_at timestamptz NOT NULL DEFAULT now())"
            )
        for migration in known[before:]:
            await _apply(connection, migration)
        return before, len(known)


async def schema_version(dsn: str) -> int:
    """The version of the database's schema; 0 if there is none yet."""
    return len(await _applied_in(dsn))


async def check(dsn: str) -> None:
    """Refuses a schema that is older or newer than this code."""
    known = known_migrations()
    version = _compare(await _applied_in(dsn), known)
    if version < len(known):
        raise MigrationError(
            f"the database schema is at version {version} and this version of Laari needs "
            f"{len(known)}: run `laari migrate`"
        )


async def _apply(connection: Connection, migration: Migration) -> None:
    try:
        async with connection.transaction():
            await connection.execute(migration.sql)
            await connection.execute(
                "INSERT INTO schema_migrations (version, name, digest) VALUES ($1, $2, $3)",
                migration.version,
                migration.name,
                migration.digest,
            )
    except asyncpg.PostgresError as error:
        raise MigrationError(
            f"migration {migration.version:04}_{migration.name} failed and was undone: {error}"
        ) from error


async def _applied_in(dsn: str) -> list[Applied]:
    async with connection_to(dsn, LOOK_SECONDS) as connection:
        return await _applied(connection)


async def _applied(connection: Connection) -> list[Applied]:
    """The migrations that the database has, in order."""
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return []
    rows = await connection.fetch(  # as JSON, because a database of 0.1 lacks the column
        "SELECT name, (to_jsonb(m) ->> 'digest')::bytea AS digest FROM schema_migrations m "
        "ORDER BY version"
    )
    return [Applied(**row) for row in rows]


def _compare(applied: list[Applied], known: list[Migration]) -> int:
    """The version of the database, which has no migration that this code does not know."""
    for migration, (name, digest) in zip(known, applied, strict=False):
        if (migration.name, migration.digest) != (name, digest):
            other = f"another {name}" if name == migration.name else f"{name}, not {migration.name}"
            raise MigrationError(
                f"the database was made by an unreleased version of Laari: its migration "
                f"{migration.version} is {other}"
            )
    if len(applied) > len(known):
        raise MigrationError(
            f"the database schema is at version {len(applied)}, newer than the {len(known)} that "
            "this version of Laari knows: upgrade Laari"
        )
    return len(applied)
