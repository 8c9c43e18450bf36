"""Deliveries of webhooks against the attempts that were made."""

from laari.store.audit.difference import Check, shown_event

CHECKS = [
    Check(
        "delivery_event",
        "A delivery or an attempt belongs to no event, or to one of another merchant.",
        f"""SELECT {shown_event("d.event_id")} AS id, 'an event of tenant ' || d.tenant_id
                AS expected,
            coalesce('tenant ' || e.tenant_id, 'no event') AS found
        FROM deliveries d LEFT JOIN events e ON e.id = d.event_id
        WHERE e.tenant_id IS DISTINCT FROM d.tenant_id
        UNION ALL
        SELECT {shown_event("a.event_id")}, 'a delivery', 'none'
        FROM delivery_attempts a LEFT JOIN deliveries d USING (event_id)
        WHERE d.event_id IS NULL""",
    ),
    Check(
        "delivery_attempt",
        "What a delivery has come to is not what its attempts show.",
        f"""SELECT {shown_event("d.event_id")} AS id, concat_ws(', ', coalesce(a.count, 0)
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
