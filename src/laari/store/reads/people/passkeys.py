"""Passkeys of customers: by their credential, and those that can be used."""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules.records.people import Passkey
from laari.store.tables import PASSKEYS

_FIELDS = ", ".join(f"k.{field}" for field in Passkey.__struct_fields__)


class WithPassword(NamedTuple):
    """A passkey that can be used, and the hash of its customer's password."""

    passkey: Passkey
    password_hash: str


async def by_credential(connection: Connection, credential: bytes) -> WithPassword | None:
    row = await connection.fetchrow(
        f"SELECT {_FIELDS}, c.password_hash FROM passkeys k "
        "JOIN customers c ON c.id = k.customer_id "
        "WHERE k.credential = $1 AND k.ended_at IS NULL AND c.password_hash IS NOT NULL",
        credential,
    )
    if row is None:
        return None
    fields = dict(row)
    password_hash = fields.pop("password_hash")
    return WithPassword(Passkey(**fields), password_hash)


async def of_customer(connection: Connection, customer_id: UUID) -> list[Passkey]:
    """Those that can be used, the newest first."""
    rows = await connection.fetch(
        f"{PASSKEYS.select} WHERE customer_id = $1 AND ended_at IS NULL ORDER BY added_at DESC, id",
        customer_id,
    )
    return [PASSKEYS.read(row) for row in rows]


async def usable(
    connection: Connection, customers: Collection[UUID]
) -> dict[UUID, frozenset[UUID]]:
    """The ids of the passkeys of each customer that can be used."""
    rows = await connection.fetch(
        "SELECT customer_id, array_agg(id) FROM passkeys "
        "WHERE customer_id = ANY($1) AND ended_at IS NULL GROUP BY 1",
        list(customers),
    )
    found: dict[UUID, frozenset[UUID]] = dict.fromkeys(customers, frozenset())
    return found | {customer_id: frozenset(ids) for customer_id, ids in rows}


async def ids(connection: Connection, credentials: Collection[bytes]) -> dict[bytes, UUID]:
    """By their credentials, also those that were ended."""
    rows = await connection.fetch(
        "SELECT credential, id FROM passkeys WHERE credential = ANY($1)", list(credentials)
    )
    return {row["credential"]: row["id"] for row in rows}
