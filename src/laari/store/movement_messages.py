"""Messages about movements and decisions, written behind the writers.

A payment must not wait for a message about it. So the background process follows the rows that
movements leave, transaction by transaction. The mark and the messages are one transaction: none is
lost or written twice, however the process ends.
"""

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

import asyncpg
from asyncpg import Connection
from msgspec import Struct, json

from laari.rules import ids, messages
from laari.rules.banking.bank_accounts import masked
from laari.rules.messages import (
    CancelledPayoutContent,
    DecisionContent,
    FreezeContent,
    FundsContent,
    MerchantContent,
    PayoutContent,
    ReturnContent,
    ShopMovementContent,
    TrustedAccountContent,
    TrustedAuthorizationContent,
    TrustedPaymentContent,
    WalletMovementContent,
    WithdrawalContent,
)
from laari.rules.records.messages import MessageChoice, MessageKind, Recipient
from laari.rules.world import World
from laari.store.batch.save import save
from laari.store.ledger.seals import require_not_moved, xid_horizon
from laari.store.outbox.notices import Outbox
from laari.store.reads.figures import FINDING
from laari.store.secrets import keys_of

STEP = 2_000  # transactions at a time
ADVISORY_LOCK = 0x6C61617269_6D73  # "laari" "ms": one process at a time
NOT_GIVEN = "—"  # for a reason that nobody gave

_TO = "c.email, c.mobile, c.language, c.id AS customer_id, h.channel, coalesce(h.least, 0) AS least"
_CUSTOMER = """
    JOIN customers c ON c.id = w.customer_id
    LEFT JOIN message_choices h ON h.customer_id = c.id"""

# A payment only if a merchant took it, and a cancelled withdrawal only if somebody else cancelled
# it. The balance is the one after the movement.
_MOVED = f"""
SELECT x.kind, x.id AS object_id, p.tenant_id, t.amount, t.name, t.details, o.return_reason,
    {_TO},
    w.balance - (
        SELECT coalesce(sum(later.amount), 0)::bigint FROM transactions later
        WHERE later.account = t.account AND later.recorded > t.recorded
            AND later.status = 'success'
    ) AS balance
FROM transfers x
LEFT JOIN payments p ON p.id = x.payment_id
JOIN transactions t ON t.tid = x.tid
JOIN wallets w ON w.account = t.account AND w.mode = 'live' {_CUSTOMER}
LEFT JOIN bank_orders o ON o.returned_transfer_id = x.id
WHERE x.xid > $1 AND x.xid <= $2 AND (
    x.kind IN ('topup', 'refund', 'adjustment')
    OR x.kind = 'payment' AND p.authorization_id IS NOT NULL
    OR x.kind = 'withdrawal' AND t.amount > 0 AND NOT EXISTS (
        SELECT FROM payouts q JOIN journal j ON j.object_type = 'withdrawal'
            AND j.object_id = 'po_' || encode(uuid_send(q.id), 'hex')
        WHERE q.cancelled_transfer_id = x.id
            AND j.action = 'withdrawal.cancel' AND j.actor_kind = 'customer'
    )
)
ORDER BY x.id
"""

# A silent freeze stays silent when it ends.
_FROZEN = f"""
SELECT f.action, f.time, {_TO}
FROM wallet_freezes f JOIN wallets w ON w.account = f.account AND w.mode = 'live' {_CUSTOMER}
WHERE f.xid > $1 AND f.xid <= $2 AND NOT f.silent AND (f.action = 'frozen' OR NOT (
    SELECT earlier.silent FROM wallet_freezes earlier
    WHERE earlier.account = f.account AND earlier.recorded < f.recorded
    ORDER BY earlier.recorded DESC LIMIT 1
))
ORDER BY f.recorded
"""

# The trusted people of customers, and the customers themselves: both get the same messages.
_TRUST = """
WITH trust AS (
    SELECT w.account, o.name AS customer, p.above, c.id = p.trusted_id AS is_trusted,
        c.email, c.mobile, c.language, c.id AS customer_id
    FROM trusted_people p
    JOIN wallets w ON w.customer_id = p.customer_id AND w.mode = 'live'
    JOIN customers o ON o.id = p.customer_id
    JOIN customers c ON c.id IN (p.trusted_id, p.customer_id)
    WHERE p.status = 'agreed' AND (p.ends_at IS NULL OR p.ends_at > now())
)"""
_TRUST_EXISTS = "SELECT EXISTS (SELECT FROM trusted_people WHERE status = 'agreed')"

