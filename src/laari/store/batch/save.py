"""Writes the changes of a batch by one statement, with a branch for each table."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import asyncpg

from laari.rules.tables import Additions, K, R, Table
from laari.rules.world import REGISTRY, World
from laari.store.reads.deliveries import saving_events
from laari.store.tables import EVENTS, KeyedStatements, Statements

# A statement that writes the rows of the parameter with this number.
_Write: TypeAlias = Callable[[int], str]

_Branch: TypeAlias = tuple[_Write, str]  # with its parameter


def writing(world: World) -> list[str]:
    """The statement that writes everything or nothing, and its values; empty without changes.

    Values that cannot be encoded fail here, before anything is sent.
    """
    writes, values = [], []
    for branches in _BRANCHES:
        for write, given in branches(world):
            writes.append(write)
            values.append(given)
    if world.events:
        values.append(EVENTS.encode(world.events))
    return [_statement(tuple(writes), bool(world.events)), *values] if values else []


async def save(connection: asyncpg.Connection, world: World) -> None:
    statement = writing(world)
    if statement:
        await connection.execute(*statement)


def _rows(table: Table[K, R]) -> Callable[[World], list[_Branch]]:
    statements = KeyedStatements(table)

    def branches(world: World) -> list[_Branch]:
        rows = table.touched(world)
        found: list[_Branch] = []
        if rows is not None and rows.added:
            found.append((statements.add, statements.encode(rows.added.values())))
        if rows is not None and rows.changed:
            found.append((statements.update, statements.encode_changes(rows.changed.values())))
        return found

    return branches


def _additions(journal: Additions[R]) -> Callable[[World], list[_Branch]]:
    statements = Statements(journal)

    def branches(world: World) -> list[_Branch]:
        rows = journal.touched(world)
        return [(statements.insert, statements.encode(rows))] if rows else []

    return branches


# In the order of the registry: two batches that meet in unique indexes never wait for each other.
# Events come last, with their deliveries.
_BRANCHES: list[Callable[[World], list[_Branch]]] = [
    _rows(each) if isinstance(each, Table) else _additions(each)
    for each in REGISTRY
    if isinstance(each, Table | Additions) and each is not World.events
]


@lru_cache(maxsize=256)
def _statement(writes: tuple[_Write, ...], has_events: bool) -> str:
    branches = [f"w{number} AS ({write(number)})" for number, write in enumerate(writes, 1)]
    end = "SELECT"
    if has_events:
        events, end = saving_events(len(writes) + 1)
        branches.append(events)
    return f"WITH {', '.join(branches)} {end}"
