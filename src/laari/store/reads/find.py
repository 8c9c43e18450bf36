"""The operator's search over everything: one text, and an index for each way to read it.

Each way is a limited number of look-ups and rows, whatever the number of payments and customers is.
Only a reference is looked up for each merchant: an index without the merchant would be written with
every payment.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import NamedTuple, Self
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules import ids
from laari.rules.calendar import start_of
from laari.rules.people.contacts import read_email, read_mobile, read_vpa
from laari.rules.records.authorizations import Authorization
from laari.rules.records.bank import BankLine
from laari.rules.records.payments import Payment, PaymentRequest
from laari.rules.records.payouts import BankOrder, Payout
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.records.wallets import Transaction
from laari.store.reads import authorizations, holders, payment_requests, payments, refunds
from laari.store.reads.holders import Holder
from laari.store.reads.money import bank, payouts
from laari.store.reads.search import payments_of_receipt, spellings
from laari.store.tables import AUTHORIZATIONS, PAYMENTS, TRANSACTIONS

LONGEST = 255  # characters of the text
LONGEST_REFERENCE = 128
_ACCOUNT = re.compile(r"[0-9]{1,18}", re.ASCII)
_LINK = re.compile(r".*/(pay|approve)/([A-Za-z0-9_-]{24})(?:[/?#].*)?", re.ASCII)
_MERCHANT = re.compile(r"mer_[a-z2-7]{20}", re.ASCII)

# Many merchants may use the same reference, such as `1`. At most 1,000 are read, in no order, and
# the newest of those are shown. OFFSET 0 keeps one look-up per tenant and spelling: a join may read
# all claims.
_MOST_READ = 1_000
_CLAIMS = f"""
SELECT kind, resource_id FROM (
    SELECT c.kind, c.resource_id
    FROM tenants t CROSS JOIN unnest($1::text[]) AS spelling CROSS JOIN LATERAL (
        SELECT kind, resource_id FROM reference_claims
        WHERE tenant_id = t.id AND reference = spelling OFFSET 0
    ) AS c
    LIMIT {_MOST_READ}
) AS found ORDER BY resource_id DESC LIMIT $2
"""
_AUTHORIZATIONS = f"""
SELECT * FROM (
    {AUTHORIZATIONS.select} WHERE reference = ANY($1) LIMIT {_MOST_READ}
) AS found ORDER BY id DESC LIMIT $2
"""

KINDS = (
    "customers",
    "merchants",
    "payments",
    "requests",
    "authorizations",
    "transactions",
    "payouts",
    "lines",
)
_MERCHANTS = "SELECT id, name, mode, active, created_at FROM merchants"
_NAMED = f"WHERE {holders.NAMED} LIMIT $2"


class FoundMerchant(Struct, frozen=True):
    id: str
    name: str
    mode: Mode
    active: bool
    created_at: datetime


class FoundPayout(NamedTuple):
    """A payout or a withdrawal, with its run and its orders to the bank."""

    payout: Payout
    run: int | None
    orders: list[BankOrder]


class TenantName(NamedTuple):
    """The merchant and mode of a found resource."""

    merchant_id: str
    merchant_name: str
    mode: Mode


@dataclass(frozen=True)
class Finds:
    """Everything that fits, by key.

    `tenants` has the merchants of the resources; `more` names the kinds with more than is shown.
    """

    customers: dict[UUID, Holder] = field(default_factory=dict)
    merchants: dict[str, FoundMerchant] = field(default_factory=dict)
    payments: dict[UUID, Payment] = field(default_factory=dict)
    requests: dict[UUID, PaymentRequest] = field(default_factory=dict)
    authorizations: dict[UUID, Authorization] = field(default_factory=dict)
    transactions: dict[str, Transaction] = field(default_factory=dict)
    payouts: dict[UUID, FoundPayout] = field(default_factory=dict)
    lines: dict[str, BankLine] = field(default_factory=dict)  # of the bank's statement
    tenants: dict[int, TenantName] = field(default_factory=dict)
    more: list[str] = field(default_factory=list)

    @classmethod
    def of_payments(cls, rows: Sequence[Payment], tenant: Tenant, most: int) -> Self:
        name = TenantName(tenant.merchant_id, tenant.merchant_name, tenant.mode)
        shown = {row.id: row for row in rows[:most]}
        more = ["payments"] if len(rows) > most else []
        return cls(payments=shown, tenants={tenant.id: name}, more=more)


async def find(
    connection: Connection, text: str, most: int, *, vpa_suffixes: Collection[str] = ()
) -> Finds:
    """Looks the text up in every way in which it can be read; at most `most` of each kind."""
    text = text.strip()[:LONGEST].replace("\0", "")
    found = Finds()
    if text and not await _by_id(connection, text, found):
        await _customers(connection, text, most + 1, vpa_suffixes, found)
        for row in await connection.fetch(f"{_MERCHANTS} {_NAMED}", text, most + 1):
            found.merchants[row["id"]] = FoundMerchant(**row)
        await _by_person(connection, text, most + 1, found)
        await _by_reference(connection, text, most + 1, found)
        await _by_receipt(connection, text.upper(), found)
        await _at_the_bank(connection, text, found)
    for name in KINDS:
        rows: dict[object, object] = getattr(found, name)
        while len(rows) > most:
            rows.popitem()
            if name not in found.more:
                found.more.append(name)
    found.tenants.update(await _tenants(connection, found))
    return found


async def _by_id(connection: Connection, text: str, found: Finds) -> bool:
    """Looks up an id or a public link; whether the text is one."""
    link = _LINK.fullmatch(text)
    if link is not None:
        page, token = link.groups()
        if page == "pay":
            paid = await payments.by_token(connection, [token])
            found.payments.update({row.id: row for row in paid.values()})
        else:
            approved = await authorizations.by_token(connection, [token])
            found.authorizations.update({row.id: row for row in approved.values()})
    elif _MERCHANT.fullmatch(text):
        for row in await connection.fetch(f"{_MERCHANTS} WHERE id = $1", text):
            found.merchants[text] = FoundMerchant(**row)
    elif (customer_id := ids.read_id(ids.CUSTOMER, text)) is not None:
        holder = await holders.by_customer(connection, customer_id)
        if holder is not None:
            found.customers[customer_id] = holder
    elif (payment_id := ids.read_id(ids.PAYMENT, text)) is not None:
        found.payments.update(await payments.by_id(connection, [payment_id]))
    elif (request_id := ids.read_id(ids.PAYMENT_REQUEST, text)) is not None:
        found.requests.update(await payment_requests.by_id(connection, [request_id]))
    elif (authorization_id := ids.read_id(ids.AUTHORIZATION, text)) is not None:
        found.authorizations.update(await authorizations.by_id(connection, [authorization_id]))
    else:
        return await _by_id_of_money(connection, text, found)
    return True


async def _by_id_of_money(connection: Connection, text: str, found: Finds) -> bool:
    """The same for a payout, and for a refund, whose payment is found."""
    payout_id, refund_id = ids.read_id(ids.PAYOUT, text), ids.read_id(ids.REFUND, text)
    if payout_id is not None:
        await _payouts(connection, [payout_id], found)
    if refund_id is not None:
        refunded = await refunds.by_id(connection, [refund_id])
        paid_ids = [refund.payment_id for refund in refunded.values()]
        found.payments.update(await payments.by_id(connection, paid_ids))
    return payout_id is not None or refund_id is not None


async def _customers(
    connection: Connection, text: str, most: int, vpa_suffixes: Collection[str], found: Finds
) -> None:
    for holder in await customers_named(connection, text, most, vpa_suffixes):
        found.customers.setdefault(holder.customer_id, holder)


async def customers_named(
    connection: Connection, text: str, most: int, vpa_suffixes: Collection[str] = ()
) -> list[Holder]:
    """Those with this account or contact come first, then those with these words in their name."""
    exact = await holders.with_contact(
        connection,
        account=int(text) if _ACCOUNT.fullmatch(text) else None,
        mobile=read_mobile(text),
        email=read_email(text),
        vpa=read_vpa(text, vpa_suffixes),
    )
    every = (*exact, *await holders.named(connection, text, most))
    return list({holder.customer_id: holder for holder in every}.values())


async def _by_person(connection: Connection, text: str, most: int, found: Finds) -> None:
    """The merchants to which a person with this email address logs in."""
    email = read_email(text)
    if email is None:
        return
    rows = await connection.fetch(
        f"{_MERCHANTS} WHERE id IN (SELECT b.merchant_id FROM persons p "
        "JOIN memberships b ON b.person_id = p.id WHERE p.email = $1) ORDER BY id LIMIT $2",
        email,
        most,
    )
    found.merchants.update({row["id"]: FoundMerchant(**row) for row in rows})


async def _at_the_bank(connection: Connection, text: str, found: Finds) -> None:
    """An order to the bank with its payout, and a line of the bank's statement."""
    ordered = await payouts.order_by_reference(connection, [text.upper()])
    await _payouts(connection, [order.payout_id for order in ordered.values()], found)
    found.lines.update(await bank.by_reference(connection, [text]))


