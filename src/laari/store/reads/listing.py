"""Newest-first pages of a table by keyset: a deep page costs no more than the first.

If a condition is not in the index, a page may be short or empty while more rows remain.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from asyncpg import Connection

from laari.rules.records.authorizations import Authorization
from laari.rules.records.events import Event
from laari.rules.records.payments import Payment, PaymentRequest, Refund
from laari.rules.records.payouts import Payout
from laari.store.tables import Statements

Listed: TypeAlias = Payment | PaymentRequest | Authorization | Event | Refund | Payout
R = TypeVar("R", bound=Listed)

_ORDER = "ORDER BY created_at DESC, id DESC"

MAX_SCANNED = 2_000  # rows that one page reads if most do not match


class Position(NamedTuple):
    """A place in a listing; rows older than it come next."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True)
class Walk:
    """Columns that equal a value, found by an index, and a condition that is checked.

    `found` is SQL that an index serves too, with `{}` in place of each of its typed values. `keep`
    is SQL with `{name}` in place of each of `values`.
    """

    equal: dict[str, object]
    keep: str | None = None
    values: dict[str, object] = field(default_factory=dict)
    found: tuple[str, list[tuple[str, object]]] | None = None


@dataclass(frozen=True)
class Window:
    limit: int
    after: Position | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


@dataclass(frozen=True)
class Listing(Generic[R]):
    """A requested page: the walks that find its rows, and its window."""

    table: Statements[R]
    walks: Sequence[Walk]
    window: Window

    @property
    def owner(self) -> object:
        """The first column of every index that is walked."""
        return next(iter(self.walks[0].equal.values()))

    @property
    def is_plain(self) -> bool:
        """Whether no walk has a condition to check."""
        return all(walk.keep is None for walk in self.walks)


@dataclass(slots=True)
class Found(Generic[R]):
    """A page. Equal plain pages that are read at the same time are the same object."""

    rows: Sequence[R]
    next: Position | None  # None if nothing older remains
    shown: bytes | None = field(default=None, compare=False)  # made by one of them, for all


async def page(connection: Connection, listing: Listing[R]) -> Found[R]:
    """The newest `limit` rows of all walks together, and where to go on.

    One snapshot: a row that changes between two statements could be missed.
    """
    window = listing.window
    rows: list[R] = []
    cut: Position | None = None  # rows older than this may be missing: a walk stopped there
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        for walk in listing.walks:
            found, stopped = await _walk(connection, listing.table, walk, window)
            rows += found
            if stopped is not None and (cut is None or stopped > cut):
                cut = stopped
    if len(listing.walks) > 1:
        rows.sort(key=_position, reverse=True)
    if cut is not None:
        rows = [row for row in rows if _position(row) >= cut]
    return _cut(rows, window, cut)


def _cut(rows: list[R], window: Window, cut: Position | None = None) -> Found[R]:
    if len(rows) > window.limit:
        rows = rows[: window.limit]
        return Found(rows, _position(rows[-1]))
    return Found(rows, cut)


def _position(row: Listed) -> Position:
    return Position(row.created_at, row.id)


async def _walk(
    connection: Connection, table: Statements[R], walk: Walk, window: Window
) -> tuple[list[R], Position | None]:
    """Up to limit + 1 rows of one walk, and its position if it stopped after MAX_SCANNED rows."""
    conditions, _, values = conditions_of(table, walk, window)
    where = _where(conditions, [f"${number}" for number in range(1, len(values) + 1)])
    limit = _limit(window)
    if walk.keep is None:
        found = await connection.fetch(f"{table.select} {where} {limit}", *values)
        return [table.read(row) for row in found], None
    kept = {name: f"${number}" for number, name in enumerate(walk.values, len(values) + 1)}
    found = await connection.fetch(
        f"SELECT * FROM ({table.select} {where} LIMIT {MAX_SCANNED}) AS walked "
        f"WHERE {walk.keep.format_map(kept)} {_ORDER} {limit}",
        *values,
        *walk.values.values(),
    )
    rows = [table.read(row) for row in found]
    if len(rows) > window.limit:
        return rows, None
    end = await connection.fetchrow(
        f"SELECT created_at, id FROM {table.name} {where} OFFSET {MAX_SCANNED - 1} LIMIT 1", *values
    )
    return rows, None if end is None else Position(end["created_at"], end["id"])


