"""Payouts and withdrawals against their transfers, movements, orders, files and events."""

from laari.store.audit.accounts import HELD, MERCHANT
from laari.store.audit.difference import Check, shown
from laari.store.reads.money.bank_files import REBUILT

# Withdrawals are of live wallets.
_LIVE = (
    "coalesce((SELECT mode FROM tenants WHERE id = p.tenant_id), "
    "(SELECT mode FROM wallets WHERE account = p.account)) = 'live'"
)
_IN_TRANSIT, _OUTSIDE, _FEES = (
    f"CASE WHEN {_LIVE} THEN {number} ELSE {number + 1} END" for number in (5, 3, 1)
)
_OWNER = f"coalesce(p.account, {MERCHANT} + p.tenant_id)"
_LEAVING, _RETURNING = (
    f"CASE WHEN p.account IS NULL THEN '{kind}' ELSE 'withdrawal' END"
    for kind in ("payout", "payout_returned")
)
_MOVED = "{0}.kind || ' of ' || {0}.amount || ' from ' || {0}.debit || ' to ' || {0}.credit"

# The transfers that payouts and their orders must have.
_CALLED = f"""
    SELECT p.transfer_id, {_LEAVING}, {_OWNER}, {_IN_TRANSIT}, p.amount, p.created_at
    FROM payouts p
    UNION ALL
    SELECT p.cancelled_transfer_id, {_RETURNING}, {_IN_TRANSIT}, {_OWNER}, p.amount,
        p.cancelled_at
    FROM payouts p WHERE p.status = 'cancelled'
    UNION ALL
    SELECT o.settled_transfer_id, 'payout_settled', {_IN_TRANSIT}, {_OUTSIDE}, o.amount,
        o.settled_at
    FROM bank_orders o JOIN payouts p ON p.id = o.payout_id WHERE o.settled_at IS NOT NULL
    UNION ALL
    SELECT o.returned_transfer_id, {_RETURNING},
        CASE WHEN o.settled_at IS NULL THEN {_IN_TRANSIT} ELSE {_OUTSIDE} END, {_OWNER},
        o.amount, o.returned_at
    FROM bank_orders o JOIN payouts p ON p.id = o.payout_id WHERE o.returned_at IS NOT NULL"""

# Each movement of a merchant belongs to the first payout after it that saw its transaction.
_LEAVES = f"t.debit_account BETWEEN {MERCHANT} AND {HELD - 1}"
_BELONGS = f"""
    SELECT of_payout.id, sum(CASE WHEN {_LEAVES} THEN -t.amount ELSE t.amount END) AS amount
    FROM transfers t CROSS JOIN LATERAL (
        SELECT p.id FROM payouts p
        WHERE p.tenant_id = CASE WHEN {_LEAVES} THEN t.debit_account ELSE t.credit_account END
                - {MERCHANT}
            AND p.cut_off > t.created_at AND p.xid <> t.xid
            AND pg_visible_in_snapshot(t.xid::text::xid8, p.snapshot::pg_snapshot)
        ORDER BY p.cut_off, p.number LIMIT 1
    ) AS of_payout
    WHERE ({_LEAVES} OR t.credit_account BETWEEN {MERCHANT} AND {HELD - 1})
        AND NOT (t.kind = 'payout' OR t.kind = 'payout_fee' AND {_LEAVES})
    GROUP BY of_payout.id"""

