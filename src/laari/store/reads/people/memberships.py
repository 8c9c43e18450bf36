"""Memberships: the places of a person, and the people of a place."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from laari.errors import LaariError
from laari.rules.records.people import MerchantRole, PersonId, Role


class Place(Struct, frozen=True):
    """One place at which a person works, as the person sees it."""

    merchant_id: str | None
    merchant_name: str | None
    role: Role
    till: str | None


class Member(Struct, frozen=True):
    """One person of a merchant or of the operator, as an owner sees them."""

    person_id: PersonId
    email: str
    role: Role
    till: str | None
    created_at: datetime
    last_seen_at: datetime | None
    sessions: int


_MEMBERS = """
SELECT b.person_id, p.email, b.role, b.till, b.created_at, b.last_seen_at,
    (SELECT count(*) FROM sessions s
        WHERE s.person_id = b.person_id AND coalesce(b.merchant_id <> ALL (s.ended_for), true)
    ) AS sessions
FROM memberships b JOIN persons p ON p.id = b.person_id
WHERE b.merchant_id IS NOT DISTINCT FROM $1
"""


async def of_person(connection: Connection, whose: PersonId) -> list[Place]:
    """All places of one person, the operator first, then the merchants by name."""
    rows = await connection.fetch(
        "SELECT b.merchant_id, m.name AS merchant_name, b.role, b.till FROM memberships b "
        "LEFT JOIN merchants m ON m.id = b.merchant_id WHERE b.person_id = $1 "
        "ORDER BY m.name NULLS FIRST, b.merchant_id",
        whose.id,
    )
    return [Place(**row) for row in rows]


async def role_in_session(
    connection: Connection, session: bytes, merchant_id: str
) -> MerchantRole | None:
    """The present role of the person of a session; None if it, or the membership, has ended."""
    role: MerchantRole | None = await connection.fetchval(
        "SELECT b.role FROM sessions s JOIN memberships b USING (person_id) "
        "WHERE s.digest = $1 AND b.merchant_id = $2 AND $2 <> ALL (s.ended_for)",
        session,
        merchant_id,
    )
    return role


async def list_members(connection: Connection, merchant_id: str | None) -> list[Member]:
    rows = await connection.fetch(f"{_MEMBERS} ORDER BY b.created_at, p.email", merchant_id)
    return [_member(row) for row in rows]


async def find_member(connection: Connection, merchant_id: str | None, email: str) -> Member:
    row = await connection.fetchrow(f"{_MEMBERS} AND p.email = $2", merchant_id, email)
    if row is None:
        place = "the operator's desk" if merchant_id is None else merchant_id
        raise LaariError(f"{email} does not log in to {place}")
    return _member(row)


def _member(row: asyncpg.Record) -> Member:
    return Member(**{**row, "person_id": PersonId(row["person_id"])})


async def of_places(
    connection: Connection, places: Collection[str | None]
) -> dict[str | None, dict[str, UUID]]:
    """The people of each place, by their address."""
    found: dict[str | None, dict[str, UUID]] = {}
    for place in places:
        # PostgreSQL looks up equal values in an index, and nulls only if they are asked for.
        same = "IS NULL AND $1::text IS NULL" if place is None else "= $1"
        rows = await connection.fetch(
            "SELECT p.email, p.id FROM memberships b JOIN persons p ON p.id = b.person_id "
            f"WHERE b.merchant_id {same}",
            place,
        )
        found[place] = {row["email"]: row["id"] for row in rows}
    return found
