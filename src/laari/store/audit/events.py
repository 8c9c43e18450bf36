"""Events: the ones that states call for, each once."""

from laari.store.audit.difference import (
    IN_ORDER,
    Check,
    shown_authorization,
    shown_payment,
    shown_request,
    unguarded,
)

# The events of payments of which something is not right: one that the payment does not call for,
# one of another moment than what happened to it, one before its deadline.
PAYMENT_EVENTS = """
payment_events AS MATERIALIZED (
    SELECT * FROM (
        SELECT e.id, e.object_id, e.type, e.created_at, o.expires_at,
            (o.tenant_id = e.tenant_id AND CASE e.type
                WHEN 'payment.created' THEN o.kind = 'hosted'
                WHEN 'payment.paid' THEN o.status IN ('paid', 'refunded')
                WHEN 'payment.expired' THEN o.status = 'expired'
                WHEN 'payment.cancelled' THEN o.status = 'cancelled' END) IS NOT TRUE AS uncalled,
            CASE e.type WHEN 'payment.created' THEN o.created_at
                WHEN 'payment.paid' THEN o.paid_at
                WHEN 'payment.cancelled' THEN o.cancelled_at END AS happened_at,
            o.id IS NOT NULL AND e.type IN ('payment.created', 'payment.paid', 'payment.cancelled')
                AS has_moment,
            e.type = 'payment.expired' AND e.created_at < o.expires_at AS early
        FROM events e LEFT JOIN (SELECT * FROM payments ORDER BY id OFFSET 0) o
            ON o.id = e.object_id
        WHERE starts_with(e.type, 'payment.')
    ) AS event
    WHERE uncalled OR early OR has_moment AND created_at IS DISTINCT FROM happened_at
)"""

# One that is missing may have been purged, if it is of a sandbox and its object has ended.
_MISSING = """WHERE e.tenant_id IS DISTINCT FROM f.tenant_id
            AND NOT (f.object_id IS NULL AND e.ended
                AND e.tenant_id IN (SELECT id FROM tenants WHERE mode = 'sandbox'))"""

# If each event of a payment is called for, none is there twice and there are as many as are called
# for, none is missing. Only otherwise each is looked for.
_ENDED = "status IN ('paid', 'refunded', 'cancelled', 'expired')"
_NOT_ALL_THERE = f"""{unguarded("events_once")}
    OR EXISTS (SELECT FROM payment_events WHERE uncalled) OR (
        SELECT count(*) FILTER (WHERE kind = 'hosted') + count(*) FILTER (WHERE {_ENDED})
        FROM payments
    ) <> (SELECT count(*) FILTER (WHERE starts_with(type, 'payment.')) FROM events)"""

CHECKS = [
    Check(
        "payment_event",
        "The payment's events are not the ones its state calls for.",
        f"""SELECT {shown_payment("coalesce(e.object_id, f.object_id)")} AS id,
            coalesce(e.type || ' of tenant ' || e.tenant_id, 'no such event') AS expected,
            coalesce(f.type || ' of tenant ' || f.tenant_id, 'no such event') AS found
        FROM (
            SELECT id, tenant_id, 'payment.created', status <> 'pending' FROM payments
            WHERE kind = 'hosted'
            UNION ALL
            SELECT id, tenant_id, CASE status WHEN 'cancelled' THEN 'payment.cancelled'
                WHEN 'expired' THEN 'payment.expired' ELSE 'payment.paid' END, true
            FROM payments WHERE {_ENDED}
        ) e (object_id, tenant_id, type, ended)
        FULL JOIN (
            SELECT object_id, tenant_id, type FROM events WHERE starts_with(type, 'payment.')
        ) f ON f.object_id = e.object_id AND f.type = e.type
        {_MISSING} AND ({_NOT_ALL_THERE})""",
        queries=PAYMENT_EVENTS,
        memory=IN_ORDER,
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
            SELECT id, tenant_id, 'payment_request.created', status <> 'pending'
            FROM payment_requests
            UNION ALL
            SELECT id, tenant_id, 'payment_request.'
                || CASE status WHEN 'refunded' THEN 'paid' ELSE status END, true
            FROM payment_requests WHERE status <> 'pending'
        ) e (object_id, tenant_id, type, ended)
        FULL JOIN (
            SELECT object_id, tenant_id, type FROM events
            WHERE starts_with(type, 'payment_request.')
        ) f ON f.object_id = e.object_id AND f.type = e.type
        {_MISSING}""",
    ),
    Check(
        "authorization_event",
        "The authorization's events are not the ones its state calls for.",
        f"""SELECT {shown_authorization("coalesce(e.object_id, f.object_id)")} AS id,
            coalesce(e.type || ' of tenant ' || e.tenant_id, 'no such event') AS expected,
            coalesce(f.type || ' of tenant ' || f.tenant_id, 'no such event') AS found
        FROM (
            SELECT id, tenant_id, called_for.type, status NOT IN ('pending', 'active', 'suspended')
            FROM authorizations CROSS JOIN LATERAL (
                VALUES ('authorization.created', true),
                    ('authorization.approved', approved_at IS NOT NULL),
                    ('authorization.' || status, status IN ('rejected', 'cancelled', 'revoked'))
            ) AS called_for (type, happened) WHERE happened
        ) e (object_id, tenant_id, type, ended)
        FULL JOIN (
            SELECT object_id, tenant_id, type FROM events
            WHERE starts_with(type, 'authorization.')
        ) f ON f.object_id = e.object_id AND f.type = e.type
        {_MISSING}""",
    ),
]
