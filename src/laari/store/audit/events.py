"""The events that states need, their times, and their deliveries."""

from laari.store.audit.difference import IN_ORDER, MEMORY, Check, shown, unguarded

# Events that do not fit their payment, that have another time than their cause,
# or that come before the deadline. Those of refunds have their own checks.
_PAYMENT_EVENTS = """
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
        WHERE starts_with(e.type, 'payment.') AND e.type <> 'payment.refunded'
    ) AS event
    WHERE uncalled OR early OR has_moment AND created_at IS DISTINCT FROM happened_at
)"""

# No event is missing if each is called for, none is there twice and their number is right. Only
# otherwise the check looks for each of them.
_ENDED = "status IN ('paid', 'refunded', 'cancelled', 'expired')"
_NOT_ALL_THERE = f"""{unguarded("events_once")}
    OR EXISTS (SELECT FROM payment_events WHERE uncalled) OR (
        SELECT count(*) FILTER (WHERE kind = 'hosted') + count(*) FILTER (WHERE {_ENDED})
        FROM payments
    ) <> (
        SELECT count(*) FROM events
        WHERE starts_with(type, 'payment.') AND type <> 'payment.refunded'
    )"""


def _called_for(kind: str, message: str, prefix: str, object_type: str, called_for: str) -> Check:
    """Compares events with the states of their objects, in both directions.

    In a sandbox a missing event may have been purged, if its object has ended.
    """
    payments = object_type == "payment"
    return Check(
        kind,
        message,
        f"""SELECT {shown(prefix, "coalesce(e.object_id, f.object_id)")} AS id,
            coalesce(e.type || ' of tenant ' || e.tenant_id, 'no such event') AS expected,
            coalesce(f.type || ' of tenant ' || f.tenant_id, 'no such event') AS found
        FROM ({called_for}) e (object_id, tenant_id, type, ended)
        FULL JOIN (
            SELECT object_id, tenant_id, type FROM events
            WHERE starts_with(type, '{object_type}.') AND type <> 'payment.refunded'
        ) f ON f.object_id = e.object_id AND f.type = e.type
        WHERE e.tenant_id IS DISTINCT FROM f.tenant_id
            AND NOT (f.object_id IS NULL AND e.ended
                AND e.tenant_id IN (SELECT id FROM tenants WHERE mode = 'sandbox'))
            AND ({_NOT_ALL_THERE if payments else "true"})""",
        queries=_PAYMENT_EVENTS if payments else "",
        memory=IN_ORDER if payments else MEMORY,
    )


