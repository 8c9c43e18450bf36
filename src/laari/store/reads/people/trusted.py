"""Trusted people of customers, and the customers who trust them."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules.people.trusted import is_open
from laari.rules.records.people import TrustedPerson
from laari.store.tables import TRUSTED_PEOPLE

MOST_ASKING = 20


class Trusting(NamedTuple):
    """A customer who asked this person, with the name."""

    trust: TrustedPerson
    name: str


async def of_customer(
    connection: Connection, customer_id: UUID, now: datetime
) -> TrustedPerson | None:
    """The trusted person of a customer, if somebody is asked or has agreed."""
    row = await connection.fetchrow(f"{TRUSTED_PEOPLE.select} WHERE customer_id = $1", customer_id)
    trust = None if row is None else TRUSTED_PEOPLE.read(row)
    return trust if trust is not None and is_open(trust, now) else None


async def trusting(connection: Connection, trusted_id: UUID, now: datetime) -> list[Trusting]:
    """The customers who asked this person, the oldest first."""
    fields = ", ".join(f"p.{field}" for field in TrustedPerson.__struct_fields__)
    rows = await connection.fetch(
        f"SELECT {fields}, c.name AS customer FROM trusted_people p "
        "JOIN customers c ON c.id = p.customer_id WHERE p.trusted_id = $1 AND p.status <> 'ended' "
        "AND (p.ends_at IS NULL OR p.ends_at > $2) ORDER BY p.asked_at LIMIT $3",
        trusted_id,
        now,
        MOST_ASKING,
    )
    return [
        Trusting(
            TrustedPerson(**{name: row[name] for name in TrustedPerson.__struct_fields__}),
            row["customer"],
        )
        for row in rows
    ]
