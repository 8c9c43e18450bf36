"""The sums of a merchant's days by till, and its balance, added up behind the writers.

A row that every payment changed would make all payments of a merchant wait for each other. So the
background process adds ended transactions, and readers add the few newer transfers.
"""

from __future__ import annotations

from datetime import date
from operator import add
from typing import NamedTuple

from asyncpg import Connection

from laari.rules.ledger import FIRST_HELD_ACCOUNT, FIRST_MERCHANT_ACCOUNT

# The payment has the fee, so that only one of its transfers is read.
SUMS = """
    count(*) FILTER (WHERE t.kind = 'payment') AS payments,
    coalesce(sum(t.amount) FILTER (WHERE t.kind = 'payment'), 0) AS gross,
    coalesce(sum(p.fee) FILTER (WHERE t.kind = 'payment'), 0) AS fees,
    count(*) FILTER (WHERE t.kind = 'refund') AS refunds,
    coalesce(sum(t.amount) FILTER (WHERE t.kind = 'refund'), 0) AS refunded, 0::bigint AS others"""
OF_PAYMENTS = "t.kind IN ('payment', 'refund')"
# By the tenant's clock, so that days that have ended do not change.
DAY = "(t.created_at AT TIME ZONE interval '5 hours')::date AS day"

# Movements between a merchant and another account than a customer's or the fees.
OTHER_KINDS = (
    "payout",
    "payout_fee",
    "payout_returned",
    "hold",
    "release",
    "merchant_adjustment",
)
OF_OTHERS = f"t.kind IN ({', '.join(map(repr, OTHER_KINDS))})"
LEAVES = f"t.debit_account BETWEEN {FIRST_MERCHANT_ACCOUNT} AND {FIRST_HELD_ACCOUNT - 1}"
# As in the index `transfers_of_merchants`.
OTHER_ACCOUNT = f"(CASE WHEN {LEAVES} THEN t.debit_account ELSE t.credit_account END)"
OTHER_AMOUNT = f"(CASE WHEN {LEAVES} THEN -t.amount ELSE t.amount END)"
OTHERS = f"0, 0, 0, 0, 0, sum({OTHER_AMOUNT})::bigint"

# The movements of a tenant's payments after the mark, for queries that add them to the figures.
NEWER_SALES = f"""
    SELECT {DAY}, coalesce(p.terminal_label, '') AS terminal_label, {SUMS}
    FROM transfers t JOIN payments p ON p.id = t.payment_id
    WHERE t.xid > (SELECT xid FROM figures_upto) AND {OF_PAYMENTS} AND p.tenant_id = $1
    GROUP BY 1, 2"""

_READ = f"""
SELECT day, terminal_label, sum(payments)::bigint AS payments, sum(gross)::bigint AS gross,
    sum(fees)::bigint AS fees, sum(refunds)::bigint AS refunds, sum(refunded)::bigint AS refunded,
    sum(others)::bigint AS others
FROM (
    SELECT day, terminal_label, payments, gross, fees, refunds, refunded, others
    FROM daily_figures WHERE tenant_id = $1 AND day >= $2 AND day <= $3
    UNION ALL
    SELECT newer.* FROM (
        {NEWER_SALES}
        UNION ALL
        SELECT {DAY}, '', {OTHERS} FROM transfers t
        WHERE t.xid > (SELECT xid FROM figures_upto) AND {OF_OTHERS}
            AND {OTHER_ACCOUNT} = {FIRST_MERCHANT_ACCOUNT} + $1
        GROUP BY 1, 2
    ) AS newer WHERE day >= $2 AND day <= $3
) AS figures
GROUP BY day, terminal_label ORDER BY day, terminal_label
"""

_CHANGE = f"""
SELECT coalesce(sum(gross - fees - refunded + others), 0) FROM ({_READ}) AS days
"""

# The best plan depends on the number of new rows.
PLANNING = "SET LOCAL plan_cache_mode = force_custom_plan"
# Readers find the few new rows by their transaction, and their payments by their id, whatever the
# planner knows about the tables.
FINDING = f"""
{PLANNING};
SET LOCAL enable_seqscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off
"""


class Figures(NamedTuple):
    """Paid payments and their sum, their fees, the refunds, and the sum of other movements."""

    payments: int = 0
    gross: int = 0
    fees: int = 0
    refunds: int = 0
    refunded: int = 0
    others: int = 0  # payouts, holds and adjustments; negative if money left

    @property
    def net(self) -> int:
        """Of payments and refunds. The fee of a refunded payment stays with the service."""
        return self.gross - self.fees - self.refunded

    @property
    def change(self) -> int:
        """Of the merchant's balance."""
        return self.net + self.others

    def plus(self, other: Figures) -> Figures:
        return Figures(*map(add, self, other))


class Day(NamedTuple):
    """One day of one till; the label is empty for payments that name none."""

    day: date
    terminal_label: str
    figures: Figures


class Span(NamedTuple):
    tenant_id: int
    first: date
    last: date


async def of_days(connection: Connection, span: Span) -> list[Day]:
    """The figures of these days by till, exact up to this moment."""
    async with connection.transaction(readonly=True):
        await connection.execute(FINDING)
        rows = await connection.fetch(_READ, *span)
    return [_day(**row) for row in rows]


def _day(day: date, terminal_label: str, **sums: int) -> Day:
    return Day(day, terminal_label, Figures(**sums))


async def change_since(connection: Connection, tenant_id: int, day: date) -> int:
    """The change of a merchant's balance on this day and all later ones."""
    async with connection.transaction(readonly=True):
        await connection.execute(FINDING)
        return int(await connection.fetchval(_CHANGE, tenant_id, day, date.max))