# The customer has a message of a charge and of an own bank account already.
_TRUSTED_PAYMENTS = f"""{_TRUST}
SELECT trust.*, t.amount, t.name, t.details, t.time, p.tenant_id
FROM transactions t JOIN trust USING (account)
JOIN transfers x ON x.tid = t.tid AND x.kind IN ('payment', 'withdrawal')
LEFT JOIN payments p ON p.id = x.payment_id
WHERE t.xid > $1 AND t.xid <= $2 AND t.status = 'success' AND -t.amount > trust.above
    AND (trust.is_trusted OR p.authorization_id IS NULL)
ORDER BY t.recorded, trust.is_trusted
"""
_TRUSTED_AUTHORIZATIONS = f"""{_TRUST}
SELECT trust.*, a.title, m.name
FROM events e JOIN authorizations a ON a.id = e.object_id JOIN trust USING (account)
JOIN tenants n ON n.id = a.tenant_id JOIN merchants m ON m.id = n.merchant_id
WHERE e.xid > $1 AND e.xid <= $2 AND e.type = 'authorization.approved'
ORDER BY e.id, trust.is_trusted
"""
_TRUSTED_ACCOUNTS = f"""{_TRUST}
SELECT trust.*, b.bank, b.account_number, b.effective_at
FROM bank_accounts b JOIN trust USING (account)
WHERE b.xid > $1 AND b.xid <= $2 AND trust.is_trusted
ORDER BY b.id
"""

_DECIDED = """
SELECT j.action, j.object_type, j.merchant_id, m.name, j.before, j.after, j.reason
FROM journal j JOIN merchants m ON m.id = j.merchant_id
WHERE j.xid > $1 AND j.xid <= $2 AND (
    j.object_type IN ('balance', 'payout_terms') AND j.mode = 'live'
    OR j.action IN ('merchant.approve', 'application.refuse')
)
ORDER BY j.id
"""

_PAYOUTS = """
SELECT r.before, r.after, t.id AS tenant_id, t.merchant_id, m.name, a.bank, a.account_number,
    (
        SELECT string_agg(DISTINCT o.return_reason, '; ') FROM bank_orders o
        WHERE o.payout_id = r.key::uuid
    ) AS return_reason
FROM record_changes r
JOIN tenants t ON t.id = (r.after::json ->> 'tenant_id')::bigint AND t.mode = 'live'
JOIN merchants m ON m.id = t.merchant_id
LEFT JOIN bank_accounts a ON a.id = (r.after::json ->> 'bank_account_id')::uuid
WHERE r.xid > $1 AND r.xid <= $2 AND r.record = 'payouts' AND r.before IS NOT NULL
ORDER BY r.id
"""

_OWNERS = """
SELECT s.merchant_id, p.email, h.channel, coalesce(h.least, 0) AS least
FROM memberships s JOIN persons p ON p.id = s.person_id
LEFT JOIN message_choices h ON h.person_id = p.id
WHERE s.merchant_id = ANY($1) AND s.role = 'owner' ORDER BY p.email
"""

# Merchants with webhooks, of whom no owner had such a message in 24 hours.
_GIVEN_UP = """
SELECT t.id AS tenant_id, t.merchant_id, m.name FROM tenants t
JOIN merchants m ON m.id = t.merchant_id
WHERE t.id = ANY($1) AND t.mode = 'live' AND m.webhooks_enabled AND m.webhook_url IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM messages o WHERE o.kind = 'webhook_given_up' AND o.tenant_id = t.id
            AND o.created_at > now() - interval '24 hours'
    )
"""


class Written(NamedTuple):
    """A message, and the customer or the merchant whom it is for."""

    to: Recipient | str
    kind: MessageKind
    content: Struct
    tenant_id: int | None = None
    object_id: UUID | None = None


