"""The kinds of loaders: by the key of a table, and by a query of a look-up."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

import asyncpg

from laari.rules.needs import Needs
from laari.rules.tables import K, Lookup, R, Table, V
from laari.rules.world import World
from laari.store.tables import KeyedStatements

# Loads the rows of one table, locked if a command may change them.
Loader: TypeAlias = Callable[[asyncpg.Connection, Needs, World], Awaitable[None]]


def by_key(table: Table[K, R]) -> Loader:
    """Loads rows by their key."""
    statements = KeyedStatements(table)

    async def load_table(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
        rows, key_of, record = table.of(world), statements.key_of, table.record
        locked = {key for key in needs.locked(table) if not rows.is_locked(key)}
        if locked:
            take = rows.show if table.shared else rows.lock
            given = statements.given_keys(locked)
            for found in await connection.fetch(statements.lock_by_key, *given):
                row = record(*found)
                take(key_of(row), row)
        only_read = needs.only_read(table)
        if only_read:
            given = statements.given_keys(only_read)
            for found in await connection.fetch(statements.read_by_key, *given):
                row = record(*found)
                rows.show(key_of(row), row)

    return load_table


def by_query(
    lookup: Lookup[K, V],
    query: Callable[[asyncpg.Connection, Collection[K]], Awaitable[Mapping[K, V]]],
) -> Loader:
    """Loads all keys with one query, which leaves out what it does not find."""

    async def load_lookup(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
        lookup.of(world).update(await query(connection, needs.only_read(lookup)))

    return load_lookup


def by_query_for_each(
    lookup: Lookup[K, V], query: Callable[[asyncpg.Connection, K], Awaitable[V]]
) -> Loader:
    """Loads each key with a query of its own, for keys of which a batch has few."""

    async def load_lookup(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
        for key in needs.only_read(lookup):
            lookup.of(world)[key] = await query(connection, key)

    return load_lookup
