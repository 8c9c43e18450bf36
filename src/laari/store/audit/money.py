"""Money: transfers against payments, accounts and balances."""

from laari.store.audit.difference import Check, shown_payment

# Every account there is: the service's own four, one per tenant, and the customers' wallets.
_ACCOUNTS = """accounts (account, mode) AS (
    VALUES (1::bigint, 'live'), (2, 'sandbox'), (3, 'live'), (4, 'sandbox')
    UNION ALL SELECT 1000000000 + id, mode FROM tenants
    UNION ALL SELECT account, mode FROM wallets
)"""

# What went from each account to each other, what every account has received and given, and what
# every tenant's payments come to.
_SUMS = """moved_between (debit, credit, amount) AS MATERIALIZED (
    SELECT debit_account, credit_account, sum(amount) FROM transfers
    GROUP BY debit_account, credit_account
), moved (account, amount) AS MATERIALIZED (
    SELECT account, sum(amount) FROM (
        SELECT credit AS account, amount FROM moved_between
        UNION ALL SELECT debit, -amount FROM moved_between
    ) sides GROUP BY account
), earned (tenant_id, net, fees) AS MATERIALIZED (
    SELECT tenant_id, sum(CASE status WHEN 'paid' THEN amount - fee WHEN 'refunded' THEN -fee
        ELSE 0 END), sum(fee)
    FROM payments GROUP BY tenant_id
)"""


CHECKS = [
    Check(
        "wallet_balance",
        "The wallet's balance is not the sum of its transfers.",
        """SELECT w.account::text AS id, coalesce(m.amount, 0)::text AS expected,
            w.balance::text AS found
        FROM wallets w LEFT JOIN moved m USING (account)
        WHERE w.balance <> coalesce(m.amount, 0)""",
        scope="all",
        queries=_SUMS,
    ),
    Check(
        "transfer_account",
        "Transfers name an account that does not exist.",
        f"""WITH {_ACCOUNTS}
        SELECT m.account::text AS id, 'an account' AS expected,
            'none, with ' || m.amount AS found
        FROM moved m LEFT JOIN accounts a USING (account) WHERE a.account IS NULL""",
        queries=_SUMS,
    ),
    Check(
        "transfer_mode",
        "The transfer moves money between the modes.",
        f"""WITH {_ACCOUNTS}, crossed AS MATERIALIZED (
            SELECT debit, credit, d.mode AS expected, c.mode AS found
            FROM moved_between m JOIN accounts d ON d.account = m.debit
            JOIN accounts c ON c.account = m.credit
            WHERE d.mode <> c.mode
        )
        SELECT t.id::text AS id, c.expected, c.found
        FROM transfers t JOIN crossed c ON c.debit = t.debit_account AND c.credit = t.credit_account
        WHERE EXISTS (SELECT FROM crossed)  -- otherwise the transfers are not even sorted
        """,
        queries=_SUMS,
    ),
    Check(
        "transfer_twice",
        "A payment has the same kind of transfer more than once.",
        f"""SELECT {shown_payment("payment_id")} AS id, '1 ' || kind AS expected,
            count(*) || ' ' || kind AS found
        FROM transfers WHERE payment_id IS NOT NULL
        GROUP BY payment_id, kind HAVING count(*) > 1""",
    ),
    Check(
        "merchant_total",
        "What the merchant's payments add up to is not what its account holds.",
        """SELECT t.merchant_id || ' ' || t.mode AS id, coalesce(e.net, 0)::text AS expected,
            coalesce(m.amount, 0)::text AS found
        FROM tenants t LEFT JOIN earned e ON e.tenant_id = t.id
        LEFT JOIN moved m ON m.account = 1000000000 + t.id
        WHERE coalesce(e.net, 0) <> coalesce(m.amount, 0)""",
        scope="all",
        queries=_SUMS,
    ),
    Check(
        "fee_total",
        "The fees of all payments are not what the service's fee account holds.",
        """SELECT a.mode AS id, coalesce(e.fees, 0)::text AS expected,
            coalesce(m.amount, 0)::text AS found
        FROM (VALUES (1, 'live'), (2, 'sandbox')) a (account, mode)
        LEFT JOIN (
            SELECT t.mode, sum(e.fees) FROM earned e JOIN tenants t ON t.id = e.tenant_id
            GROUP BY t.mode
        ) e (mode, fees) USING (mode)
        LEFT JOIN moved m USING (account)
        WHERE coalesce(e.fees, 0) <> coalesce(m.amount, 0)""",
        scope="all",
        queries=_SUMS,
    ),
    Check(
        "daily_figures",
        "The figures of a day are not the sums of its transfers.",
        """WITH upto AS (SELECT coalesce((SELECT xid FROM figures_upto), 0) AS xid),
        moved AS (
            SELECT p.tenant_id, (t.created_at AT TIME ZONE interval '5 hours')::date AS day,
                coalesce(p.terminal_label, '') AS terminal_label,
                count(*) FILTER (WHERE t.kind = 'payment') AS payments,
                coalesce(sum(t.amount) FILTER (WHERE t.kind = 'payment'), 0) AS gross,
                coalesce(sum(t.amount) FILTER (WHERE t.kind = 'fee'), 0) AS fees,
                count(*) FILTER (WHERE t.kind = 'refund') AS refunds,
                coalesce(sum(t.amount) FILTER (WHERE t.kind = 'refund'), 0) AS refunded
            FROM transfers t JOIN payments p ON p.id = t.payment_id
            WHERE t.xid <= (SELECT xid FROM upto) GROUP BY 1, 2, 3
        )
        SELECT tenant_id || ' ' || day || ' ' || terminal_label AS id,
            coalesce(m::text, 'nothing') AS expected, coalesce(f::text, 'nothing') AS found
        FROM moved m FULL JOIN daily_figures f USING (tenant_id, day, terminal_label)
        WHERE (m.payments, m.gross, m.fees, m.refunds, m.refunded)
            IS DISTINCT FROM (f.payments, f.gross, f.fees, f.refunds, f.refunded)
        UNION ALL
        SELECT 'added up to', 'before ' || xmax, xid::text
        FROM upto, (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint) AS now (xmax)
        WHERE xid >= xmax""",
        scope="all",
    ),
]
