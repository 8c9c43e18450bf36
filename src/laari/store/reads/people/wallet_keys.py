"""Keys of wallets: those that can be used, and how many there were."""

from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules.people.wallet_keys import PURPOSE, sandbox_key
from laari.rules.records.people import KeyCounts
from laari.store.secrets import derive


class UsableKey(NamedTuple):
    digest: bytes
    name: str
    created_at: datetime
    last_used_at: datetime | None


def key_digest(master: bytes, api_key: str) -> bytes:
    return derive(master, PURPOSE, api_key)


def sandbox_wallet_key(master: bytes, account: int) -> str:
    return sandbox_key(partial(derive, master), account)


async def counts(connection: Connection, account: int) -> KeyCounts:
    row = await connection.fetchrow(
        "SELECT count(*) AS made, count(*) FILTER (WHERE revoked_at IS NULL) AS usable "
        "FROM wallet_keys WHERE account = $1",
        account,
    )
    return KeyCounts(**row)


async def digests(
    connection: Connection, customers: Collection[UUID]
) -> dict[UUID, frozenset[bytes]]:
    """The usable keys of each customer."""
    rows = await connection.fetch(
        "SELECT w.customer_id, array_agg(k.digest) FROM wallets w "
        "JOIN wallet_keys k ON k.account = w.account AND k.revoked_at IS NULL "
        "WHERE w.customer_id = ANY($1) GROUP BY 1",
        list(customers),
    )
    found: dict[UUID, frozenset[bytes]] = dict.fromkeys(customers, frozenset())
    return found | {customer_id: frozenset(keys) for customer_id, keys in rows}


async def usable(connection: Connection, account: int) -> list[UsableKey]:
    """The newest first."""
    rows = await connection.fetch(
        "SELECT digest, name, created_at, last_used_at FROM wallet_keys "
        "WHERE account = $1 AND revoked_at IS NULL ORDER BY created_at DESC, digest",
        account,
    )
    return [UsableKey(**row) for row in rows]
