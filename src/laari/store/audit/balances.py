"""The balances of merchants and of the service, and the figures behind the writers."""

from laari.store.audit.accounts import ACCOUNTS, HELD, MERCHANT, OF_MERCHANTS, SUMS, WALLET
from laari.store.audit.difference import Check

# The class of an account, as the table below writes it.
_CLASS = f"""CASE WHEN {{0}} >= {WALLET} THEN 'wallet' WHEN {{0}} >= {HELD} THEN 'held'
    WHEN {{0}} >= {MERCHANT} THEN 'merchant'
    ELSE (ARRAY['fees', 'outside', 'in transit', 'corrections', 'unallocated'])[({{0}} + 1) / 2]
    END"""
# From which class of account to which each kind of transfer moves money. Adjustments of the first
# versions used the outside account.
_MOVES = {
    "payment": ["wallet > merchant"],
    "fee": ["merchant > fees"],
    "refund": ["merchant > wallet"],
    "topup": ["outside > wallet", "unallocated > wallet"],
    "adjustment": [
        "corrections > wallet",
        "wallet > corrections",
        "outside > wallet",
        "wallet > outside",
    ],
    "payout": ["merchant > in transit"],
    "payout_settled": ["in transit > outside"],
    "payout_fee": ["merchant > fees", "fees > merchant"],
    # A bank may return money that it has confirmed.
    "payout_returned": ["in transit > merchant", "outside > merchant"],
    "hold": ["merchant > held"],
    "release": ["held > merchant"],
    "merchant_adjustment": ["merchant > corrections", "corrections > merchant"],
    "receipt": ["outside > unallocated", "unallocated > outside"],
    "withdrawal": ["wallet > in transit", "in transit > wallet", "outside > wallet"],
    "sweep": ["fees > outside"],
    "bank_charge": ["corrections > outside"],
}
_ALLOWED = ", ".join(f"('{kind}', '{move}')" for kind, moves in _MOVES.items() for move in moves)

# Transfers up to the mark of the figures, as movements of merchants.
_MOVED = f"""upto AS (SELECT coalesce((SELECT xid FROM figures_upto), 0) AS xid),
moved AS MATERIALIZED (
    SELECT p.tenant_id, (t.created_at AT TIME ZONE interval '5 hours')::date AS day,
        coalesce(p.terminal_label, '') AS terminal_label, t.kind, count(*) AS count,
        sum(t.amount) AS amount
    FROM transfers t JOIN payments p ON p.id = t.payment_id
    WHERE t.xid <= (SELECT xid FROM upto) GROUP BY 1, 2, 3, 4
    UNION ALL
    SELECT side.account - {MERCHANT}, (t.created_at AT TIME ZONE interval '5 hours')::date, '',
        CASE WHEN t.kind IN ('hold', 'release') THEN 'held' ELSE 'other' END, count(*),
        sum(side.amount)
    FROM transfers t CROSS JOIN LATERAL (
        VALUES (t.credit_account, t.amount), (t.debit_account, -t.amount)
    ) AS side (account, amount)
    WHERE t.xid <= (SELECT xid FROM upto) AND t.kind IN ({OF_MERCHANTS})
        AND side.account BETWEEN {MERCHANT} AND {HELD - 1}
    GROUP BY 1, 2, 3, 4
)"""


def _sum(*kinds: str, what: str = "amount") -> str:
    named = ", ".join(f"'{kind}'" for kind in kinds)
    return f"coalesce(sum({what}) FILTER (WHERE kind IN ({named})), 0)"


