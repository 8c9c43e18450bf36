"""What has to hold between the rows of the books, one query each.

Nothing here uses the service's own code: what an account number means, which transfers a payment
makes and which events it has are said again. Each check is one set-based statement that answers
the rows that differ, as (id, expected, found).
"""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    kind: str
    message: str
    sql: str


# Every account there is: the service's own four, one per tenant, and the customers' wallets.
_ACCOUNTS = """accounts (account, mode) AS (
    VALUES (1::bigint, 'live'), (2, 'sandbox'), (3, 'live'), (4, 'sandbox')
    UNION ALL SELECT 1000000000 + id, mode FROM tenants
    UNION ALL SELECT account, mode FROM wallets
)"""

# What every account has received and given.
_MOVED = """moved (account, amount) AS (
    SELECT account, sum(amount) FROM (
        SELECT credit_account AS account, amount FROM transfers
        UNION ALL SELECT debit_account, -amount FROM transfers
    ) sides GROUP BY account
)"""


def _shown_payment(column: str) -> str:
    return f"'pay_' || replace({column}::text, '-', '')"


def _shown_authorization(column: str) -> str:
    return f"'auth_' || replace({column}::text, '-', '')"


def _shown_request(column: str) -> str:
    return f"'prq_' || replace({column}::text, '-', '')"


def _transfer_check(kind: str, expected: str, message: str) -> Check:
    """Payments against their transfers of one kind, both ways.

    `expected` selects (payment_id, debit, credit, amount) of every transfer there has to be; any
    other transfer of the kind is one too many, or belongs to a payment that does not exist.
    """
    described = "{0}.amount || ' from ' || {0}.debit || ' to ' || {0}.credit"
    return Check(
        f"{kind}_transfer",
        message,
        f"""SELECT {_shown_payment("coalesce(e.payment_id, f.payment_id)")} AS id,
            coalesce({described.format("e")}, 'no {kind} transfer') AS expected,
            coalesce({described.format("f")}, 'no {kind} transfer') AS found
        FROM ({expected}) e (payment_id, debit, credit, amount)
        FULL JOIN (
            SELECT payment_id, debit_account, credit_account, amount
            FROM transfers WHERE kind = '{kind}'
        ) f (payment_id, debit, credit, amount) USING (payment_id)
        WHERE (e.debit, e.credit, e.amount) IS DISTINCT FROM (f.debit, f.credit, f.amount)""",
    )


