"""Newest-first pages of a table by keyset: a deep page costs what the first one costs.

A walk goes backwards along one index. Where a condition is not part of the index, a walk looks at
a bounded number of rows; the page may then be short or empty while more remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

import asyncpg
from msgspec import Struct

from laari.store.tables import Table

R = TypeVar("R", bound=Struct)

MAX_SCANNED = 2_000  # rows one page looks at where most of them do not match


class Position(NamedTuple):
    """A place in a listing; rows older than it come next."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True)
class Walk:
    """Columns that must equal a value, served by an index, and a condition that is not.

    `keep` is SQL with `{name}` where a value of `values` belongs.
    """

    equal: dict[str, Any]
    keep: str | None = None
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Window:
    """Which part of a listing is asked for."""

    limit: int
    after: Position | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


class Found(NamedTuple, Generic[R]):
    rows: list[R]
    next: Position | None  # None where nothing older remains


async def page(
    connection: asyncpg.Connection, table: Table[R], walks: Sequence[Walk], window: Window
) -> Found[R]:
    """The newest `limit` rows of all walks together, and where to go on."""
    rows: list[R] = []
    cut: Position | None = None  # rows older than this may be missing: a walk stopped there
    for walk in walks:
        found, stopped = await _walk(connection, table, walk, window)
        rows += found
        if stopped is not None and (cut is None or stopped > cut):
            cut = stopped
    if len(walks) > 1:
        rows.sort(key=_position, reverse=True)
    if cut is not None:
        rows = [row for row in rows if _position(row) >= cut]
    if len(rows) > window.limit:
        rows = rows[: window.limit]
        return Found(rows, _position(rows[-1]))
    return Found(rows, cut)


def _position(row: Any) -> Position:
    return Position(row.created_at, row.id)


async def _walk(
    connection: asyncpg.Connection, table: Table[R], walk: Walk, window: Window
) -> tuple[list[R], Position | None]:
    """Up to limit + 1 rows of one walk, and where it stopped for having looked at enough."""
    values: list[Any] = []

    def put(value: Any) -> str:
        values.append(value)
        return f"${len(values)}"

    conditions = [f"{column} = {put(value)}" for column, value in walk.equal.items()]
    if window.after is not None:
        conditions.append(
            f"(created_at, id) < ({put(window.after.created_at)}, {put(window.after.id)})"
        )
    if window.created_from is not None:
        conditions.append(f"created_at >= {put(window.created_from)}")
    if window.created_to is not None:
        conditions.append(f"created_at < {put(window.created_to)}")
    order = "ORDER BY created_at DESC, id DESC"
    where = f"WHERE {' AND '.join(conditions)} {order}"
    limit = f"LIMIT {window.limit + 1}"  # written out: the plan is made for few rows, and kept
    if walk.keep is None:
        found = await connection.fetch(f"{table.select} {where} {limit}", *values)
        return [table.read(row) for row in found], None
    walked = list(values)
    keep = walk.keep.format_map({name: put(value) for name, value in walk.values.items()})
    found = await connection.fetch(
        f"SELECT * FROM ({table.select} {where} LIMIT {MAX_SCANNED}) AS walked "
        f"WHERE {keep} {order} {limit}",
        *values,
    )
    rows = [table.read(row) for row in found]
    if len(rows) > window.limit:
        return rows, None
    end = await connection.fetchrow(
        f"SELECT created_at, id FROM {table.name} {where} OFFSET {MAX_SCANNED - 1} LIMIT 1",
        *walked,
    )
    return rows, None if end is None else Position(end["created_at"], end["id"])
