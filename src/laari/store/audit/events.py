"""Events: the ones that states call for, each once."""

from __future__ import annotations

from laari.store.audit.difference import Check, shown_authorization, shown_payment, shown_request

CHECKS = [
    Check(
        "payment_event",
        "The payment's events are not the ones its state calls for.",
        f"""SELECT {shown_payment("coalesce(e.object_id, f.object_id)")} AS id,
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
        "request_event",
        "The payment request's events are not the ones its state calls for.",
        f"""SELECT {shown_request("coalesce(e.object_id, f.object_id)")} AS id,
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
        "authorization_event",
        "The authorization's events are not the ones its state calls for.",
        f"""SELECT {shown_authorization("coalesce(e.object_id, f.object_id)")} AS id,
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
