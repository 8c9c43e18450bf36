"""Adds ended transactions to the sums of days and balances, behind the writers."""

from asyncpg import Connection

from laari.rules.ledger import FIRST_MERCHANT_ACCOUNT
from laari.store.ledger.seals import require_not_moved, xid_horizon
from laari.store.reads.figures import (
    DAY,
    OF_OTHERS,
    OF_PAYMENTS,
    OTHER_ACCOUNT,
    OTHER_AMOUNT,
    OTHERS,
    PLANNING,
    SUMS,
)

STEP = 200_000  # transactions that are added at a time

_ADD = f"""
WITH moved AS MATERIALIZED (
    SELECT p.tenant_id, {DAY}, coalesce(p.terminal_label, '') AS terminal_label, {SUMS},
        0::numeric AS held
    FROM transfers t JOIN payments p ON p.id = t.payment_id
    WHERE t.xid > $1 AND t.xid <= $2 AND {OF_PAYMENTS}
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT {OTHER_ACCOUNT} - {FIRST_MERCHANT_ACCOUNT}, {DAY}, '', {OTHERS},
        -coalesce(sum({OTHER_AMOUNT}) FILTER (WHERE t.kind IN ('hold', 'release')), 0)
    FROM transfers t
    WHERE t.xid > $1 AND t.xid <= $2 AND {OF_OTHERS}
    GROUP BY 1, 2, 3
), added AS (
    INSERT INTO daily_figures AS f
    SELECT tenant_id, day, terminal_label, sum(payments), sum(gross), sum(fees), sum(refunds),
        sum(refunded), sum(others)
    FROM moved GROUP BY tenant_id, day, terminal_label
    ON CONFLICT (tenant_id, day, terminal_label) DO UPDATE SET
        payments = f.payments + excluded.payments, gross = f.gross + excluded.gross,
        fees = f.fees + excluded.fees, refunds = f.refunds + excluded.refunds,
        refunded = f.refunded + excluded.refunded, others = f.others + excluded.others
), totalled AS (
    INSERT INTO merchant_totals AS m
    SELECT tenant_id, sum(gross - fees - refunded + others), sum(held)
    FROM moved GROUP BY tenant_id
    ON CONFLICT (tenant_id) DO UPDATE SET
        available = m.available + excluded.available, held = m.held + excluded.held
), late AS (
    INSERT INTO late_transfers
    SELECT f.tenant_id, t.created_at, t.id
    FROM transfers t JOIN merchant_funds f
        ON f.tenant_id = {OTHER_ACCOUNT} - {FIRST_MERCHANT_ACCOUNT}
    WHERE t.xid > $1 AND t.xid <= $2 AND t.created_at < f.paid_out_upto
)
UPDATE figures_upto SET xid = $2
"""


async def add_up(connection: Connection, step: int = STEP) -> bool:
    """Adds the next ended transactions, in the caller's transaction; whether more are left."""
    upto = await connection.fetchval("SELECT xid FROM figures_upto FOR UPDATE SKIP LOCKED")
    if upto is None:
        return False
    last = await xid_horizon(connection)
    require_not_moved("daily figures are added", upto, last)
    end = min(last, upto + step)
    await connection.execute(PLANNING)
    newer = "SELECT EXISTS (SELECT FROM transfers WHERE xid > $1 AND xid <= $2)"
    if end > upto and (end < last or await connection.fetchval(newer, upto, end)):
        await connection.execute(_ADD, upto, end)
    return bool(end < last)