async def write_next(connection: Connection, outbox: Outbox, origin: str, step: int = STEP) -> bool:
    """Writes the messages of the next transactions, in the caller's; whether more are left.

    Without a channel the mark moves alone: no message waits for a transport that comes later.
    """
    if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", ADVISORY_LOCK):
        return False
    upto = await connection.fetchval("SELECT xid FROM messages_upto")
    last = await xid_horizon(connection)
    require_not_moved("messages are written", upto, last)
    end = min(last, upto + step)
    if end <= upto:
        return False
    found: list[Written] = []
    if outbox.channels:
        await connection.execute(FINDING)
        page = "withdraw" if outbox.withdrawals else "transactions"
        for query, written in (
            (_MOVED, partial(_moved, withdrawals=f"{origin}/app/{page}")),
            (_FROZEN, _frozen),
            (_DECIDED, _decided),
            (_PAYOUTS, _paid_out),
        ):
            rows = await connection.fetch(query, upto, end)
            found += written(rows, origin)
        if await connection.fetchval(_TRUST_EXISTS):
            for query, trusted in (
                (_TRUSTED_PAYMENTS, _large_payment),
                (_TRUSTED_AUTHORIZATIONS, _new_authorization),
                (_TRUSTED_ACCOUNTS, _new_account),
            ):
                rows = await connection.fetch(query, upto, end)
                found += map(trusted, rows)
    await _write(connection, outbox, found)
    # A single transaction is this job's own, of the last time: an idle service writes nothing.
    if found or end < last or end - upto > 1:
        await connection.execute("UPDATE messages_upto SET xid = $1", end)
    return bool(end < last)


async def write_given_up(
    connection: Connection, outbox: Outbox, origin: str, tenants: Iterable[int]
) -> None:
    """Tells the owners of these merchants that events were given up, once in a day."""
    if outbox.channels:
        rows = await connection.fetch(_GIVEN_UP, list(tenants))
        found = [
            Written(
                row["merchant_id"],
                "webhook_given_up",
                MerchantContent(row["name"], _page(origin, row["merchant_id"], "/webhooks")),
                row["tenant_id"],
            )
            for row in rows
        ]
        await _write(connection, outbox, found)


async def _write(connection: Connection, outbox: Outbox, found: list[Written]) -> None:
    owners = await _owners(connection, {each.to for each in found if isinstance(each.to, str)})
    world = World(
        datetime.now(UTC), "", os.urandom, channels=outbox.channels, keys=keys_of(outbox.master)
    )
    for to, kind, content, tenant_id, object_id in found:
        for recipient in owners.get(to, ()) if isinstance(to, str) else (to,):
            messages.send(world, recipient, kind, content, tenant_id=tenant_id, object_id=object_id)
    await save(connection, world)


async def _owners(connection: Connection, merchants: set[str]) -> dict[str, list[Recipient]]:
    found: dict[str, list[Recipient]] = {}
    if merchants:
        for row in await connection.fetch(_OWNERS, list(merchants)):
            choice = MessageChoice(row["channel"], row["least"])
            recipient = Recipient(row["email"], None, "en", None, choice)
            found.setdefault(row["merchant_id"], []).append(recipient)
    return found


def _customer(row: asyncpg.Record) -> Recipient:
    return Recipient(
        row["email"],
        row["mobile"],
        row["language"],
        row["customer_id"],
        MessageChoice(row["channel"], row["least"]),
    )


def _page(origin: str, merchant_id: str, path: str) -> str:
    return f"{origin}/dashboard/{merchant_id}/live{path}"


def _moved(rows: Iterable[asyncpg.Record], origin: str, *, withdrawals: str) -> Iterator[Written]:
    kinds: dict[str, MessageKind] = {"topup": "topup", "adjustment": "correction"}
    for row in rows:
        amount, balance = row["amount"], row["balance"]
        content: Struct
        match row["kind"]:
            case "refund" | "payment":
                kind: MessageKind = "refund" if row["kind"] == "refund" else "charge"
                path = "transactions" if kind == "refund" else "authorizations"
                content = ShopMovementContent(
                    abs(amount), row["name"], row["details"], balance, f"{origin}/app/{path}"
                )
            case "withdrawal" if row["return_reason"] is not None:
                kind = "withdrawal_returned"
                content = ReturnContent(amount, row["return_reason"], balance, withdrawals)
            case "withdrawal":
                kind, content = "withdrawal_cancelled", WithdrawalContent(amount, balance)
            case other:
                kind = kinds[other]
                content = WalletMovementContent(amount, row["details"], balance)
        yield Written(_customer(row), kind, content, row["tenant_id"], row["object_id"])


def _frozen(rows: Iterable[asyncpg.Record], origin: str) -> Iterator[Written]:
    for row in rows:
        kind: MessageKind = "wallet_frozen" if row["action"] == "frozen" else "wallet_unfrozen"
        yield Written(_customer(row), kind, FreezeContent(row["time"]))