async def _payouts(connection: Connection, payout_ids: Collection[UUID], found: Finds) -> None:
    rows = await payouts.by_id(connection, list(payout_ids))
    for each in await found_payouts(connection, list(rows.values())):
        found.payouts[each.payout.id] = each


async def found_payouts(connection: Connection, rows: Sequence[Payout]) -> list[FoundPayout]:
    """These payouts with their runs and orders."""
    orders = await payouts.orders(connection, [payout.id for payout in rows])
    runs = await payouts.run_by_id(
        connection, [payout.run_id for payout in rows if payout.run_id is not None]
    )
    return [
        FoundPayout(
            payout,
            None if payout.run_id is None else runs[payout.run_id].number,
            [order for order in orders if order.payout_id == payout.id],
        )
        for payout in rows
    ]


async def _by_reference(connection: Connection, text: str, most: int, found: Finds) -> None:
    if len(text) > LONGEST_REFERENCE:
        return
    written = spellings(text)
    wanted: dict[bool, list[UUID]] = {True: [], False: []}
    for kind, resource_id in await connection.fetch(_CLAIMS, written, most):
        wanted[kind == "request"].append(resource_id)
    paid = await payments.by_id(connection, wanted[False])
    found.payments.update({id: paid[id] for id in wanted[False] if id in paid})
    asked = await payment_requests.by_id(connection, wanted[True])
    found.requests.update({id: asked[id] for id in wanted[True] if id in asked})
    for row in await connection.fetch(_AUTHORIZATIONS, written, most):
        found.authorizations[row["id"]] = AUTHORIZATIONS.read(row)


