"""Second factors: what their person sees, and who requires one."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules.limits.second_factors import FACTOR_SET_UP_WITHIN
from laari.rules.people.second_factors import seed_context
from laari.rules.records.people import PersonId
from laari.store.secrets import opened


class Status(NamedTuple):
    """What the person sees on the account page."""

    confirmed_at: datetime
    recovery_codes: int  # that are left


async def status(connection: Connection, whose: PersonId) -> Status | None:
    row = await connection.fetchrow(
        "SELECT confirmed_at, cardinality(recovery_codes) AS recovery_codes FROM second_factors "
        "WHERE person_id = $1 AND confirmed_at IS NOT NULL",
        whose.id,
    )
    return None if row is None else Status(**row)


async def pending_seed(
    connection: Connection, master: bytes, whose: PersonId, now: datetime, session_digest: bytes
) -> str | None:
    """The seed that waits for its first code, for an hour, in the session that began it."""
    encrypted = await connection.fetchval(
        "SELECT seed_encrypted FROM second_factors "
        "WHERE person_id = $1 AND confirmed_at IS NULL AND created_at > $2",
        whose.id,
        now - FACTOR_SET_UP_WITHIN,
    )
    if encrypted is None:
        return None
    seed = opened(master, encrypted, seed_context(whose.id, session_digest))
    return None if seed is None else seed.decode()


async def required(connection: Connection, persons: Collection[UUID]) -> dict[UUID, bool]:
    """Whether a merchant of each person requires a factor; the operator always does."""
    rows = await connection.fetch(
        "SELECT b.person_id FROM memberships b LEFT JOIN merchants m ON m.id = b.merchant_id "
        "WHERE b.person_id = ANY($1) AND (b.merchant_id IS NULL OR m.requires_factor)",
        list(persons),
    )
    return dict.fromkeys(persons, False) | {row["person_id"]: True for row in rows}
