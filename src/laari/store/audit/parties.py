"""Whose payments and requests they are, and what they claim."""

from laari.store.audit.difference import Check, shown_payment, shown_request

CHECKS = [
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
        "A merchant has one tenant in each mode, or in the sandbox alone where it signed up there.",
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
        f"""SELECT {shown_payment("p.id")} AS id, 'tenant ' || p.tenant_id AS expected,
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
        SELECT {shown_request("coalesce(r.id, m.id)")} AS id,
            coalesce(r.payment_id || ': ' || r.told, 'no payment') AS expected,
            coalesce(m.payment_id || ': ' || m.told, 'no payment') AS found
        FROM requests r FULL JOIN made m ON m.id = r.id AND m.payment_id = r.payment_id
        WHERE r.told IS DISTINCT FROM m.told""",
    ),
    Check(
        "request_owner",
        "The payment request belongs to no merchant, or its recipient to another mode.",
        f"""SELECT {shown_request("r.id")} AS id, coalesce(t.mode, 'a tenant') AS expected,
            coalesce(w.mode, 'no wallet') AS found
        FROM payment_requests r LEFT JOIN tenants t ON t.id = r.tenant_id
        LEFT JOIN wallets w ON w.account = r.account
        WHERE t.id IS NULL OR w.mode IS DISTINCT FROM t.mode""",
    ),
]
