"""What the database has at the end, read beside the service with plain SQL.

Ids are shown as the interface shows them, without their prefix: the number alone, in hexadecimal.
"""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

import asyncpg

from laari.store.ledger.sealing import ADVISORY_LOCK

HELD_LOOKS, HELD_SECONDS = 42, 0.2  # less than the server lets a transaction be idle


class Payment(NamedTuple):
    id: str
    merchant: str
    reference: str
    amount: int
    state: str
    kind: str = "hosted"
    request: str | None = None
    authorization: str | None = None


class Request(NamedTuple):
    id: str
    merchant: str
    reference: str
    amount: int
    state: str


class Transfer(NamedTuple):
    kind: str
    payment: str | None
    debit: int
    credit: int
    amount: int


class Event(NamedTuple):
    id: str
    type: str
    about: str
    delivery: str | None  # pending, delivered or failed; None: there is none


class Saved(NamedTuple):
    """A response saved under an idempotency key, and the resource that it shows."""

    status: int
    about: str | None


class Spend(NamedTuple):
    """A payment out of a wallet. They are listed in the order in which they held its lock."""

    account: int
    payment: str
    at: datetime
    amount: int


class Counted(NamedTuple):
    """What a row says was spent in the period of this length that began on this day."""

    unit: str
    start: date | None
    spent: int
    allowed: int | None


class Wallet(NamedTuple):
    account: int
    balance: int
    counted: tuple[Counted, ...]


class Authorization(NamedTuple):
    id: str
    state: str
    counted: Counted | None
    total: int
    payments: int


@dataclass(frozen=True)
class Found:
    payments: list[Payment] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    saved: dict[tuple[str, str], Saved] = field(default_factory=dict)  # by merchant and key
    spends: list[Spend] = field(default_factory=list)
    wallets: list[Wallet] = field(default_factory=list)
    authorizations: list[Authorization] = field(default_factory=list)
    held: list[str] = field(default_factory=list)  # locks of keys and transactions left open
    received: set[str] = field(default_factory=set)  # events that the merchants' receiver has


def number(shown: str | None) -> str:
    """The number in an id such as `pay_0a1b…`."""
    return (shown or "").rpartition("_")[2]


async def read_everything(dsn: str, received: set[str]) -> Found:
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        await connection.set_type_codec(
            "numeric", schema="pg_catalog", encoder=str, decoder=int, format="text"
        )
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return await _read(connection, {number(each) for each in received})
    finally:
        await connection.close()


async def _read(connection: asyncpg.Connection, received: set[str]) -> Found:
    payments = await connection.fetch(
        "SELECT p.*, t.merchant_id FROM payments p JOIN tenants t ON t.id = p.tenant_id"
    )
    requests = await connection.fetch(
        "SELECT r.*, t.merchant_id FROM payment_requests r JOIN tenants t ON t.id = r.tenant_id"
    )
    transfers = await connection.fetch(
        "SELECT kind, payment_id, debit_account, credit_account, amount FROM transfers"
    )
    events = await connection.fetch(
        "SELECT e.id, e.type, coalesce(r.payment_id, e.object_id), d.status FROM events e "
        "LEFT JOIN refunds r ON r.id = e.object_id "
        "LEFT JOIN deliveries d ON d.event_id = e.id"
    )
    saved = await connection.fetch(
        "SELECT t.merchant_id, s.key, s.status, s.body FROM saved_responses s "
        "JOIN tenants t ON t.id = s.tenant_id"
    )
    # The line in the customer's history is numbered while the wallet is locked.
    spends = await connection.fetch(
        "SELECT x.debit_account, x.payment_id, x.created_at, x.amount FROM transfers x "
        "LEFT JOIN transactions h ON h.tid = x.tid WHERE x.kind = 'payment' ORDER BY h.recorded"
    )
    wallets = await connection.fetch(
        "SELECT w.*, t.daily, t.weekly, t.monthly FROM wallets w JOIN tiers t ON t.name = w.tier"
    )
    authorizations = await connection.fetch("SELECT * FROM authorizations")
    held = await held_by_others(connection)
    return Found(
        [_payment(row) for row in payments],
        [Request(row["id"].hex, *(row[name] for name in _MADE), row["status"]) for row in requests],
        [Transfer(row[0], row[1] and row[1].hex, *row[2:]) for row in map(tuple, transfers)],
        [Event(row[0].hex, row[1], row[2].hex, row[3]) for row in events],
        {(row[0], row[1]): Saved(row[2], _shown(row[3])) for row in saved},
        [Spend(row[0], row[1].hex, row[2], row[3]) for row in spends],
        [_wallet(row) for row in wallets],
        [_authorization(row) for row in authorizations],
        held,
        received,
    )


async def held_by_others(connection: asyncpg.Connection) -> list[str]:
    """Locks of keys and open transactions that stay: a server takes a moment to see a client go.

    By who holds it since when: the background process has one transaction after the other, and a
    starved one takes seconds for the statements of one.
    """
    stays: set[str] | None = None
    for _ in range(HELD_LOOKS):
        # Within a transaction the server would show what others did at the first look.
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        held = await connection.fetch(
            "SELECT format('the lock of a key, held by %s', pid) AS what FROM pg_locks "
            "WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) <> ALL($1) "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
            "UNION ALL SELECT format('a transaction of %s, idle since %s after %s', "
            "pid, state_change, left(query, 40)) "
            "FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND state = 'idle in transaction'",
            [ADVISORY_LOCK],  # of the background process, which is of no key
        )
        now = {row["what"] for row in held}
        stays = now if stays is None else stays & now
        if not stays:
            return []
        await asyncio.sleep(HELD_SECONDS)
    return sorted(stays or ())


_MADE = ("merchant_id", "reference", "amount")


def _payment(row: asyncpg.Record) -> Payment:
    return Payment(
        row["id"].hex,
        *(row[name] for name in (*_MADE, "status", "kind")),
        request=row["request_id"] and row["request_id"].hex,
        authorization=row["authorization_id"] and row["authorization_id"].hex,
    )


def _wallet(row: asyncpg.Record) -> Wallet:
    units = (("day", "daily"), ("week", "weekly"), ("month", "monthly"))
    return Wallet(
        row["account"],
        row["balance"],
        tuple(
            Counted(unit, row[f"{unit}_start"], row[f"{unit}_spent"], row[limit])
            for unit, limit in units
        ),
    )


def _authorization(row: asyncpg.Record) -> Authorization:
    interval, allowed = row["period_interval"], row["period_amount"]
    counted = Counted(interval, row["period_start"], row["period_paid"], allowed)
    return Authorization(
        row["id"].hex,
        row["status"],
        None if interval is None or allowed is None else counted,
        row["total_paid"],
        row["payment_count"],
    )


def _shown(body: bytes) -> str | None:
    match json.loads(body):
        case {"data": {"id": str(shown)}}:
            return number(shown)
    return None
