"""Applications of merchants to go live, and the business that an approved one names."""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from laari.rules.records.merchants import Application, ApplicationStatus
from laari.store.tables import APPLICATIONS


class Profile(Struct, frozen=True):
    """The business behind a merchant, for documents."""

    legal_name: str | None = None
    tax_number: str | None = None
    address: str | None = None


class Applied(NamedTuple):
    """An application, and the name of the merchant that customers see."""

    merchant_name: str
    application: Application


_SELECT = (
    "SELECT m.name AS merchant_name, "
    f"{', '.join(f'a.{name}' for name in Application.__struct_fields__)} "
    "FROM applications a JOIN merchants m ON m.id = a.merchant_id"
)


def _read(row: asyncpg.Record) -> Applied:
    values = dict(row)
    return Applied(values.pop("merchant_name"), Application(**values))


async def find(connection: Connection, application_id: UUID) -> Applied | None:
    row = await connection.fetchrow(f"{_SELECT} WHERE a.id = $1", application_id)
    return None if row is None else _read(row)


async def latest_of(connection: Connection, merchant_id: str) -> Application | None:
    row = await connection.fetchrow(
        f"{APPLICATIONS.select} WHERE merchant_id = $1 ORDER BY submitted_at DESC, id DESC LIMIT 1",
        merchant_id,
    )
    return None if row is None else APPLICATIONS.read(row)


async def open_of(connection: Connection, merchants: Collection[str]) -> dict[str, UUID]:
    """The application of each merchant that waits."""
    rows = await connection.fetch(
        "SELECT merchant_id, id FROM applications "
        "WHERE merchant_id = ANY($1) AND status = 'submitted'",
        list(merchants),
    )
    return {row["merchant_id"]: row["id"] for row in rows}


async def profile_of(connection: Connection, merchant_id: str) -> Profile:
    """From the approved application; empty if the merchant came without one."""
    row = await connection.fetchrow(
        "SELECT legal_name, tax_number, address FROM applications "
        "WHERE merchant_id = $1 AND status = 'approved' "
        "ORDER BY submitted_at DESC, id DESC LIMIT 1",
        merchant_id,
    )
    return Profile() if row is None else Profile(**row)


async def with_status(
    connection: Connection, status: ApplicationStatus, most: int
) -> list[Applied]:
    """The oldest first that wait, the newest first of the others."""
    order = "a.id" if status == "submitted" else "a.id DESC"
    rows = await connection.fetch(
        f"{_SELECT} WHERE a.status = $1 ORDER BY {order} LIMIT $2", status, most
    )
    return [_read(row) for row in rows]
