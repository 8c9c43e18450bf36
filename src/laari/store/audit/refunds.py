"""Refunds against their payments, transfers and events."""

from laari.store.audit.accounts import MERCHANT
from laari.store.audit.difference import Check, shown

MOST = 50  # refunds of one payment
_TIMED = "{0}.created_at || ' by ' || {0}.xid"
_MOVED = "{0}.amount || ' from ' || {0}.debit || ' to ' || {0}.credit || ' for ' || {0}.payment_id"

CHECKS = [
    Check(
        "refund_transfer",
        "A refund moves its amount from the merchant to the payer, and nothing else does.",
        f"""SELECT coalesce({shown("rfd", "e.id")}, f.tid) AS id,
            coalesce({_MOVED.format("e")} || ' at ' || {_TIMED.format("e")}, 'no refund')
                AS expected,
            coalesce({_MOVED.format("f")} || ' at ' || {_TIMED.format("f")}, 'no transfer')
                AS found
        FROM (
            SELECT r.*, {MERCHANT} + r.tenant_id AS debit, p.payer_account AS credit
            FROM refunds r LEFT JOIN payments p ON p.id = r.payment_id
        ) e FULL JOIN (
            SELECT tid, payment_id, debit_account, credit_account, amount, created_at, xid
            FROM transfers WHERE kind = 'refund'
        ) f (tid, payment_id, debit, credit, amount, created_at, xid) ON f.tid = e.tid
        WHERE (e.payment_id, e.debit, e.credit, e.amount, e.created_at, e.xid) IS DISTINCT FROM
            (f.payment_id, f.debit, f.credit, f.amount, f.created_at, f.xid)""",
    ),
    Check(
        "refund_payment",
        "The refunds of a payment are not what the payment says of them.",
        f"""SELECT {shown("pay", "coalesce(p.id, r.payment_id)")} AS id,
            coalesce(r.amount, 0) || ' in ' || coalesce(r.count, 0) || ' refunds of tenant '
                || coalesce(r.tenant_id, p.tenant_id) AS expected,
            coalesce(p.status || ', ' || coalesce(p.refunded_amount, 0) || ' of ' || p.amount
                || ' of tenant ' || p.tenant_id || coalesce(' at ' || p.refunded_at, ''),
                'no payment') AS found
        FROM (
            SELECT payment_id, min(tenant_id) AS tenant_id, max(tenant_id) AS other_tenant,
                sum(amount) AS amount, count(*) AS count, array_agg(created_at) AS times
            FROM refunds GROUP BY payment_id
        ) r FULL JOIN (
            SELECT id, tenant_id, status, amount, refunded_amount, refunded_at FROM payments
            WHERE refunded_amount IS NOT NULL OR status = 'refunded'
                OR id IN (SELECT payment_id FROM refunds)
        ) p ON p.id = r.payment_id
        WHERE (r.tenant_id, r.other_tenant, r.amount)
                IS DISTINCT FROM (p.tenant_id, p.tenant_id, p.refunded_amount)
            OR r.count > {MOST} OR (p.status = 'refunded') <> (r.amount = p.amount)
            OR p.refunded_at <> ALL (r.times)""",
    ),
    Check(
        "refund_event",
        "A refund has one event, written with it.",
        f"""SELECT coalesce({shown("rfd", "r.id")}, {shown("evt", "e.id")}) AS id,
            coalesce('tenant ' || r.tenant_id || ' at ' || {_TIMED.format("r")}, 'no refund')
                AS expected,
            coalesce('tenant ' || e.tenant_id || ' at ' || {_TIMED.format("e")}, 'no event')
                AS found
        FROM refunds r
        FULL JOIN (SELECT * FROM events WHERE type = 'payment.refunded') e ON e.object_id = r.id
        WHERE (r.tenant_id, r.created_at, r.xid)
                IS DISTINCT FROM (e.tenant_id, e.created_at, e.xid)
            AND NOT (e.id IS NULL  -- events of a sandbox may have been purged
                AND r.tenant_id IN (SELECT id FROM tenants WHERE mode = 'sandbox'))""",
    ),
]
