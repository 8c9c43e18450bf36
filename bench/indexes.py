"""Tables without their indexes and keys while they are filled: built once, sorted, at the end."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg

STATEMENT_SECONDS = 3600  # of the longest one, with ten million payments on a slow disk


@asynccontextmanager
async def without_indexes(
    connection: asyncpg.Connection, dsn: str, tables: list[str], told: Callable[[str], None]
) -> AsyncIterator[None]:
    """Indexes are built once at the end, sorted, instead of row by row."""
    constraints = await connection.fetch(
        "SELECT conrelid::regclass::text AS held, conname AS name, "
        "'ALTER TABLE ' || conrelid::regclass || ' ADD CONSTRAINT ' || conname || ' ' "
        "|| pg_get_constraintdef(oid) AS definition FROM pg_constraint "
        "WHERE contype IN ('u', 'p', 'f') AND conrelid::regclass::text = ANY($1) "
        # Foreign keys of other tables need the keys they point to.
        "OR contype = 'f' AND confrelid::regclass::text = ANY($1) "
        "ORDER BY contype = 'f', contype = 'u'",
        tables,
    )
    for row in reversed(constraints):
        await connection.execute(f"ALTER TABLE {row['held']} DROP CONSTRAINT {row['name']}")
    indexes = await connection.fetch(
        "SELECT indexname AS name, indexdef AS definition FROM pg_indexes "
        "WHERE schemaname = 'public' AND tablename = ANY($1)",
        tables,
    )
    for row in indexes:
        await connection.execute(f"DROP INDEX {row['name']}")
    yield
    keys = [row["definition"] for row in constraints if "FOREIGN KEY" not in row["definition"]]
    await _build(dsn, [*keys, *(row["definition"] for row in indexes)], told)
    foreign = [d["definition"] for d in constraints if "FOREIGN KEY" in d["definition"]]
    await _build(dsn, foreign, told)


async def _build(dsn: str, definitions: list[str], told: Callable[[str], None]) -> None:
    """One after another on one connection: each build already uses a second process."""
    settings = {
        "maintenance_work_mem": "1GB",
        "max_parallel_maintenance_workers": "1",
        "synchronous_commit": "off",
    }
    connection = await asyncpg.connect(dsn, server_settings=settings)
    try:
        for definition in definitions:
            await connection.execute(definition, timeout=STATEMENT_SECONDS)
            told(name_of(definition))
    finally:
        await connection.close()


def name_of(statement: str) -> str:
    """What a statement makes, in short."""
    found = re.search(r"(?:INSERT INTO|INDEX|CONSTRAINT) (\S+)", statement)
    return statement if found is None else found[1]