CHECKS = [
    Check(
        "payout_transfer",
        "A payout's transfers do not fit its state.",
        f"""SELECT coalesce(e.id, f.id)::text AS id,
            coalesce({_MOVED.format("e")} || ' at ' || e.at, 'no transfer') AS expected,
            coalesce({_MOVED.format("f")} || ' at ' || f.at, 'no transfer') AS found
        FROM ({_CALLED}) e (id, kind, debit, credit, amount, at)
        FULL JOIN (
            SELECT id, kind, debit_account, credit_account, amount, created_at FROM transfers
            WHERE kind IN ('payout', 'payout_settled', 'payout_returned', 'withdrawal')
        ) f (id, kind, debit, credit, amount, at) ON f.id = e.id
        WHERE (e.kind, e.debit, e.credit, e.amount, e.at)
            IS DISTINCT FROM (f.kind, f.debit, f.credit, f.amount, f.at)""",
    ),
    Check(
        "payout_fee",
        "The fees of payouts differ from the fees that were taken or returned.",
        f"""SELECT coalesce(e.tid, f.tid) AS id,
            coalesce(e.amount || ' from ' || e.debit || ' to ' || e.credit, 'no fee') AS expected,
            coalesce(f.amount || ' from ' || f.debit || ' to ' || f.credit, 'no fee') AS found
        FROM (
            SELECT t.tid, {_OWNER}, {_FEES}, p.fee
            FROM payouts p JOIN transfers t ON t.id = p.transfer_id WHERE p.fee > 0
            UNION ALL
            SELECT t.tid, {_FEES}, {_OWNER}, p.fee
            FROM payouts p JOIN transfers t ON t.id = p.cancelled_transfer_id WHERE p.fee > 0
        ) e (tid, debit, credit, amount)
        FULL JOIN (
            -- A second transfer of the same fee changes the sum.
            SELECT tid, debit_account, credit_account, sum(amount) FROM transfers
            WHERE kind = 'payout_fee' GROUP BY tid, debit_account, credit_account
        ) f (tid, debit, credit, amount) ON f.tid = e.tid
        WHERE (e.debit, e.credit, e.amount) IS DISTINCT FROM (f.debit, f.credit, f.amount)""",
    ),
    Check(
        "payout_movements",
        "The movements of a payout do not add up to its amount and its fee.",
        f"""SELECT {shown("po", "p.id")} AS id, (p.amount + p.fee)::text AS expected,
            coalesce(b.amount, 0)::text AS found
        FROM payouts p LEFT JOIN ({_BELONGS}) b USING (id)
        WHERE p.tenant_id IS NOT NULL AND p.amount + p.fee <> coalesce(b.amount, 0)""",
        scope="all",
    ),
    Check(
        "payout_chain",
        "The payouts of an owner are not numbered without gaps, or their cut-offs go back.",
        f"""SELECT {shown("po", "id")} AS id, 'number ' || place || ', not before ' || before
                AS expected,
            'number ' || number || ', cut off at ' || cut_off AS found
        FROM (
            SELECT id, tenant_id, number, cut_off,
                row_number() OVER in_order AS place,
                coalesce(lag(cut_off) OVER in_order, cut_off) AS before
            FROM payouts WINDOW in_order AS (PARTITION BY tenant_id, account ORDER BY number)
        ) AS chained WHERE number <> place OR cut_off < before AND tenant_id IS NOT NULL
        UNION ALL
        SELECT 'tenant ' || f.tenant_id,
            coalesce(p.number, 0) || ' at ' || coalesce(p.cut_off::text, 'no time'),
            f.last_payout || ' at ' || coalesce(f.paid_out_upto::text, 'no time')
        FROM merchant_funds f LEFT JOIN (
            SELECT tenant_id, max(number) AS number, max(cut_off) AS cut_off FROM payouts
            GROUP BY tenant_id
        ) p USING (tenant_id)
        WHERE (f.last_payout, f.paid_out_upto)
            IS DISTINCT FROM (coalesce(p.number, 0), p.cut_off)""",
        scope="all",
    ),
    Check(
        "late_transfer",
        "A transfer that was added up late is not one of this merchant at this time.",
        f"""SELECT l.transfer_id::text AS id, l.tenant_id || ' at ' || l.created_at AS expected,
            coalesce(t.debit_account || ' to ' || t.credit_account || ' at ' || t.created_at,
                'no transfer') AS found
        FROM late_transfers l LEFT JOIN transfers t ON t.id = l.transfer_id
        WHERE t.created_at IS DISTINCT FROM l.created_at
            OR {MERCHANT} + l.tenant_id NOT IN (t.debit_account, t.credit_account)""",
        scope="all",
    ),
    Check(
        "payout_orders",
        "The orders of a payout do not fit its amount and state.",
        f"""SELECT coalesce({shown("po", "p.id")}, o.payout_id::text) AS id,
            coalesce(p.status || ', ' || p.amount || ', returned ' || p.returned_amount,
                'no payout') AS expected,
            coalesce(o.amount || ', returned ' || o.returned || ', waiting ' || o.waiting, 'none')
                AS found
        FROM payouts p FULL JOIN (
            SELECT payout_id, sum(amount) AS amount,
                coalesce(sum(amount) FILTER (WHERE status = 'returned'), 0) AS returned,
                count(*) FILTER (WHERE status = 'sent') AS waiting
            FROM bank_orders GROUP BY payout_id
        ) o ON o.payout_id = p.id
        WHERE p.id IS NULL OR CASE
            WHEN p.status IN ('requested', 'approved', 'cancelled') THEN o.payout_id IS NOT NULL
            ELSE (p.amount, p.returned_amount) IS DISTINCT FROM (o.amount, o.returned)
                OR (p.status = 'sent') <> (o.waiting > 0)
                OR p.status = 'settled' AND o.returned > 0
                OR p.status = 'returned' AND o.returned = 0 END""",
    ),
    Check(
        "payout_run",
        "A run, its payouts and its file do not agree.",
        f"""SELECT r.mode || ' run ' || r.number AS id,
            r.status || ', ' || coalesce(p.total, 0) || ' in ' || coalesce(p.orders, 0)
                || ' orders' AS expected,
            coalesce(p.statuses, 'no payouts') || ', ' || coalesce(f.total || ' in '
                || f.order_count || ' orders', 'no file') AS found
        FROM payout_runs r LEFT JOIN bank_files f ON f.run_id = r.id
        LEFT JOIN (
            SELECT p.run_id, sum(o.total)::bigint AS total, sum(o.orders)::bigint AS orders,
                string_agg(DISTINCT p.status, ', ') AS statuses,
                bool_or(p.status IN ('sent', 'settled', 'returned')) AS some_sent,
                bool_or(p.status = 'requested') AS some_requested,
                bool_or(p.status = 'approved') AS some_approved,
                bool_or(CASE WHEN {_LIVE} THEN 'live' ELSE 'sandbox' END <> r.mode) AS other_mode
            FROM payouts p JOIN payout_runs r ON r.id = p.run_id
            LEFT JOIN (
                SELECT payout_id, sum(amount) AS total, count(*) AS orders FROM bank_orders
                GROUP BY payout_id
            ) o ON o.payout_id = p.id
            GROUP BY p.run_id
        ) p ON p.run_id = r.id
        WHERE (r.status = 'sent') <> (f.run_id IS NOT NULL)
            OR f.run_id IS NOT NULL
                AND (f.total, f.order_count) IS DISTINCT FROM (p.total, p.orders)
            OR p.other_mode OR p.some_sent AND r.status <> 'sent'
            OR p.some_requested AND r.status <> 'requested'
            OR p.some_approved AND r.status <> 'approved'
        UNION ALL
        SELECT {shown("po", "p.id")}, 'a run', 'no run ' || p.run_id
        FROM payouts p LEFT JOIN payout_runs r ON r.id = p.run_id
        WHERE p.run_id IS NOT NULL AND r.id IS NULL""",
        scope="all",
    ),
    Check(
        "bank_file",
        "A bank's file has other bytes than its run, orders and bank accounts make.",
        f"""SELECT r.mode || ' run ' || r.number AS id,
            m.order_count || ' orders of ' || m.total || ', digest ' || m.digest AS expected,
            f.order_count || ' orders of ' || f.total || ', digest ' || f.digest || ', bytes '
                || encode(sha256(f.content), 'hex') AS found
        FROM bank_files f JOIN payout_runs r ON r.id = f.run_id
        LEFT JOIN ({REBUILT}) AS m USING (run_id)
        WHERE (f.order_count, f.total, f.digest, f.content)
            IS DISTINCT FROM (m.order_count, m.total, m.digest, m.content)""",
        scope="all",
    ),
    Check(
        "payout_event",
        "The payout's events are not the ones its state calls for.",
        f"""SELECT {shown("po", "coalesce(e.id, f.id)")} AS id,
            coalesce(e.type || ' of tenant ' || e.tenant_id || ' at ' || e.at, 'no such event')
                AS expected,
            coalesce(f.type || ' of tenant ' || f.tenant_id || ' at ' || f.at, 'no such event')
                AS found
        FROM (
            SELECT id, tenant_id, called.type, called.at FROM payouts CROSS JOIN LATERAL (
                VALUES ('payout.sent', sent_at), ('payout.settled', settled_at),
                    ('payout.returned', returned_at)
            ) AS called (type, at) WHERE called.at IS NOT NULL AND tenant_id IS NOT NULL
            UNION  -- orders that came back after the payout had
            SELECT p.id, p.tenant_id, 'payout.returned', o.returned_at
            FROM payouts p JOIN bank_orders o ON o.payout_id = p.id
            WHERE o.returned_at > p.returned_at AND p.tenant_id IS NOT NULL
        ) e FULL JOIN (
            SELECT object_id, tenant_id, type, created_at FROM events
            WHERE starts_with(type, 'payout.')
        ) f (id, tenant_id, type, at) ON (f.id, f.type, f.at) = (e.id, e.type, e.at)
        WHERE e.tenant_id IS DISTINCT FROM f.tenant_id
            AND NOT (f.id IS NULL  -- events of a sandbox may have been purged
                AND e.tenant_id IN (SELECT id FROM tenants WHERE mode = 'sandbox'))""",
    ),
    Check(
        "fund_movement",
        "A hold, a release or a correction of a merchant has no reason, or a reason no movement.",
        f"""SELECT coalesce(t.id, f.transfer_id)::text AS id,
            coalesce(t.kind || ' of tenant ' || t.tenant_id || ' at ' || t.created_at,
                'no transfer') AS expected,
            coalesce('tenant ' || f.tenant_id || ' at ' || f.created_at, 'no reason') AS found
        FROM (
            SELECT t.*, CASE WHEN {_LEAVES} THEN debit_account ELSE credit_account END - {MERCHANT}
                AS tenant_id
            FROM transfers t WHERE kind IN ('hold', 'release', 'merchant_adjustment')
        ) t FULL JOIN fund_movements f ON f.transfer_id = t.id
        WHERE (t.tenant_id, t.created_at, t.xid) IS DISTINCT FROM (f.tenant_id, f.created_at, f.xid)
        """,
    ),
    Check(
        "bank_line",
        "A line of the bank's statement and the movement of its money do not agree.",
        """SELECT l.reference AS id, l.use || ' of ' || abs(l.amount) || coalesce(' to account '
                || l.account, '') || coalesce(', order ' || l.order_reference, '') AS expected,
            coalesce(t.kind || ' of ' || t.amount || ' from ' || t.debit_account || ' to '
                || t.credit_account, 'no transfer') AS found
        FROM bank_lines l LEFT JOIN (
            SELECT * FROM transfers WHERE kind IN ('topup', 'receipt', 'payout_settled',
                'payout_returned', 'withdrawal', 'bank_charge', 'sweep')
                AND tid IN (SELECT tid FROM bank_lines)
        ) t ON t.tid = l.tid
        LEFT JOIN bank_orders o ON o.reference = l.order_reference
        WHERE l.tid IS NOT NULL AND (t.amount <> abs(l.amount) OR CASE l.use
                WHEN 'topup' THEN (t.kind, t.debit_account, t.credit_account)
                    = ('topup', 3, l.account)
                WHEN 'assigned' THEN (t.kind, t.debit_account, t.credit_account)
                    = ('topup', 9, l.account)
                WHEN 'receipt' THEN (t.kind, t.debit_account, t.credit_account)
                    = ('receipt', 3, 9)
                WHEN 'sent_back' THEN (t.kind, t.debit_account, t.credit_account)
                    = ('receipt', 9, 3)
                WHEN 'charge' THEN (t.kind, t.debit_account, t.credit_account)
                    = ('bank_charge', 7, 3)
                WHEN 'matched' THEN l.amount < 0 AND (t.kind, t.debit_account, t.credit_account)
                    IN (('receipt', 9, 3), ('sweep', 1, 3))
                WHEN 'settled' THEN t.id = o.settled_transfer_id
                WHEN 'returned' THEN t.id = o.returned_transfer_id
                ELSE false END IS NOT TRUE)
            OR l.booked_at IS DISTINCT FROM CASE
                WHEN l.use IN ('receipt', 'assigned', 'sent_back') THEN l.imported_at
                WHEN l.use IN ('topup', 'charge', 'matched') THEN t.created_at
                WHEN l.use = 'settled' OR o.settled_at IS NULL THEN o.settled_at
                ELSE o.returned_at END
            OR l.order_reference IS NOT NULL AND o.amount IS DISTINCT FROM abs(l.amount)
        UNION ALL
        SELECT t.tid, 'a line', t.kind || ' of ' || t.amount FROM transfers t
        WHERE t.kind = 'bank_charge'
            AND NOT EXISTS (SELECT FROM bank_lines l WHERE l.tid = t.tid AND l.use = 'charge')
        UNION ALL
        SELECT min(reference), 'one line of ' || tid, count(*) || ' lines' FROM bank_lines
        WHERE use = 'matched' AND tid IS NOT NULL GROUP BY tid HAVING count(*) > 1""",
        scope="all",
    ),
    Check(
        "bank_statement",
        "The bytes of a statement do not fit its digest, or a confirmed statement is missing.",
        """SELECT digest AS id, digest AS expected, encode(sha256(content), 'hex') AS found
        FROM bank_statements WHERE encode(sha256(content), 'hex') <> digest
        UNION ALL
        SELECT m.reference, 'a statement', 'none' FROM pending_movements m
        WHERE m.kind = 'import' AND m.status <> 'refused'
            AND NOT EXISTS (SELECT FROM bank_statements s WHERE s.digest = m.reference)
        UNION ALL
        SELECT l.reference, 'a confirmed import', coalesce(m.kind || ', ' || m.status, 'none')
        FROM bank_lines l LEFT JOIN pending_movements m ON m.id = l.movement_id
        WHERE l.movement_id IS NOT NULL AND (m.kind, m.status) IS DISTINCT FROM ('import', 'done')
        """,
        scope="all",
    ),
    Check(
        "unallocated",
        "The unallocated money is not the sum of the receipts that wait.",
        """SELECT 'live' AS id,
            coalesce((SELECT sum(amount) FROM bank_lines WHERE use = 'receipt'), 0)::text
                AS expected,
            coalesce((SELECT sum(CASE WHEN credit_account = 9 THEN amount ELSE -amount END)
                FROM transfers WHERE 9 IN (credit_account, debit_account)), 0)::text AS found
        WHERE coalesce((SELECT sum(amount) FROM bank_lines WHERE use = 'receipt'), 0)
            <> coalesce((SELECT sum(CASE WHEN credit_account = 9 THEN amount ELSE -amount END)
                FROM transfers WHERE 9 IN (credit_account, debit_account)), 0)""",
        scope="all",
    ),
    Check(
        "fee_sweep",
        "A sweep of fees and its transfer do not agree.",
        """SELECT coalesce(s.transfer_id, t.id)::text AS id,
            coalesce(s.mode || ' ' || s.amount || ' at ' || s.created_at, 'no sweep') AS expected,
            coalesce(t.debit_account || ' ' || t.amount || ' at ' || t.created_at, 'no transfer')
                AS found
        FROM fee_sweeps s FULL JOIN (SELECT * FROM transfers WHERE kind = 'sweep') t
            ON t.id = s.transfer_id
        WHERE (CASE s.mode WHEN 'live' THEN 1 ELSE 2 END, s.amount, s.created_at)
            IS DISTINCT FROM (t.debit_account, t.amount, t.created_at)""",
    ),
]
