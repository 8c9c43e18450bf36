"""Merchants: their settings, their secret key and their tenants, one for each mode."""

import base64
import os
from datetime import datetime
from typing import Any

from asyncpg import Connection
from msgspec import Struct
from msgspec.structs import replace

from laari.errors import LaariError
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.calendar import show as show_time
from laari.rules.merchants.keys import KEY, KEY_PREFIX, mark_of, secret_context
from laari.rules.people.memberships import OwnNewMerchant
from laari.rules.people.persons import Enrolled, NewLogin
from laari.rules.records import Mode, Tenant
from laari.rules.refusals import Refusal
from laari.store.batch.inside import decide_inside
from laari.store.people.acting import acting
from laari.store.people.customers import create_sandbox_customer, new_account
from laari.store.people.passwords import hash_password, new_password
from laari.store.people.wallet_keys import add_first_key, sandbox_wallet_key
from laari.store.reads import tenants
from laari.store.reads.tenants import SIGNED_WITH, has_live_side
from laari.store.secrets import decrypt, derive, encrypt, new_secret

SANDBOX_TIER = "verified"
SANDBOX_BALANCE = 10_000_000  # laari: MVR 100,000.00

_COLUMNS = (
    "id, name, mode, active, webhook_url, webhooks_enabled, fee_bps, fee_fixed, created_at, "
    "CASE WHEN old_secret_until > now() THEN old_secret_until END, "
    f"{has_live_side('merchants.id')}, requires_factor, inactive_reason"
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


class OwnerRefusedError(LaariError):
    """This person cannot own a new merchant."""


class NewMerchant(Struct, frozen=True):
    merchant: Merchant
    secret_key: str
    password: str | None
    sandbox_account: int  # of its sandbox customer


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


async def create(
    connection: Connection,
    actor: Actor,
    master_key: bytes,
    *,
    name: str,
    mode: Mode,
    fee_bps: int = 0,
    fee_fixed: int = 0,
    webhook_url: str | None = None,
    email: str | None = None,
    password: str | None = None,
    must_change: bool = False,
    password_hash: str | None = None,
    first_password: bool = False,
    owner: str | None = None,
    sandbox_only: bool = False,
) -> NewMerchant:
    """Makes a merchant with its sandbox customer and, with an email, a person who owns it.

    A person who exists keeps the password: then `password` of the result is None. The first log-in
    of a new one asks for (`first_password`) or requires (`must_change`) a new password. `owner` is
    the email of a person who has logged in. A merchant that is `sandbox_only` has no live tenant
    until an operator approves it; it came by sign-up, so nobody has proved the email.
    """
    merchant_id = ids.MERCHANT + base64.b32encode(os.urandom(13)).decode().lower()[:20]
    secret_key = new_secret(KEY_PREFIX)
    async with acting(connection, actor, "merchant.create"):
        account = await new_account(connection)
        row = await connection.fetchrow(
            "INSERT INTO merchants (id, name, mode, secret_digest, secret_encrypted, fee_bps, "
            "fee_fixed, webhook_url, sandbox_account) "
            f"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING {_COLUMNS}",
            merchant_id,
            name,
            mode,
            key_digest(master_key, secret_key),
            encrypt(master_key, secret_key.encode(), secret_context(merchant_id)),
            fee_bps,
            fee_fixed,
            webhook_url,
            account,
        )
        sandbox = await connection.fetchval(
            "WITH made AS (INSERT INTO tenants (merchant_id, mode) "
            "SELECT $1, unnest($2::text[]) RETURNING id, mode) "
            "SELECT id FROM made WHERE mode = 'sandbox'",
            merchant_id,
            ["sandbox"] if sandbox_only else ["live", "sandbox"],
        )
        await create_sandbox_customer(
            connection, actor, sandbox, merchant_id, account, SANDBOX_TIER, SANDBOX_BALANCE
        )
        sandbox_key = sandbox_wallet_key(master_key, account)
        await add_first_key(connection, actor, master_key, account, sandbox_key)
        if owner is not None:
            await _own(connection, OwnNewMerchant(actor, merchant_id, owner, None))
        elif email is not None:
            password = password or new_password()
            login = NewLogin(
                password_hash or hash_password(password),
                must_change,
                first_password,
                proven=not sandbox_only,
            )
            enrolled = await _own(connection, OwnNewMerchant(actor, merchant_id, email, login))
            password = password if enrolled.has_new_password else None
    made = replace(Merchant(*row), has_live=not sandbox_only)  # the row came before its tenants
    return NewMerchant(made, secret_key, None if email is None else password, account)


async def _own(connection: Connection, command: OwnNewMerchant) -> Enrolled:
    outcome = await decide_inside(connection, command)
    if isinstance(outcome, Refusal):
        raise OwnerRefusedError(outcome.message)
    return outcome


async def show(connection: Connection, merchant_id: str) -> Merchant:
    found = await find(connection, merchant_id)
    if found is None:
        raise LaariError(f"no merchant has the id {merchant_id}")
    return found


async def find(connection: Connection, merchant_id: str) -> Merchant | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM merchants WHERE id = $1", merchant_id)
    return None if row is None else Merchant(*row)


async def newest(connection: Connection, most: int) -> list[Merchant]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM merchants ORDER BY created_at DESC, id DESC LIMIT $1", most
    )
    return [Merchant(*row) for row in rows]


async def every(connection: Connection) -> list[Merchant]:
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM merchants ORDER BY created_at, id")
    return [Merchant(*row) for row in rows]


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
    return None if row is None else Merchant(*row)


async def tenant_of(connection: Connection, merchant_id: str, mode: Mode) -> Tenant:
    """The merchant in this mode; raises if there is none."""
    await show(connection, merchant_id)
    found = await tenants.in_mode(connection, merchant_id, mode)
    if found is None:
        raise LaariError(f"merchant {merchant_id} is not {mode}")
    return found