CHECKS = [
    Check(
        "merchant_total",
        "The merchant's payments and other movements do not add up to its account.",
        f"""SELECT t.merchant_id || ' ' || t.mode AS id,
            (coalesce(e.net, 0) + coalesce(o.amount, 0))::text AS expected,
            coalesce(m.amount, 0)::text AS found
        FROM tenants t LEFT JOIN earned e ON e.tenant_id = t.id
        LEFT JOIN others o ON o.tenant_id = t.id
        LEFT JOIN moved m ON m.account = {MERCHANT} + t.id
        WHERE coalesce(e.net, 0) + coalesce(o.amount, 0) <> coalesce(m.amount, 0)""",
        scope="all",
        queries=SUMS,
    ),
    Check(
        "fee_total",
        "The fees of all payments are not what the service earned.",
        """SELECT a.mode AS id, coalesce(e.fees, 0)::text AS expected,
            coalesce(m.amount, 0)::text AS found
        FROM (VALUES (1, 'live'), (2, 'sandbox')) a (account, mode)
        LEFT JOIN (
            SELECT t.mode, sum(e.fees) FROM earned e JOIN tenants t ON t.id = e.tenant_id
            GROUP BY t.mode
        ) e (mode, fees) USING (mode)
        LEFT JOIN (
            SELECT credit, sum(amount) FROM moved_between WHERE kind = 'fee' GROUP BY credit
        ) m (account, amount) USING (account)
        WHERE coalesce(e.fees, 0) <> coalesce(m.amount, 0)""",
        scope="all",
        queries=SUMS,
    ),
    Check(
        "transfer_kind",
        "A transfer moves money between accounts that its kind does not allow.",
        f"""SELECT m.kind || ' ' || m.debit || ' ' || m.credit AS id,
            coalesce((SELECT string_agg(a.move, ', ' ORDER BY a.move) FROM (VALUES {_ALLOWED})
                a (kind, move) WHERE a.kind = m.kind), 'no transfer') AS expected,
            m.move || ' of ' || m.amount AS found
        FROM (
            SELECT *, {_CLASS.format("debit")} || ' > ' || {_CLASS.format("credit")} AS move
            FROM moved_between
        ) m
        WHERE (m.kind, m.move) NOT IN (VALUES {_ALLOWED}) OR m.move IS NULL""",
        queries=SUMS,
    ),
    Check(
        "float",
        "The bank account does not hold what the service owes to others and has earned.",
        f"""WITH {ACCOUNTS}
        SELECT mode AS id,
            coalesce(sum(m.amount) FILTER (WHERE account NOT IN (3, 4)), 0)::text AS expected,
            (-coalesce(sum(m.amount) FILTER (WHERE account IN (3, 4)), 0))::text AS found
        FROM accounts JOIN moved m USING (account)
        GROUP BY mode HAVING sum(m.amount) <> 0""",
        scope="all",
        queries=SUMS,
    ),
    Check(
        "merchant_funds",
        "The fees of a merchant's refunded payments differ from the sum that its limit uses.",
        """SELECT coalesce(t.merchant_id || ' ' || t.mode, f.tenant_id::text) AS id,
            coalesce(e.refunded_fees, 0)::text AS expected,
            coalesce(f.refunded_fees::text, 'no row') AS found
        FROM tenants t FULL JOIN merchant_funds f ON f.tenant_id = t.id
        LEFT JOIN earned e ON e.tenant_id = t.id
        WHERE t.id IS NULL OR f.refunded_fees IS DISTINCT FROM coalesce(e.refunded_fees, 0)""",
        scope="all",
        queries=SUMS,
    ),
    Check(
        "daily_figures",
        "The figures of a day are not the sums of its transfers.",
        f"""SELECT tenant_id || ' ' || day || ' ' || terminal_label AS id,
            coalesce(m::text, 'nothing') AS expected, coalesce(f::text, 'nothing') AS found
        FROM (
            SELECT tenant_id, day, terminal_label, {_sum("payment", what="count")} AS payments,
                {_sum("payment")} AS gross, {_sum("fee")} AS fees,
                {_sum("refund", what="count")} AS refunds, {_sum("refund")} AS refunded,
                {_sum("held", "other")} AS others
            FROM moved GROUP BY tenant_id, day, terminal_label
        ) m FULL JOIN daily_figures f USING (tenant_id, day, terminal_label)
        WHERE (m.payments, m.gross, m.fees, m.refunds, m.refunded, m.others)
            IS DISTINCT FROM (f.payments, f.gross, f.fees, f.refunds, f.refunded, f.others)
        UNION ALL
        SELECT 'added up to', 'before ' || xmax, xid::text
        FROM upto, (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint) AS now (xmax)
        WHERE xid >= xmax""",
        scope="all",
        queries=_MOVED,
    ),
    Check(
        "merchant_balance",
        "The total of a merchant is not the sum of its movements.",
        f"""SELECT tenant_id::text AS id,
            coalesce(m.available || ', held ' || m.held, 'nothing') AS expected,
            coalesce(t.available || ', held ' || t.held, 'nothing') AS found
        FROM (
            SELECT tenant_id, {_sum("payment", "held", "other")} - {_sum("fee", "refund")}
                AS available, -{_sum("held")} AS held
            FROM moved GROUP BY tenant_id
        ) m FULL JOIN merchant_totals t USING (tenant_id)
        WHERE (m.available, m.held) IS DISTINCT FROM (t.available, t.held)""",
        scope="all",
        queries=_MOVED,
    ),
]
