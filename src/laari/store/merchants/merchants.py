"""Merchants: their settings, their secret key and their tenants, one for each mode; only read."""

from datetime import datetime
from typing import Any

from asyncpg import Connection
from msgspec import Struct

from laari.errors import LaariError
from laari.rules.calendar import show as show_time
from laari.rules.merchants.keys import KEY, mark_of, secret_context
from laari.rules.records.tenants import Mode, Tenant
from laari.store.reads import tenants
from laari.store.reads.tenants import SIGNED_WITH, has_live_side
from laari.store.secrets import decrypt, derive

_COLUMNS = (
    "id, name, mode, active, webhook_url, webhooks_enabled AS webhooks, fee_bps, fee_fixed, "
    "created_at, CASE WHEN old_secret_until > now() THEN old_secret_until END AS old_key_until, "
    f"{has_live_side('merchants.id')} AS has_live, requires_factor, inactive_reason"
)


class Merchant(Struct, frozen=True):
    id: str
    name: str
    mode: Mode
    active: bool
    webhook_url: str | None
    webhooks: bool
    fee_bps: int
    fee_fixed: int
    created_at: datetime
    old_key_until: datetime | None  # None if only the present key works
    has_live: bool  # whether it is approved for live mode
    requires_factor: bool  # of all its people
    inactive_reason: str | None  # shown to its people


def described(found: Merchant) -> dict[str, Any]:
    return {
        "merchant_id": found.id,
        "name": found.name,
        "mode": found.mode,
        "active": found.active,
        "webhook_url": found.webhook_url,
        "webhooks": found.webhooks,
        "fee_bps": found.fee_bps,
        "fee_fixed": found.fee_fixed,
        "created_at": show_time(found.created_at),
    }


async def show(connection: Connection, merchant_id: str) -> Merchant:
    found = await find(connection, merchant_id)
    if found is None:
        raise LaariError(f"no merchant has the id {merchant_id}")
    return found


async def find(connection: Connection, merchant_id: str) -> Merchant | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM merchants WHERE id = $1", merchant_id)
    return None if row is None else Merchant(**row)


async def newest(connection: Connection, most: int) -> list[Merchant]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM merchants ORDER BY created_at DESC, id DESC LIMIT $1", most
    )
    return [Merchant(**row) for row in rows]


async def every(connection: Connection) -> list[Merchant]:
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM merchants ORDER BY created_at, id")
    return [Merchant(**row) for row in rows]


def key_digest(master_key: bytes, secret_key: str) -> bytes:
    return derive(master_key, KEY, secret_key)


def open_secret(master_key: bytes, merchant_id: str, encrypted: bytes) -> str:
    return decrypt(master_key, encrypted, secret_context(merchant_id)).decode()


async def key_mark(connection: Connection, merchant_id: str) -> str:
    """Identifies the present secret key without revealing it."""
    held: bytes = await connection.fetchval(
        "SELECT secret_digest FROM merchants WHERE id = $1", merchant_id
    )
    return mark_of(held)


async def secret_key_of(connection: Connection, master_key: bytes, merchant_id: str) -> str:
    encrypted = await connection.fetchval(
        "SELECT secret_encrypted FROM merchants WHERE id = $1", merchant_id
    )
    return open_secret(master_key, merchant_id, encrypted)


async def signing_key_of(connection: Connection, master_key: bytes, merchant_id: str) -> str:
    """The secret key that signs webhooks now: the old one until the overlap ends."""
    encrypted = await connection.fetchval(
        f"SELECT {SIGNED_WITH} FROM merchants m WHERE id = $1", merchant_id
    )
    return open_secret(master_key, merchant_id, encrypted)


async def of_owner(connection: Connection, email: str) -> Merchant | None:
    """The oldest merchant that the person with this email owns."""
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM merchants WHERE id = (SELECT merchant_id FROM memberships b "
        "JOIN persons p ON p.id = b.person_id WHERE p.email = $1 AND b.role = 'owner' "
        "ORDER BY b.created_at LIMIT 1)",
        email,
    )
    return None if row is None else Merchant(**row)


async def tenant_of(connection: Connection, merchant_id: str, mode: Mode) -> Tenant:
    """The merchant in this mode; raises if there is none."""
    await show(connection, merchant_id)
    found = await tenants.in_mode(connection, merchant_id, mode)
    if found is None:
        raise LaariError(f"merchant {merchant_id} is not {mode}")
    return found
