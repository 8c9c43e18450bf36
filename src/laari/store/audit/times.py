"""Times: what happened in one decision carries one moment."""

from laari.store.audit.difference import IN_ORDER, Check, shown_event, shown_payment, shown_request
from laari.store.audit.events import PAYMENT_EVENTS

CHECKS = [
    Check(
        "event_transaction",
        "A payment's transfer and the event of it were not written by one transaction.",
        f"""SELECT {shown_payment("e.object_id")} AS id, 'by ' || e.xid AS expected,
            t.kind || ' by ' || t.xid AS found
        FROM events e JOIN transfers t ON t.payment_id = e.object_id AND t.kind <> 'refund'
        WHERE e.type = 'payment.paid' AND e.xid <> t.xid""",
    ),
    Check(
        "payment_time",
        "A charge, or a payment made from a request, is paid when it is made.",
        f"""SELECT {shown_payment("id")} AS id, paid_at::text AS expected,
            created_at::text AS found
        FROM payments
        WHERE kind IN ('charge', 'request') AND created_at IS DISTINCT FROM paid_at""",
    ),
    Check(
        "event_time",
        "An event and what happened to its object are not of one moment.",
        f"""SELECT {shown_event("h.event_id")} AS id,
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
        queries=PAYMENT_EVENTS,
        memory=IN_ORDER,
    ),
    Check(
        "expiry_time",
        "Something expired before its deadline.",
        f"""SELECT {shown_payment("object_id")} AS id, 'after ' || expires_at AS expected,
            created_at::text AS found
        FROM payment_events WHERE early
        UNION ALL
        SELECT {shown_request("r.id")}, 'after ' || r.expires_at, e.created_at::text
        FROM events e JOIN payment_requests r ON r.id = e.object_id
        WHERE e.type = 'payment_request.expired' AND e.created_at < r.expires_at""",
        queries=PAYMENT_EVENTS,
        memory=IN_ORDER,
    ),
]
