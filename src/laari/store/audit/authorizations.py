"""Authorizations: their use, their owners and their states."""

from laari.store.audit.difference import Check, shown_authorization, shown_payment

CHECKS = [
    Check(
        "authorization_usage",
        "The authorization's usage is not what its charges add up to.",
        f"""SELECT {shown_authorization("coalesce(a.id, p.id)")} AS id,
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
        "authorization_owner",
        "The authorization belongs to no merchant, or its customer to another mode.",
        f"""SELECT {shown_authorization("a.id")} AS id, coalesce(t.mode, 'a tenant') AS expected,
            coalesce(w.mode, 'no wallet') AS found
        FROM authorizations a LEFT JOIN tenants t ON t.id = a.tenant_id
        LEFT JOIN wallets w ON w.account = a.account
        WHERE t.id IS NULL OR a.account IS NOT NULL AND w.mode IS DISTINCT FROM t.mode""",
    ),
    Check(
        "charge_owner",
        "A charge and its authorization are not of one merchant and customer.",
        f"""SELECT {shown_payment("p.id")} AS id,
            concat_ws(' by ', a.tenant_id, a.account) AS expected,
            concat_ws(' by ', p.tenant_id, p.payer_account) AS found
        FROM payments p JOIN authorizations a ON a.id = p.authorization_id
        WHERE (a.tenant_id, a.account) IS DISTINCT FROM (p.tenant_id, p.payer_account)""",
    ),
    Check(
        "authorization_consumed",
        "Exactly the one-time authorizations that were charged are consumed.",
        f"""SELECT {shown_authorization("id")} AS id,
            type || ' with ' || payment_count || ' payments' AS expected, status AS found
        FROM authorizations
        WHERE (status = 'consumed') <> (type = 'one_time' AND payment_count = 1)""",
    ),
]