CHECKS = [
    _called_for(
        "payment_event",
        "The payment's events are not the ones its state calls for.",
        "pay",
        "payment",
        f"""SELECT id, tenant_id, 'payment.created', status <> 'pending' FROM payments
            WHERE kind = 'hosted'
            UNION ALL
            SELECT id, tenant_id, CASE status WHEN 'cancelled' THEN 'payment.cancelled'
                WHEN 'expired' THEN 'payment.expired' ELSE 'payment.paid' END, true
            FROM payments WHERE {_ENDED}""",
    ),
    Check(
        "event_twice",
        "The same event happened to an object more than once.",
        # A payout of several orders can come back in parts: the check `payout_event` counts them.
        """SELECT object_id::text AS id, '1 ' || type AS expected,
            count(*) || ' ' || type AS found
        FROM events GROUP BY object_id, type,
            CASE WHEN type = 'payout.returned' THEN created_at END
        HAVING count(*) > 1""",
    ),
    _called_for(
        "request_event",
        "The payment request's events are not the ones its state calls for.",
        "prq",
        "payment_request",
        """SELECT id, tenant_id, 'payment_request.created', status <> 'pending'
            FROM payment_requests
            UNION ALL
            SELECT id, tenant_id, 'payment_request.'
                || CASE status WHEN 'refunded' THEN 'paid' ELSE status END, true
            FROM payment_requests WHERE status <> 'pending'""",
    ),
    _called_for(
        "authorization_event",
        "The authorization's events are not the ones its state calls for.",
        "auth",
        "authorization",
        """SELECT id, tenant_id, called_for.type, status NOT IN ('pending', 'active', 'suspended')
            FROM authorizations CROSS JOIN LATERAL (
                VALUES ('authorization.created', true),
                    ('authorization.approved', approved_at IS NOT NULL),
                    ('authorization.' || status, status IN ('rejected', 'cancelled', 'revoked'))
            ) AS called_for (type, happened) WHERE happened""",
    ),
    Check(
        "event_transaction",
        "A payment's transfer and the event of it were not written by one transaction.",
        f"""SELECT {shown("pay", "e.object_id")} AS id, 'by ' || e.xid AS expected,
            t.kind || ' by ' || t.xid AS found
        FROM events e JOIN transfers t ON t.payment_id = e.object_id AND t.kind <> 'refund'
        WHERE e.type = 'payment.paid' AND e.xid <> t.xid""",
    ),
    Check(
        "payment_time",
        "A charge, or a payment made from a request, is paid when it is made.",
        f"""SELECT {shown("pay", "id")} AS id, paid_at::text AS expected,
            created_at::text AS found
        FROM payments
        WHERE kind IN ('charge', 'request') AND created_at IS DISTINCT FROM paid_at""",
    ),
    Check(
        "event_time",
        "An event and the change of its object have different times.",
        f"""SELECT {shown("evt", "h.event_id")} AS id,
            h.type || ' at ' || coalesce(h.at::text, 'no time') AS expected,
            h.type || ' at ' || h.created_at AS found
        FROM (
            SELECT id, type, created_at, happened_at FROM payment_events WHERE has_moment
            UNION ALL
            SELECT e.id, e.type, e.created_at, o.at
            FROM events e JOIN (
                SELECT id, 'payment_request.created', created_at FROM payment_requests
                UNION ALL SELECT id, 'payment_request.paid', paid_at FROM payment_requests
                UNION ALL SELECT id, 'payment_request.cancelled', cancelled_at FROM payment_requests
                UNION ALL SELECT id, 'payment_request.rejected', rejected_at FROM payment_requests
                UNION ALL SELECT id, 'authorization.created', created_at FROM authorizations
                UNION ALL SELECT id, 'authorization.approved', approved_at FROM authorizations
                UNION ALL SELECT id, 'authorization.rejected', rejected_at FROM authorizations
                UNION ALL SELECT id, 'authorization.cancelled', cancelled_at FROM authorizations
                UNION ALL SELECT id, 'authorization.revoked', revoked_at FROM authorizations
            ) o (id, type, at) ON o.id = e.object_id AND o.type = e.type
        ) h (event_id, type, created_at, at)
        WHERE h.created_at IS DISTINCT FROM h.at""",
        queries=_PAYMENT_EVENTS,
        memory=IN_ORDER,
    ),
    Check(
        "expiry_time",
        "Something expired before its deadline.",
        f"""SELECT {shown("pay", "object_id")} AS id, 'after ' || expires_at AS expected,
            created_at::text AS found
        FROM payment_events WHERE early
        UNION ALL
        SELECT {shown("prq", "r.id")}, 'after ' || r.expires_at, e.created_at::text
        FROM events e JOIN payment_requests r ON r.id = e.object_id
        WHERE e.type = 'payment_request.expired' AND e.created_at < r.expires_at""",
        queries=_PAYMENT_EVENTS,
        memory=IN_ORDER,
    ),
    Check(
        "delivery_event",
        "A delivery or an attempt belongs to no event, or to one of another merchant.",
        f"""SELECT {shown("evt", "d.event_id")} AS id, 'an event of tenant ' || d.tenant_id
                AS expected,
            coalesce('tenant ' || e.tenant_id, 'no event') AS found
        FROM deliveries d LEFT JOIN events e ON e.id = d.event_id
        WHERE e.tenant_id IS DISTINCT FROM d.tenant_id
        UNION ALL
        SELECT {shown("evt", "a.event_id")}, 'a delivery', 'none'
        FROM delivery_attempts a LEFT JOIN deliveries d USING (event_id)
        WHERE d.event_id IS NULL""",
    ),
    Check(
        "delivery_attempt",
        "What a delivery has come to is not what its attempts show.",
        f"""SELECT {shown("evt", "d.event_id")} AS id, concat_ws(', ', coalesce(a.count, 0)
                || ' attempts', coalesce(a.acknowledged, 0) || ' acknowledged') AS expected,
            concat_ws(', ', d.status, d.failed_attempts || ' failed', d.leases || ' leases')
                AS found
        FROM deliveries d LEFT JOIN (
            SELECT event_id, count(*), max(lease) AS lease,
                count(*) FILTER (WHERE http_status BETWEEN 200 AND 299) AS acknowledged
            FROM delivery_attempts GROUP BY event_id
        ) a USING (event_id)
        WHERE d.status = 'delivered' AND coalesce(a.acknowledged, 0) = 0
            OR d.status = 'failed' AND d.failed_attempts = 0
            OR d.failed_attempts > coalesce(a.count, 0) - coalesce(a.acknowledged, 0)
            OR d.leases < a.lease""",
    ),
]
