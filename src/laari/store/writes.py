"""What a batch has decided, written by one statement with a branch for each table it touches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import asyncpg

from laari.rules.records import SandboxPeriod
from laari.rules.world import Rows, World
from laari.store.deliveries import saving_events
from laari.store.tables import (
    ACCESS_TOKENS,
    AUTHORIZATIONS,
    CLAIMS,
    CLOCKS,
    EVENTS,
    PAYMENTS,
    REPLAYS,
    REQUESTS,
    SANDBOX_PERIODS,
    SAVED_RESPONSES,
    TOPUP_SLIPS,
    TRANSACTIONS,
    TRANSFERS,
    WALLETS,
    Table,
)

# A statement that writes the rows of the parameter with this number.
_Write: TypeAlias = Callable[[int], str]


def writing(world: World) -> list[str]:
    """The statement that writes everything or nothing, and its values; empty where nothing is new.

    What has no form that can be sent is found here, while nothing has been.
    """
    writes, values = [], []
    for table, write, rows in _decided(world):
        if rows:
            writes.append(write)
            values.append(table.encode(rows))
    if world.events:
        values.append(EVENTS.encode(world.events))
    return [_statement(tuple(writes), bool(world.events)), *values] if values else []


async def save(connection: asyncpg.Connection, world: World) -> None:
    statement = writing(world)
    if statement:
        await connection.execute(*statement)


def _decided(world: World) -> Iterator[tuple[Table[Any], _Write, Collection[Any]]]:
    """In one order for every batch: two that meet in unique indexes must not wait crosswise."""
    states: list[tuple[Table[Any], Rows[Any, Any]]] = [
        (CLOCKS, world.clocks),
        (CLAIMS, world.claims),
        (PAYMENTS, world.payments),
        (REQUESTS, world.requests),
        (AUTHORIZATIONS, world.authorizations),
        (WALLETS, world.wallets),
    ]
    for table, rows in states:
        yield table, table.insert, rows.added.values()
        yield table, table.update, rows.changed.values()
    # Whoever puts a period aside holds the lock on its owner's row.
    aside = [SandboxPeriod(*key, spent) for key, spent in world.put_aside.items()]
    yield SANDBOX_PERIODS, SANDBOX_PERIODS.upsert, aside
    yield TOPUP_SLIPS, TOPUP_SLIPS.insert, world.slips
    yield TRANSFERS, TRANSFERS.insert, world.transfers
    yield TRANSACTIONS, TRANSACTIONS.insert, world.transactions
    yield ACCESS_TOKENS, ACCESS_TOKENS.insert, world.access_tokens
    # Whoever answers under a key holds its lock, so what was counted here is what is stored.
    yield REPLAYS, REPLAYS.update, world.saved_responses.changed.values()
    yield SAVED_RESPONSES, SAVED_RESPONSES.upsert, world.saved_responses.added.values()


@lru_cache(maxsize=256)
def _statement(writes: tuple[_Write, ...], has_events: bool) -> str:
    branches = [f"w{number} AS ({write(number)})" for number, write in enumerate(writes, 1)]
    end = "SELECT"
    if has_events:
        events, end = saving_events(len(writes) + 1)
        branches.append(events)
    return f"WITH {', '.join(branches)} {end}"
