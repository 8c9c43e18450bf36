"""People: by their address, their places and their sessions."""

from collections.abc import Collection
from uuid import UUID

from asyncpg import Connection

from laari.rules.records.people import PersonId
from laari.store.reads.tenants import has_live_side


async def find(connection: Connection, email: str) -> PersonId | None:
    found = (await by_email(connection, [email])).get(email)
    return None if found is None else PersonId(found)


async def by_email(connection: Connection, emails: Collection[str]) -> dict[str, UUID]:
    rows = await connection.fetch(
        "SELECT email, id FROM persons WHERE email = ANY($1)", list(emails)
    )
    return {row["email"]: row["id"] for row in rows}


async def places(
    connection: Connection, persons: Collection[UUID]
) -> dict[UUID, dict[str | None, bool]]:
    """The places of each person, and whether each is the operator or takes live money."""
    rows = await connection.fetch(
        "SELECT b.person_id, b.merchant_id, "
        f"b.merchant_id IS NULL OR {has_live_side('b.merchant_id')} "
        "FROM memberships b WHERE b.person_id = ANY($1)",
        list(persons),
    )
    found: dict[UUID, dict[str | None, bool]] = {person_id: {} for person_id in persons}
    for person_id, merchant_id, is_live in rows:
        found[person_id][merchant_id] = is_live
    return found


async def sessions(
    connection: Connection, wanted: Collection[UUID]
) -> dict[UUID, frozenset[bytes]]:
    """The digests of the sessions of each person and customer."""
    rows = await connection.fetch(
        "SELECT coalesce(person_id, customer_id), array_agg(digest) FROM sessions "
        "WHERE person_id = ANY($1) OR customer_id = ANY($1) GROUP BY 1",
        list(wanted),
    )
    found: dict[UUID, frozenset[bytes]] = dict.fromkeys(wanted, frozenset())
    return found | {whose: frozenset(digests) for whose, digests in rows}
