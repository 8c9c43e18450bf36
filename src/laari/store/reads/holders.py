"""Customers with their wallets, for the operator."""

from datetime import datetime
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.records import Language, Mode, WalletFreeze


class Holder(Struct, frozen=True):
    """A customer and the wallet; `merchant_id` is set for a merchant's sandbox customer."""

    customer_id: UUID
    account: int
    name: str
    mode: Mode
    mobile: str | None
    email: str | None
    vpa: str | None
    language: Language
    tier: str
    balance: int
    frozen_at: datetime | None
    frozen_reason: str | None
    merchant_id: str | None
    created_at: datetime


_SELECT = (
    "SELECT c.id, w.account, c.name, c.mode, c.mobile, c.email, c.vpa, c.language, w.tier, "
    "w.balance, w.frozen_at, w.frozen_reason, t.merchant_id, c.created_at "
    "FROM customers c JOIN wallets w ON w.customer_id = c.id "
    "LEFT JOIN tenants t ON t.id = c.sandbox_of"
)


async def by_customer(connection: Connection, customer_id: UUID) -> Holder | None:
    row = await connection.fetchrow(f"{_SELECT} WHERE c.id = $1", customer_id)
    return None if row is None else Holder(*row)


async def by_account(connection: Connection, account: int) -> Holder | None:
    row = await connection.fetchrow(f"{_SELECT} WHERE w.account = $1", account)
    return None if row is None else Holder(*row)


async def matching(
    connection: Connection,
    name: str,
    limit: int,
    *,
    account: int | None,
    mobile: str | None,
    email: str | None,
    vpa: str | None,
) -> list[Holder]:
    """Customers with this account, contact or name, or else with the text in their names.

    Names have no index: this reads all customers, as only an operator does.
    """
    rows = await connection.fetch(
        f"{_SELECT} WHERE w.account = $3 OR c.mobile = $4 OR c.email = $5 OR c.vpa = $6 "
        "OR lower(c.name) = lower($1) ORDER BY c.id DESC LIMIT $2",
        *(name, limit, account, mobile, email, vpa),
    )
    rows = rows or await connection.fetch(
        f"{_SELECT} WHERE position(lower($1) IN lower(c.name)) > 0 ORDER BY c.id DESC LIMIT $2",
        *(name, limit),
    )
    return [Holder(*row) for row in rows]


async def freezes(connection: Connection, account: int) -> list[WalletFreeze]:
    rows = await connection.fetch(
        "SELECT account, time, action, reason FROM wallet_freezes WHERE account = $1 "
        "ORDER BY recorded",
        account,
    )
    return [WalletFreeze(*row) for row in rows]


async def newest(
    connection: Connection,
    limit: int,
    *,
    after: UUID | None = None,
    mode: Mode | None = None,
    frozen: bool = False,
) -> list[Holder]:
    """Newest first: ids begin with their time. The list goes on behind `after`."""
    rows = await connection.fetch(
        f"{_SELECT} WHERE ($2::uuid IS NULL OR c.id < $2) AND ($3::text IS NULL OR c.mode = $3) "
        "AND (NOT $4 OR w.frozen_at IS NOT NULL) ORDER BY c.id DESC LIMIT $1",
        limit,
        after,
        mode,
        frozen,
    )
    return [Holder(*row) for row in rows]
