"""Cases of customers, with their lines."""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection, Record

from laari.rules.records.people import Case
from laari.rules.records.wallets import Transaction
from laari.store.tables import CASES


class Reported(NamedTuple):
    """A case with its line and the name of its customer."""

    case: Case
    line: Transaction
    name: str


_CASE = [f"s.{field}" for field in Case.__struct_fields__]
_LINE = [f"t.{field}" for field in Transaction.__struct_fields__]
_SELECT = (
    f"SELECT {', '.join([*_CASE, *_LINE])}, c.name FROM cases s "
    "JOIN transactions t ON t.tid = s.tid JOIN customers c ON c.id = s.customer_id"
)


def _read(row: Record) -> Reported:
    *values, name = row
    return Reported(Case(*values[: len(_CASE)]), Transaction(*values[len(_CASE) :]), name)


async def by_id(connection: Connection, case_id: UUID) -> Reported | None:
    row = await connection.fetchrow(f"{_SELECT} WHERE s.id = $1", case_id)
    return None if row is None else _read(row)


async def open_ones(connection: Connection, most: int) -> list[Reported]:
    """The oldest first."""
    rows = await connection.fetch(f"{_SELECT} WHERE s.status = 'open' ORDER BY s.id LIMIT $1", most)
    return [_read(row) for row in rows]


async def answered(connection: Connection, most: int) -> list[Reported]:
    """The last answered first."""
    rows = await connection.fetch(
        f"{_SELECT} WHERE s.status <> 'open' ORDER BY s.answered_at DESC LIMIT $1", most
    )
    return [_read(row) for row in rows]


async def of_customer(connection: Connection, customer_id: UUID, most: int) -> list[Reported]:
    """The newest first."""
    rows = await connection.fetch(
        f"{_SELECT} WHERE s.customer_id = $1 ORDER BY s.id DESC LIMIT $2", customer_id, most
    )
    return [_read(row) for row in rows]


async def by_tid(connection: Connection, tids: Collection[str]) -> dict[str, Case]:
    """The cases of these lines."""
    rows = await connection.fetch(f"{CASES.select} WHERE tid = ANY($1)", list(tids))
    return {case.tid: case for case in map(CASES.read, rows)}


async def open_of(connection: Connection, customer_id: UUID) -> int:
    """The number of the customer's open cases."""
    found: int = await connection.fetchval(
        "SELECT count(*) FROM cases WHERE customer_id = $1 AND status = 'open'", customer_id
    )
    return found
