"""OAuth clients and their access tokens, stored as digests."""

import re
from datetime import datetime
from typing import NamedTuple

from asyncpg import Connection
from msgspec import Struct

from laari.rules.merchants.keys import CLIENT_SECRET
from laari.rules.records.tenants import Tenant
from laari.store.reads import tenants
from laari.store.secrets import bind, derive, is_bound

TOKEN_PREFIX = "at_"  # noqa: S105

_CLIENT_ID = re.compile(r"cl_[a-z0-9]{20}", re.ASCII)
_COLUMNS = "id, merchant_id, name, scope, created_at, expires_at, last_used_at, revoked_at"
_USABLE = "c.revoked_at IS NULL AND (c.expires_at > now()) IS NOT FALSE AND m.active"


class Client(Struct, frozen=True):
    id: str
    merchant_id: str
    name: str | None
    scope: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None  # it got a token or used one; exact to about a minute
    revoked_at: datetime | None


class ClientCredential(NamedTuple):
    id: str
    secret_digest: bytes
    scope: str
    expires_at: datetime | None
    sandbox_offset_seconds: int


class TokenCredential(NamedTuple):
    """A token, its tenant now, and what is left to check."""

    tenant: Tenant
    client_id: str
    scope: str
    expires_at: datetime
    sandbox_offset_seconds: int


def client_digest(master: bytes, secret: str) -> bytes:
    return derive(master, CLIENT_SECRET, secret)


def token_digest(master: bytes, token: str) -> bytes:
    return derive(master, "access-token", token)


def bind_token(master: bytes, held: bytes, client_id: str, scope: str) -> bytes:
    return bind(master, held, client_id, scope)


def is_client_id(text: str) -> bool:
    return _CLIENT_ID.fullmatch(text) is not None


async def find(connection: Connection, client_id: str) -> Client | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM oauth_clients WHERE id = $1", client_id
    )
    return None if row is None else Client(**row)


async def list_clients(connection: Connection, merchant_id: str | None = None) -> list[Client]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM oauth_clients WHERE $1::text IS NULL OR merchant_id = $1 "
        "ORDER BY created_at, id",
        merchant_id,
    )
    return [Client(**row) for row in rows]


async def usable_clients(
    connection: Connection, client_ids: list[str]
) -> dict[str, ClientCredential]:
    rows = await connection.fetch(
        "SELECT c.id, c.secret_digest, c.scope, c.expires_at, "
        "t.clock_offset_seconds AS sandbox_offset_seconds FROM oauth_clients c "
        "JOIN merchants m ON m.id = c.merchant_id "
        "JOIN tenants t ON t.merchant_id = m.id AND t.mode = 'sandbox' "
        f"WHERE c.id = ANY($1) AND {_USABLE}",
        client_ids,
    )
    return {row["id"]: ClientCredential(**row) for row in rows}


async def by_token_digest(
    master: bytes, connection: Connection, digests: list[bytes]
) -> dict[bytes, TokenCredential]:
    """Tokens of usable clients, in the present mode of their merchants."""
    rows = await connection.fetch(
        "SELECT a.digest, a.binding, c.id, a.scope, a.expires_at, a.sandbox_offset_seconds, "
        f"{tenants.COLUMNS} FROM access_tokens a JOIN oauth_clients c ON c.id = a.client_id "
        "JOIN merchants m ON m.id = c.merchant_id "
        "JOIN tenant_details d ON d.merchant_id = m.id AND d.mode = m.mode "
        f"WHERE a.digest = ANY($1) AND {_USABLE}",
        digests,
    )
    return {
        digest: TokenCredential(Tenant(*tenant), client_id, scope, expires_at, offset)
        for digest, binding, client_id, scope, expires_at, offset, *tenant in rows
        if is_bound(master, binding, digest, client_id, scope)
    }