CHECKS = [
    Check(
        "wallet_balance",
        "The wallet's balance is not the sum of its transfers.",
        f"""WITH {_MOVED}
        SELECT w.account::text AS id, coalesce(m.amount, 0)::text AS expected,
            w.balance::text AS found
        FROM wallets w LEFT JOIN moved m USING (account)
        WHERE w.balance <> coalesce(m.amount, 0)""",
    ),
    Check(
        "wallet_mode",
        "The wallet, its customer and its sandbox are not all of one mode.",
        """SELECT w.account::text AS id, w.mode AS expected,
            concat_ws(', ', coalesce(c.mode, 'no customer'), t.mode) AS found
        FROM wallets w LEFT JOIN customers c ON c.id = w.customer_id
        LEFT JOIN tenants t ON t.id = c.sandbox_of
        WHERE w.mode IS DISTINCT FROM c.mode OR w.mode <> t.mode""",
    ),
    Check(
        "wallet_period",
        "The wallet spent more in a period than it has counted.",
        # Live only: a sandbox's clock goes to and fro. A server whose clock was behind counted in
        # the period that had begun, so more may be counted than the payments' times add up to.
        """SELECT w.account || ' ' || p.unit AS id,
            sum(-x.amount) || ' from ' || p.start AS expected,
            p.spent || ' from ' || p.start AS found
        FROM wallets w
        CROSS JOIN LATERAL (
            VALUES ('day', w.day_start, w.day_spent), ('week', w.week_start, w.week_spent),
                ('month', w.month_start, w.month_spent)
        ) p (unit, start, spent)
        JOIN transactions x ON x.account = w.account
            AND x.time AT TIME ZONE interval '5 hours' >= p.start
            AND x.time AT TIME ZONE interval '5 hours' < p.start + ('1 ' || p.unit)::interval
        WHERE w.mode = 'live' AND x.type = 'payment' AND x.status = 'success'
        GROUP BY w.account, p.unit, p.start, p.spent HAVING sum(-x.amount) > p.spent""",
    ),
    Check(
        "transfer_account",
        "Transfers name an account that does not exist.",
        f"""WITH {_ACCOUNTS}, {_MOVED}
        SELECT m.account::text AS id, 'an account' AS expected,
            'none, with ' || m.amount AS found
        FROM moved m LEFT JOIN accounts a USING (account) WHERE a.account IS NULL""",
    ),
    Check(
        "transfer_mode",
        "The transfer moves money between the modes.",
        f"""WITH {_ACCOUNTS}
        SELECT t.id::text AS id, d.mode AS expected, c.mode AS found
        FROM transfers t JOIN accounts d ON d.account = t.debit_account
        JOIN accounts c ON c.account = t.credit_account
        WHERE d.mode <> c.mode""",
    ),
    Check(
        "transfer_twice",
        "A payment has the same kind of transfer more than once.",
        f"""SELECT {_shown_payment("payment_id")} AS id, '1 ' || kind AS expected,
            count(*) || ' ' || kind AS found
        FROM transfers WHERE payment_id IS NOT NULL
        GROUP BY payment_id, kind HAVING count(*) > 1""",
    ),
    Check(
        "transfer_payment",
        "The transfer belongs to a payment that does not exist.",
        f"""SELECT t.id::text AS id, {_shown_payment("t.payment_id")} AS expected,
            'no payment' AS found
        FROM transfers t LEFT JOIN payments p ON p.id = t.payment_id
        WHERE t.payment_id IS NOT NULL AND p.id IS NULL""",
    ),
    Check(
        "payment_tenant",
        "The payment belongs to no merchant.",
        f"""SELECT {_shown_payment("p.id")} AS id, 'tenant ' || p.tenant_id AS expected,
            'no tenant' AS found
        FROM payments p LEFT JOIN tenants t ON t.id = p.tenant_id WHERE t.id IS NULL""",
    ),
    _transfer_check(
        "payment",
        """SELECT id, payer_account, 1000000000 + tenant_id, amount FROM payments
        WHERE status IN ('paid', 'refunded')""",
        "A paid payment moves its amount from the payer to the merchant; any other moves nothing.",
    ),
    _transfer_check(
        "fee",
        """SELECT p.id, 1000000000 + p.tenant_id,
            CASE t.mode WHEN 'live' THEN 1 ELSE 2 END, p.fee
        FROM payments p LEFT JOIN tenants t ON t.id = p.tenant_id WHERE p.fee > 0""",
        "A payment's fee moves from the merchant to the service; without a fee nothing does.",
    ),
    _transfer_check(
        "refund",
        """SELECT id, 1000000000 + tenant_id, payer_account, amount FROM payments
        WHERE status = 'refunded'""",
        "A refunded payment moves its whole amount back to the payer; any other moves nothing.",
    ),
    Check(
        "merchant_total",
        "What the merchant's payments add up to is not what its account holds.",
        f"""WITH {_MOVED}, earned (tenant_id, amount) AS (
            SELECT tenant_id, sum(CASE status WHEN 'paid' THEN amount - fee ELSE -fee END)
            FROM payments WHERE status IN ('paid', 'refunded') GROUP BY tenant_id
        )
        SELECT t.merchant_id || ' ' || t.mode AS id, coalesce(e.amount, 0)::text AS expected,
            coalesce(m.amount, 0)::text AS found
        FROM tenants t LEFT JOIN earned e ON e.tenant_id = t.id
        LEFT JOIN moved m ON m.account = 1000000000 + t.id
        WHERE coalesce(e.amount, 0) <> coalesce(m.amount, 0)""",
    ),
    Check(
        "fee_total",
        "The fees of all payments are not what the service's fee account holds.",
        f"""WITH {_MOVED}, earned (mode, amount) AS (
            SELECT t.mode, sum(p.fee) FROM payments p JOIN tenants t ON t.id = p.tenant_id
            GROUP BY t.mode
        )
        SELECT a.mode AS id, coalesce(e.amount, 0)::text AS expected,
            coalesce(m.amount, 0)::text AS found
        FROM (VALUES (1, 'live'), (2, 'sandbox')) a (account, mode)
        LEFT JOIN earned e USING (mode) LEFT JOIN moved m USING (account)
        WHERE coalesce(e.amount, 0) <> coalesce(m.amount, 0)""",
    ),
    Check(
        "payment_reference",
        "A paid payment and its transfers carry one transaction reference.",
        f"""SELECT {_shown_payment("p.id")} AS id, p.payment_reference AS expected, t.tid AS found
        FROM payments p JOIN transfers t ON t.payment_id = p.id
        WHERE t.kind IN ('payment', 'fee') AND t.tid IS DISTINCT FROM p.payment_reference""",
    ),
    Check(
        "transaction",
        "A successful line of a wallet's history and its transfer do not agree.",
        """SELECT tid AS id,
            coalesce(m.type || ' of ' || m.amount || ' in ' || m.account, 'nothing') AS expected,
            coalesce(h.type || ' of ' || h.amount || ' in ' || h.account, 'nothing') AS found
        FROM (
            SELECT tid, kind, CASE WHEN incoming THEN amount ELSE -amount END,
                CASE WHEN incoming THEN credit_account ELSE debit_account END
            FROM (
                SELECT *, kind IN ('refund', 'topup')
                    OR kind = 'adjustment' AND debit_account IN (3, 4) AS incoming
                FROM transfers WHERE kind <> 'fee'
            ) t
        ) m (tid, type, amount, account)
        FULL JOIN (
            SELECT tid, type, amount, account FROM transactions WHERE status = 'success'
        ) h USING (tid)
        WHERE (m.type, m.amount, m.account) IS DISTINCT FROM (h.type, h.amount, h.account)""",
    ),
    Check(
        "topup_slip",
        "A bank slip belongs to no top-up, or to one of another mode.",
        """SELECT s.slip AS id, s.mode || ' topup ' || s.tid AS expected,
            coalesce(w.mode || ' ' || t.type, 'nothing') AS found
        FROM topup_slips s LEFT JOIN transactions t ON t.tid = s.tid
        LEFT JOIN wallets w ON w.account = t.account
        WHERE (t.type, t.status, w.mode) IS DISTINCT FROM ('topup', 'success', s.mode)""",
    ),
    Check(
        "transaction_twice",
        "A transaction reference stands for more than one movement of a wallet's money.",
        """SELECT tid AS id, '1' AS expected, count(*)::text AS found
        FROM transfers WHERE kind <> 'fee' GROUP BY tid HAVING count(*) > 1""",
    ),
    Check(
        "failed_transaction",
        "A failed line of a wallet's history moved money.",
        """SELECT h.tid AS id, 'no transfer' AS expected, t.kind || ' of ' || t.amount AS found
        FROM transactions h JOIN transfers t ON t.tid = h.tid WHERE h.status = 'failed'""",
    ),
    Check(
        "transaction_account",
        "A line of history belongs to no wallet.",
        """SELECT h.tid AS id, h.account::text AS expected, 'no wallet' AS found
        FROM transactions h LEFT JOIN wallets w ON w.account = h.account
        WHERE w.account IS NULL""",
    ),
    Check(
        "payment_event",
        "The payment's events are not the ones its state calls for.",
        f"""SELECT {_shown_payment("coalesce(e.object_id, f.object_id)")} AS id,
            coalesce(e.type || ' of tenant ' || e.tenant_id, 'no such event') AS expected,
            coalesce(f.type || ' of tenant ' || f.tenant_id, 'no such event') AS found
        FROM (
            SELECT id, tenant_id, 'payment.created' FROM payments WHERE kind = 'hosted'
            UNION ALL
            SELECT id, tenant_id, CASE status WHEN 'cancelled' THEN 'payment.cancelled'
                WHEN 'expired' THEN 'payment.expired' ELSE 'payment.paid' END
            FROM payments WHERE status IN ('paid', 'refunded', 'cancelled', 'expired')
        ) e (object_id, tenant_id, type)
        FULL JOIN (
            SELECT object_id, tenant_id, type FROM events WHERE type LIKE 'payment.%'
        ) f ON f.object_id = e.object_id AND f.type = e.type
        WHERE e.tenant_id IS DISTINCT FROM f.tenant_id""",
    ),
    Check(
        "event_twice",
        "The same event happened to an object more than once.",
        """SELECT object_id::text AS id, '1 ' || type AS expected,
            count(*) || ' ' || type AS found
        FROM events GROUP BY object_id, type HAVING count(*) > 1""",
    ),
    Check(
        "reference_claim",
        "A payment or payment request and the claim on its reference do not agree.",
        """SELECT coalesce(p.tenant_id, c.tenant_id) || ' ' || coalesce(p.reference, c.reference)
                AS id,
            coalesce(p.kind || ' ' || p.id, 'nothing') AS expected,
            coalesce(c.kind || ' ' || c.resource_id, 'no claim') AS found
        FROM (
            SELECT tenant_id, reference,
                CASE kind WHEN 'hosted' THEN 'payment' ELSE kind END, id
            FROM payments WHERE kind IN ('hosted', 'charge')
            UNION ALL SELECT tenant_id, reference, 'request', id FROM payment_requests
        ) p (tenant_id, reference, kind, id)
        FULL JOIN reference_claims c ON c.tenant_id = p.tenant_id AND c.reference = p.reference
        WHERE (p.kind, p.id) IS DISTINCT FROM (c.kind, c.resource_id)""",
    ),
    Check(
        "request_payment",
        "A paid request and the payment made from it do not agree.",
        f"""WITH requests AS (
            SELECT id, payment_id, concat_ws(' ', status, tenant_id, reference, amount, fee,
                paid_at, payment_reference, account, terminal_label, bill_number, expires_at)
                AS told
            FROM payment_requests WHERE payment_id IS NOT NULL
        ), made AS (
            SELECT request_id AS id, id AS payment_id, concat_ws(' ', status, tenant_id, reference,
                amount, fee, paid_at, payment_reference, payer_account, terminal_label,
                bill_number, expires_at) AS told
            FROM payments WHERE kind = 'request'
        )
        SELECT {_shown_request("coalesce(r.id, m.id)")} AS id,
            coalesce(r.payment_id || ': ' || r.told, 'no payment') AS expected,
            coalesce(m.payment_id || ': ' || m.told, 'no payment') AS found
        FROM requests r FULL JOIN made m ON m.id = r.id AND m.payment_id = r.payment_id
        WHERE r.told IS DISTINCT FROM m.told""",
    ),
    Check(
        "request_owner",
        "The payment request belongs to no merchant, or its recipient to another mode.",
        f"""SELECT {_shown_request("r.id")} AS id, coalesce(t.mode, 'a tenant') AS expected,
            coalesce(w.mode, 'no wallet') AS found
        FROM payment_requests r LEFT JOIN tenants t ON t.id = r.tenant_id
        LEFT JOIN wallets w ON w.account = r.account
        WHERE t.id IS NULL OR w.mode IS DISTINCT FROM t.mode""",
    ),
    Check(
        "request_event",
        "The payment request's events are not the ones its state calls for.",
        f"""SELECT {_shown_request("coalesce(e.object_id, f.object_id)")} AS id,
            coalesce(e.type || ' of tenant ' || e.tenant_id, 'no such event') AS expected,
            coalesce(f.type || ' of tenant ' || f.tenant_id, 'no such event') AS found
        FROM (
            SELECT id, tenant_id, 'payment_request.created' FROM payment_requests
            UNION ALL
            SELECT id, tenant_id, 'payment_request.'
                || CASE status WHEN 'refunded' THEN 'paid' ELSE status END
            FROM payment_requests WHERE status <> 'pending'
        ) e (object_id, tenant_id, type)
        FULL JOIN (
            SELECT object_id, tenant_id, type FROM events
            WHERE starts_with(type, 'payment_request.')
        ) f ON f.object_id = e.object_id AND f.type = e.type
        WHERE e.tenant_id IS DISTINCT FROM f.tenant_id""",
    ),
    Check(
        "authorization_usage",
        "The authorization's usage is not what its charges add up to.",
        f"""SELECT {_shown_authorization("coalesce(a.id, p.id)")} AS id,
            coalesce(p.count, 0) || ' of ' || coalesce(p.sum, 0) AS expected,
            coalesce(a.payment_count || ' of ' || a.total_paid, 'no authorization') AS found
        FROM authorizations a FULL JOIN (
            SELECT authorization_id AS id, count(*), sum(amount) FROM payments
            WHERE kind = 'charge' GROUP BY authorization_id
        ) p USING (id)
        WHERE (coalesce(p.count, 0), coalesce(p.sum, 0))
            IS DISTINCT FROM (a.payment_count, a.total_paid)""",
    ),
    Check(
        "authorization_period",
        "The authorization was charged more in its period than it has counted.",
        # Live only: a sandbox's clock moves while charges are under way.
        f"""SELECT {_shown_authorization("a.id")} AS id,
            sum(p.amount) || ' from ' || a.period_start AS expected,
            a.period_paid || ' from ' || a.period_start AS found
        FROM authorizations a JOIN tenants t ON t.id = a.tenant_id AND t.mode = 'live'
        JOIN payments p ON p.authorization_id = a.id
            AND p.paid_at AT TIME ZONE interval '5 hours' >= a.period_start
            AND p.paid_at AT TIME ZONE interval '5 hours'
                < a.period_start + ('1 ' || a.period_interval)::interval
        GROUP BY a.id HAVING sum(p.amount) > a.period_paid""",
    ),
    Check(
        "authorization_owner",
        "The authorization belongs to no merchant, or its customer to another mode.",
        f"""SELECT {_shown_authorization("a.id")} AS id, coalesce(t.mode, 'a tenant') AS expected,
            coalesce(w.mode, 'no wallet') AS found
        FROM authorizations a LEFT JOIN tenants t ON t.id = a.tenant_id
        LEFT JOIN wallets w ON w.account = a.account
        WHERE t.id IS NULL OR a.account IS NOT NULL AND w.mode IS DISTINCT FROM t.mode""",
    ),
    Check(
        "charge_owner",
        "A charge and its authorization are not of one merchant and customer.",
        f"""SELECT {_shown_payment("p.id")} AS id,
            concat_ws(' by ', a.tenant_id, a.account) AS expected,
            concat_ws(' by ', p.tenant_id, p.payer_account) AS found
        FROM payments p JOIN authorizations a ON a.id = p.authorization_id
        WHERE (a.tenant_id, a.account) IS DISTINCT FROM (p.tenant_id, p.payer_account)""",
    ),
    Check(
        "authorization_consumed",
        "Exactly the one-time authorizations that were charged are consumed.",
        f"""SELECT {_shown_authorization("id")} AS id,
            type || ' with ' || payment_count || ' payments' AS expected, status AS found
        FROM authorizations
        WHERE (status = 'consumed') <> (type = 'one_time' AND payment_count = 1)""",
    ),
    Check(
        "authorization_event",
        "The authorization's events are not the ones its state calls for.",
        f"""SELECT {_shown_authorization("coalesce(e.object_id, f.object_id)")} AS id,
            coalesce(e.type || ' of tenant ' || e.tenant_id, 'no such event') AS expected,
            coalesce(f.type || ' of tenant ' || f.tenant_id, 'no such event') AS found
        FROM (
            SELECT id, tenant_id, 'authorization.created' FROM authorizations
            UNION ALL
            SELECT id, tenant_id, 'authorization.approved' FROM authorizations
            WHERE approved_at IS NOT NULL
            UNION ALL
            SELECT id, tenant_id, 'authorization.' || status FROM authorizations
            WHERE status IN ('rejected', 'cancelled', 'revoked')
        ) e (object_id, tenant_id, type)
        FULL JOIN (
            SELECT object_id, tenant_id, type FROM events
            WHERE starts_with(type, 'authorization.')
        ) f ON f.object_id = e.object_id AND f.type = e.type
        WHERE e.tenant_id IS DISTINCT FROM f.tenant_id""",
    ),
]