def _decided(rows: Iterable[asyncpg.Record], origin: str) -> Iterator[Written]:
    for row in rows:
        shop, name, reason = row["merchant_id"], row["name"], row["reason"] or NOT_GIVEN
        before, after = _values(row["before"]), _values(row["after"])
        match row["object_type"], row["action"]:
            case "balance", _:
                yield _funds(row, before, after, _page(origin, shop, "/money"))
            case "payout_terms", _:
                paused, link = after.get("paused_reason"), _page(origin, shop, "/money")
                if paused == before.get("paused_reason"):
                    continue
                if paused is None:
                    yield Written(shop, "payouts_resumed", MerchantContent(name, link))
                else:
                    yield Written(shop, "payouts_paused", DecisionContent(name, str(paused), link))
            case "tenant", "merchant.approve":
                content = MerchantContent(name, _page(origin, shop, ""))
                yield Written(shop, "application_approved", content)
            case "application", "application.refuse":
                link = f"{origin}/dashboard/{shop}/sandbox/application"
                yield Written(shop, "application_refused", DecisionContent(name, reason, link))


def _of_trust(
    row: asyncpg.Record, kind: MessageKind, content: Struct, tenant_id: int | None = None
) -> Written:
    to = Recipient(row["email"], row["mobile"], row["language"], row["customer_id"])
    return Written(to, kind, content, tenant_id)


def _large_payment(row: asyncpg.Record) -> Written:
    payee = row["name"] or row["details"]
    content = TrustedPaymentContent(row["customer"], -row["amount"], payee, row["time"])
    # Messages about one merchant are bounded (`MOST_OF_A_MERCHANT`).
    return _of_trust(row, "trusted_payment", content, row["tenant_id"])


def _new_authorization(row: asyncpg.Record) -> Written:
    content = TrustedAuthorizationContent(row["customer"], row["name"], row["title"])
    return _of_trust(row, "trusted_authorization", content)


def _new_account(row: asyncpg.Record) -> Written:
    number = masked(row["account_number"])
    content = TrustedAccountContent(row["customer"], row["bank"], number, row["effective_at"])
    return _of_trust(row, "trusted_bank_account", content)


_FUNDS: dict[str, MessageKind] = {
    "merchant.hold": "merchant_hold",
    "merchant.release": "merchant_release",
    "merchant.adjust": "merchant_correction",
}


class _Funds(Struct):
    available: int
    held: int


def _values(text: str | None) -> dict[str, object]:
    return {} if text is None else json.decode(text, type=dict[str, object])


def _funds(
    row: asyncpg.Record, before: dict[str, object], after: dict[str, object], link: str
) -> Written:
    was, now = json.decode(row["before"], type=_Funds), json.decode(row["after"], type=_Funds)
    kind, change = _FUNDS[row["action"]], now.available - was.available
    content = FundsContent(
        amount=change if kind == "merchant_correction" else abs(change),
        merchant=row["name"],
        reason=row["reason"] or NOT_GIVEN,
        available=now.available,
        held=now.held,
        link=link,
    )
    return Written(row["merchant_id"], kind, content)


class _Payout(Struct):
    id: UUID
    number: int
    amount: int
    status: str
    returned_amount: int


def _paid_out(rows: Iterable[asyncpg.Record], origin: str) -> Iterator[Written]:
    for row in rows:
        before = json.decode(row["before"], type=_Payout)
        after = json.decode(row["after"], type=_Payout)
        shop, name, number = row["merchant_id"], row["name"], str(after.number)
        link = _page(origin, shop, f"/money/payouts/{ids.show_id(ids.PAYOUT, after.id)}")
        back = after.returned_amount - before.returned_amount
        content: Struct
        if back > 0:
            kind: MessageKind = "payout_returned"
            account_page = _page(origin, shop, "/money/bank")
            content = PayoutContent(back, name, number, row["return_reason"], account_page)
        elif after.status == before.status:
            continue
        elif after.status == "sent":
            kind, account = "payout_sent", f"{row['bank']} {masked(row['account_number'])}"
            content = PayoutContent(after.amount, name, number, account, link)
        elif after.status == "cancelled":
            kind = "payout_cancelled"
            content = CancelledPayoutContent(after.amount, name, number, link)
        else:
            continue
        yield Written(shop, kind, content, row["tenant_id"], after.id)