def conditions_of(
    table: Statements[R], walk: Walk, window: Window
) -> tuple[list[str], list[str], list[object]]:
    """Conditions with `{}` in place of each value, the types of the values, and the values."""
    conditions = [f"{column} = {{}}" for column in walk.equal]
    kinds = [table.types[column] for column in walk.equal]
    values = list(walk.equal.values())
    if walk.found is not None:
        condition, typed = walk.found
        conditions.append(condition)
        kinds += [kind for kind, _ in typed]
        values += [value for _, value in typed]
    if window.after is not None:
        conditions.append("(created_at, id) < ({}, {})")
        kinds += ["timestamptz", "uuid"]
        values += window.after
    bounds = {"created_at >= {}": window.created_from, "created_at < {}": window.created_to}
    for condition, moment in bounds.items():
        if moment is not None:
            conditions.append(condition)
            kinds.append("timestamptz")
            values.append(moment)
    return conditions, kinds, values


def _where(conditions: list[str], names: Iterable[str]) -> str:
    return f"WHERE {' AND '.join(conditions)} {_ORDER}".format(*names)


def _limit(window: Window) -> str:
    # Written out: a plan for a number not yet known would be one for many rows.
    return f"LIMIT {window.limit + 1}"


async def plain_pages(connection: Connection, listings: Sequence[Listing[R]]) -> list[Found[R]]:
    """Pages of the same form share one statement, and equal pages are read once."""
    forms: dict[str, dict[tuple[object, ...], Listing[R]]] = {}
    asked = [(_plain_statement(listing), listing) for listing in listings]
    for (statement, values), listing in asked:
        forms.setdefault(statement, {})[values] = listing
    found: dict[tuple[str, tuple[object, ...]], Found[R]] = {}
    for statement, pages in forms.items():
        rows: list[list[R]] = [[] for _ in pages]
        read = next(iter(pages.values())).table.record
        for row in await connection.fetch(statement, *zip(*pages, strict=True)):
            rows[row[-1] - 1].append(read(*row[:-1]))
        for (values, listing), page_rows in zip(pages.items(), rows, strict=True):
            found[statement, values] = _cut(page_rows, listing.window)
    return [found[key] for key, _ in asked]


def _plain_statement(listing: Listing[R]) -> tuple[str, tuple[object, ...]]:
    """The rows of any number of pages of this form, each with its page number."""
    table, window = listing.table, listing.window
    given: dict[tuple[str, object], str] = {}  # what the walks have in common is handed over once
    parts = []
    for walk in listing.walks:
        conditions, kinds, values = conditions_of(table, walk, window)
        names = [
            given.setdefault(pair, f"value{len(given) + 1}")
            for pair in zip(kinds, values, strict=True)
        ]
        parts.append(f"{table.select} {_where(conditions, names)} {_limit(window)}")
    rows = parts[0]
    if len(parts) > 1:
        rows = f"({') UNION ALL ('.join(parts)}) {_ORDER} {_limit(window)}"
    arrays = ", ".join(f"${number}::{kind}[]" for number, (kind, _) in enumerate(given, 1))
    statement = (
        f"SELECT found.*, page_number FROM unnest({arrays}) WITH ORDINALITY "
        f"AS asked ({', '.join(given.values())}, page_number) "
        f"CROSS JOIN LATERAL ({rows}) AS found "
        "ORDER BY page_number, created_at DESC, id DESC"
    )
    return statement, tuple(value for _, value in given)
