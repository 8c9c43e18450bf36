"""Customers with their wallets, for the operator."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.people.contacts import masked_payer
from laari.rules.records.messages import Language
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Mode
from laari.rules.records.wallets import WalletFreeze


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
    frozen_silently: bool
    merchant_id: str | None
    created_at: datetime


_SELECT = (
    "SELECT c.id AS customer_id, w.account, c.name, c.mode, c.mobile, c.email, c.vpa, c.language, "
    "w.tier, w.balance, w.frozen_at, w.frozen_reason, w.frozen_silently, "
    "t.merchant_id, c.created_at "
    "FROM customers c JOIN wallets w ON w.customer_id = c.id "
    "LEFT JOIN tenants t ON t.id = c.sandbox_of"
)


async def by_customer(connection: Connection, customer_id: UUID) -> Holder | None:
    row = await connection.fetchrow(f"{_SELECT} WHERE c.id = $1", customer_id)
    return None if row is None else Holder(**row)


async def by_account(connection: Connection, account: int) -> Holder | None:
    row = await connection.fetchrow(f"{_SELECT} WHERE w.account = $1", account)
    return None if row is None else Holder(**row)


async def payer_of(connection: Connection, payment: Payment) -> str | None:
    """Who paid, as far as the people at a counter need it to tell customers apart."""
    if payment.paid_at is None or payment.payer_account is None:
        return None
    holder = await by_account(connection, payment.payer_account)
    return None if holder is None else masked_payer(holder.name, holder.mobile, holder.account)


async def names_of(connection: Connection, accounts: Collection[int]) -> dict[int, str]:
    """The holders of these wallets, by account."""
    rows = await connection.fetch(
        "SELECT w.account, c.name FROM wallets w JOIN customers c ON c.id = w.customer_id "
        "WHERE w.account = ANY($1)",
        list(accounts),
    )
    return {row["account"]: row["name"] for row in rows}


_LAST = "\U0010ffff"  # no character comes after it: the end of everything that begins alike
# Names with words that begin like each word of the text, in any order; `$1` is the text.
NAMED = (
    "name_words(name) @@ (SELECT string_agg(quote_literal(word) || ':*', ' & ') "
    "FROM unnest(tsvector_to_array(name_words($1))) AS word)::tsquery"
)


async def with_contact(
    connection: Connection,
    *,
    account: int | None,
    mobile: str | None,
    email: str | None,
    vpa: str | None,
) -> list[Holder]:
    """Customers with this account, mobile number, email or VPA, of both modes, newest first."""
    contacts = {"mobile": mobile, "email": email, "vpa": vpa}
    wanted = {column: value for column, value in contacts.items() if value is not None}
    # A separate look-up for each, because the index of each has its own columns.
    looked_up = [
        f"SELECT id FROM customers WHERE {column} = ${number} AND sandbox_of IS NULL "
        "AND mode IN ('live', 'sandbox')"
        for number, column in enumerate(wanted, 2)
    ]
    looked_up.append("SELECT customer_id FROM wallets WHERE account = $1")
    rows = await connection.fetch(
        f"{_SELECT} WHERE c.id = ANY(ARRAY({' UNION ALL '.join(looked_up)})) ORDER BY c.id DESC",
        account,
        *wanted.values(),
    )
    return [Holder(**row) for row in rows]


async def named(connection: Connection, text: str, most: int) -> list[Holder]:
    """Customers with these beginnings of words in their name; those with exactly this name first.

    If enough names begin with the text, the other index is not read: it would collect every name
    with a common word. If very many fit, the choice among them is arbitrary.
    """
    found = await connection.fetch(
        "SELECT id FROM customers WHERE lower(name) ~>=~ lower($1) "
        f"AND lower(name) ~<~ (lower($1) || '{_LAST}') ORDER BY lower(name) USING ~<~ LIMIT $2",
        text,
        most,
    )
    if len(found) < most:
        found += await connection.fetch(
            f"SELECT id FROM customers WHERE {NAMED} LIMIT $2", text, most
        )
    rows = await connection.fetch(
        f"{_SELECT} WHERE c.id = ANY($1) ORDER BY lower(c.name) <> lower($2), c.id DESC LIMIT $3",
        [row["id"] for row in found],
        text,
        most,
    )
    return [Holder(**row) for row in rows]


class Freeze(NamedTuple):
    """A freeze or its end, and who did it. The journal has the name."""

    freeze: WalletFreeze
    actor: str | None


async def freezes(connection: Connection, account: int) -> list[Freeze]:
    rows = await connection.fetch(
        "SELECT f.account, f.time, f.action, f.reason, f.silent, ("
        "SELECT j.actor_name FROM journal j WHERE j.object_type = 'wallet' "
        "AND j.object_id = f.account::text AND j.xid = f.xid "
        "AND j.action = CASE f.action "
        "WHEN 'frozen' THEN 'wallet.freeze' ELSE 'wallet.unfreeze' END "
        "AND j.reason IS NOT DISTINCT FROM f.reason LIMIT 1"
        ") AS actor FROM wallet_freezes f WHERE f.account = $1 ORDER BY f.recorded",
        account,
    )
    found = []
    for row in rows:
        fields = dict(row)
        actor = fields.pop("actor")
        found.append(Freeze(WalletFreeze(**fields), actor))
    return found


async def newest(
    connection: Connection,
    limit: int,
    *,
    after: UUID | None = None,
    mode: Mode | None = None,
    frozen: bool = False,
) -> list[Holder]:
    """Newest first: ids begin with their time. The next page begins after `after`."""
    rows = await connection.fetch(
        f"{_SELECT} WHERE ($2::uuid IS NULL OR c.id < $2) AND ($3::text IS NULL OR c.mode = $3) "
        "AND (NOT $4 OR w.frozen_at IS NOT NULL) ORDER BY c.id DESC LIMIT $1",
        limit,
        after,
        mode,
        frozen,
    )
    return [Holder(**row) for row in rows]
