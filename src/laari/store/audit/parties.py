"""Owners of payments, requests and authorizations, and the claims on their references."""

from laari.store.audit.difference import Check, shown


def _owner(kind: str, what: str, prefix: str, table: str, when: str = "true") -> Check:
    return Check(
        kind,
        f"The {what} belongs to no merchant, or its customer to another mode.",
        f"""SELECT {shown(prefix, "o.id")} AS id, coalesce(t.mode, 'a tenant') AS expected,
            coalesce(w.mode, 'no wallet') AS found
        FROM {table} o LEFT JOIN tenants t ON t.id = o.tenant_id
        LEFT JOIN wallets w ON w.account = o.account
        WHERE t.id IS NULL OR {when} AND w.mode IS DISTINCT FROM t.mode""",
    )


CHECKS = [
    _owner("request_owner", "payment request", "prq", "payment_requests"),
    _owner(
        "authorization_owner",
        "authorization",
        "auth",
        "authorizations",
        when="o.account IS NOT NULL",  # not before it is approved
    ),
    Check(
        "sandbox_account",
        "A merchant's sandbox account is not the wallet of its own sandbox.",
        """SELECT m.id, 'the wallet of its sandbox' AS expected,
            m.sandbox_account || coalesce(' of ' || w.mode || ' customer ' || c.name, ', no wallet')
                AS found
        FROM merchants m
        LEFT JOIN tenants t ON t.merchant_id = m.id AND t.mode = 'sandbox'
        LEFT JOIN public.wallets w ON w.account = m.sandbox_account
        LEFT JOIN customers c ON c.id = w.customer_id
        WHERE c.sandbox_of IS DISTINCT FROM t.id OR t.id IS NULL OR w.mode <> 'sandbox'""",
    ),
    Check(
        "merchant_tenants",
        "A merchant has one tenant in each mode, or only in the sandbox if it signed up there.",
        """SELECT m.id, 'live, sandbox' AS expected,
            coalesce(string_agg(t.mode, ', ' ORDER BY t.mode), 'none') AS found
        FROM merchants m LEFT JOIN tenants t ON t.merchant_id = m.id
        GROUP BY m.id, m.mode HAVING string_agg(t.mode, ', ' ORDER BY t.mode)
            IS DISTINCT FROM 'live, sandbox'
            AND (m.mode, string_agg(t.mode, ', ')) IS DISTINCT FROM ('sandbox', 'sandbox')""",
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
        "payment_tenant",
        "The payment belongs to no merchant.",
        f"""SELECT {shown("pay", "p.id")} AS id, 'tenant ' || p.tenant_id AS expected,
            'no tenant' AS found
        FROM payments p LEFT JOIN tenants t ON t.id = p.tenant_id WHERE t.id IS NULL""",
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
        SELECT {shown("prq", "coalesce(r.id, m.id)")} AS id,
            coalesce(r.payment_id || ': ' || r.told, 'no payment') AS expected,
            coalesce(m.payment_id || ': ' || m.told, 'no payment') AS found
        FROM requests r FULL JOIN made m ON m.id = r.id AND m.payment_id = r.payment_id
        WHERE r.told IS DISTINCT FROM m.told""",
    ),
    Check(
        "authorization_usage",
        "The authorization's usage is not what its charges add up to.",
        f"""SELECT {shown("auth", "coalesce(a.id, p.id)")} AS id,
            coalesce(p.count, 0) || ' of ' || coalesce(p.sum, 0) AS expected,
            coalesce(a.payment_count || ' of ' || a.total_paid, 'no authorization') AS found
        FROM authorizations a FULL JOIN (
            SELECT authorization_id AS id, count(*), sum(amount) FROM charges
            GROUP BY authorization_id
        ) p USING (id)
        WHERE (coalesce(p.count, 0), coalesce(p.sum, 0))
            IS DISTINCT FROM (a.payment_count, a.total_paid)""",
    ),
    Check(
        "charge_owner",
        "A charge and its authorization are not of one merchant and customer.",
        f"""SELECT {shown("pay", "p.id")} AS id,
            concat_ws(' by ', a.tenant_id, a.account) AS expected,
            concat_ws(' by ', p.tenant_id, p.payer_account) AS found
        FROM payments p JOIN authorizations a ON a.id = p.authorization_id
        WHERE (a.tenant_id, a.account) IS DISTINCT FROM (p.tenant_id, p.payer_account)""",
    ),
    Check(
        "authorization_consumed",
        "Exactly the one-time authorizations that were charged are consumed.",
        f"""SELECT {shown("auth", "id")} AS id,
            type || ' with ' || payment_count || ' payments' AS expected, status AS found
        FROM authorizations
        WHERE (status = 'consumed') <> (type = 'one_time' AND payment_count = 1)""",
    ),
]
