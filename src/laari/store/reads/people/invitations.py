"""Invitations: those of a merchant, and the one of a link."""

from collections.abc import Collection
from datetime import datetime

from asyncpg import Connection
from msgspec import Struct

from laari.rules.people.invitations import LINK
from laari.rules.records.people import MerchantRole
from laari.store.secrets import derive


class OpenInvitation(Struct, frozen=True):
    merchant_id: str
    merchant_name: str
    email: str
    role: MerchantRole
    till: str | None
    created_at: datetime
    expires_at: datetime
    is_known: bool  # the person has to log in: the link must not replace the password


_SELECT = """
SELECT i.merchant_id, m.name AS merchant_name, i.email, i.role, i.till, i.created_at, i.expires_at,
    p.id IS NOT NULL AND (p.proven OR NOT i.proves) AS is_known
FROM invitations i JOIN merchants m ON m.id = i.merchant_id LEFT JOIN persons p USING (email)
"""


def of_link(master: bytes, token: str) -> bytes:
    return derive(master, LINK, token)


async def list_open(
    connection: Connection, merchant_id: str, now: datetime
) -> list[OpenInvitation]:
    rows = await connection.fetch(
        f"{_SELECT} WHERE i.merchant_id = $1 AND i.expires_at > $2 ORDER BY i.created_at, i.email",
        merchant_id,
        now,
    )
    return [OpenInvitation(**row) for row in rows]


async def find(
    connection: Connection, master: bytes, token: str, now: datetime
) -> OpenInvitation | None:
    """None for a link that was used, has expired, was withdrawn or never existed."""
    row = await connection.fetchrow(
        f"{_SELECT} WHERE i.digest = $1 AND i.expires_at > $2", of_link(master, token), now
    )
    return None if row is None else OpenInvitation(**row)


async def overdue(connection: Connection, now: datetime, most: int) -> list[tuple[str, str]]:
    """The merchants and addresses of invitations that have expired, the earliest first."""
    rows = await connection.fetch(
        "SELECT merchant_id, email FROM invitations WHERE expires_at <= $1 "
        "ORDER BY expires_at LIMIT $2",
        now,
        most,
    )
    return [(merchant_id, email) for merchant_id, email in rows]


async def by_link(
    connection: Connection, digests: Collection[bytes]
) -> dict[bytes, tuple[str, str]]:
    """The merchant and the address of each."""
    rows = await connection.fetch(
        "SELECT digest, merchant_id, email FROM invitations WHERE digest = ANY($1)", list(digests)
    )
    return {digest: (merchant_id, email) for digest, merchant_id, email in rows}


async def of_merchants(connection: Connection, merchants: Collection[str]) -> dict[str, set[str]]:
    """The addresses that each has invited."""
    rows = await connection.fetch(
        "SELECT merchant_id, email FROM invitations WHERE merchant_id = ANY($1)", list(merchants)
    )
    found: dict[str, set[str]] = {merchant_id: set() for merchant_id in merchants}
    for merchant_id, email in rows:
        found[merchant_id].add(email)
    return found
