"""Writes the changes of a batch by one statement, with a branch for each table."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import asyncpg

from laari.rules.tables import Additions, K, Lookup, R, Rows, Table
from laari.rules.world import REGISTRY, Registered, World
from laari.store.outbox.deliveries import saving_events
from laari.store.tables import (
    EVENTS,
    KeptChanges,
    KeyedStatements,
    Statements,
)

# A statement that writes the rows of the parameter with this number.
_Write: TypeAlias = Callable[[int], str]

_Branch: TypeAlias = tuple[_Write, str]  # with its parameter


def writing(world: World) -> list[str]:
    """The statement that writes everything or nothing, and its values; empty without changes.

    Values that cannot be encoded fail here, before anything is sent.
    """
    writes, values = [], []
    held = vars(world)  # of most tables a batch has nothing
    for name, branches in _BRANCHES:
        if name in held:
            for write, given in branches(held[name]):
                writes.append(write)
                values.append(given)
    if world.events:
        values.append(EVENTS.encode(world.events))
    return [_statement(tuple(writes), bool(world.events)), *values] if values else []


async def save(connection: asyncpg.Connection, world: World) -> None:
    statement = writing(world)
    if statement:
        await connection.execute(*statement)


def _rows(table: Table[K, R]) -> Callable[[Rows[K, R]], list[_Branch]]:
    statements = KeyedStatements(table)
    changes = KeptChanges(table) if table.kept else None

    def branches(rows: Rows[K, R]) -> list[_Branch]:
        found: list[_Branch] = []
        if rows.added:
            found.append((statements.add, statements.encode(rows.added.values())))
        if rows.changed:
            found.append((statements.update, statements.encode_changes(rows.changed.values())))
        if rows.removed:
            found.append((statements.delete, statements.encode_keys(rows.removed.values())))
        if found and changes is not None:
            written = [*rows.added.items(), *rows.changed.items()]
            pairs = [(rows.before(key), row) for key, row in written]
            found.append((changes.insert, changes.encode(pairs)))
        return found

    return branches


def _additions(journal: Additions[R]) -> Callable[[list[R]], list[_Branch]]:
    statements = Statements(journal)
    changes = KeptChanges(journal) if journal.kept else None

    def branches(rows: list[R]) -> list[_Branch]:
        if not rows:
            return []
        added: list[_Branch] = [(statements.insert, statements.encode(rows))]
        if changes is not None:
            added.append((changes.insert, changes.encode((None, row) for row in rows)))
        return added

    return branches


def _branches(each: Registered) -> Callable[[Any], list[_Branch]]:
    match each:
        case Table():
            return _rows(each)
        case Additions():
            return _additions(each)
        case Lookup():
            raise TypeError(f"{each.name} is only read")


# In the order of the registry: two batches that meet in unique indexes never wait for each other.
# Events come last, with their deliveries.
_BRANCHES: list[tuple[str, Callable[[Any], list[_Branch]]]] = [
    (each.name, _branches(each))
    for each in REGISTRY
    if not isinstance(each, Lookup) and each is not World.events
]


@lru_cache(maxsize=256)
def _statement(writes: tuple[_Write, ...], has_events: bool) -> str:
    branches = [f"w{number} AS ({write(number)})" for number, write in enumerate(writes, 1)]
    end = "SELECT"
    if has_events:
        events, end = saving_events(len(writes) + 1)
        branches.append(events)
    return f"WITH {', '.join(branches)} {end}"