async def _by_receipt(connection: Connection, tid: str, found: Finds) -> None:
    """The line of a customer's history, its payment and its customer."""
    if not ids.is_tid(tid):
        return
    row = await connection.fetchrow(f"{TRANSACTIONS.select} WHERE tid = $1", tid)
    if row is None:
        return
    line = TRANSACTIONS.read(row)
    found.transactions[tid] = line
    holder = await holders.by_account(connection, line.account)
    if holder is not None:
        found.customers[holder.customer_id] = holder
    for payment in await payments_of_receipt(connection, tid):
        found.payments[payment.id] = payment


async def _tenants(connection: Connection, found: Finds) -> dict[int, TenantName]:
    wanted = {each.tenant_id for each in found.payments.values()}
    wanted |= {each.tenant_id for each in found.requests.values()}
    wanted |= {each.tenant_id for each in found.authorizations.values()}
    paid_out = {each.payout.tenant_id for each in found.payouts.values()}
    wanted |= {each for each in paid_out if each is not None}
    return await tenant_names(connection, wanted)


async def tenant_names(
    connection: Connection, tenant_ids: Collection[int]
) -> dict[int, TenantName]:
    if not tenant_ids:
        return {}
    rows = await connection.fetch(
        "SELECT id, merchant_id, merchant_name, mode FROM tenant_details WHERE id = ANY($1)",
        list(tenant_ids),
    )
    return {
        row["id"]: TenantName(row["merchant_id"], row["merchant_name"], row["mode"]) for row in rows
    }


async def payments_of_amount(
    connection: Connection, tenant_id: int, amount: int, day: date, most: int
) -> list[Payment]:
    """A merchant's payments of this amount that were created on a Maldivian day, newest first."""
    start = start_of(day)
    rows = await connection.fetch(
        f"{PAYMENTS.select} WHERE tenant_id = $1 AND created_at >= $3 AND created_at < $4 "
        "AND amount = $2 ORDER BY created_at DESC, id DESC LIMIT $5",
        tenant_id,
        amount,
        start,
        start + timedelta(days=1),
        most,
    )
    return [PAYMENTS.read(row) for row in rows]
