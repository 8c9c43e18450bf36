"""What events and saved responses say, against the rows they speak of.

Only fields that a body has are compared, so that one which an older version wrote stays right. Of
an address only its end counts: the service may have moved.
"""

from __future__ import annotations

from laari.store.audit.difference import Check, shown_event

_ZONE = "AT TIME ZONE interval '5 hours', 'YYYY-MM-DD\"T\"HH24:MI:SS\"+05:00\"'"


def _time(column: str) -> str:
    """As the merchant interface shows it."""
    return f"to_char({column} {_ZONE})"


class _Field(tuple[str, str, str]):
    """A field of `data`, the value it has to have, and when that can be said."""

    __slots__ = ()


def _fields(*fields: tuple[str, str] | tuple[str, str, str]) -> list[_Field]:
    return [_Field((f[0], f[1], f[2] if len(f) == 3 else "true")) for f in fields]


def _body_check(kind: str, table: str, types: str, fields: list[_Field], since: str = "") -> Check:
    """Every event of these types against its row.

    A body is read once, as a record of texts; a field that is absent or null counts as null.
    """
    names = ", ".join(f"{name} text" for name, _, _ in fields)
    wrong = " OR ".join(
        f"({when} AND d.{name} IS DISTINCT FROM {value})" for name, value, when in fields
    )
    told = ", ".join(f"'{name} ' || coalesce(d.{name}, 'null')" for name, _, _ in fields)
    held = ", ".join(f"'{name} ' || coalesce({value}, 'null')" for name, value, _ in fields)
    return Check(
        kind,
        "What an event says is not what its row says.",
        f"""SELECT {shown_event("e.id")} AS id, concat_ws(', ', e.type, {held}) AS expected,
            concat_ws(', ', b.type, {told}) AS found
        FROM events e JOIN {table} o ON o.id = e.object_id
        JOIN tenants t ON t.id = e.tenant_id
        CROSS JOIN LATERAL json_to_record(convert_from(e.body, 'UTF8')::json)
            AS b (id text, type text, mode text, created_at text, data json)
        CROSS JOIN LATERAL json_to_record(b.data) AS d ({names})
        WHERE {types} AND (
            b.id IS DISTINCT FROM 'evt_' || replace(e.id::text, '-', '')
            OR b.type IS DISTINCT FROM e.type
            OR b.mode IS DISTINCT FROM CASE t.mode WHEN 'live' THEN 'active' ELSE t.mode END
            OR b.created_at IS DISTINCT FROM
                to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            OR {wrong}){since}""",
    )


_PAID = "e.type LIKE '%.paid'"
_HOSTED = "o.kind <> 'charge'"
_PAYMENT = _fields(
    ("id", "'pay_' || replace(o.id::text, '-', '')"),
    ("reference", "o.reference"),
    ("amount", "o.amount::text"),
    ("fee", f"CASE WHEN {_PAID} THEN o.fee::text END"),
    ("net_amount", f"CASE WHEN {_PAID} THEN (o.amount - o.fee)::text END"),
    ("title", "o.title"),
    ("description", "o.description"),
    ("terminal_label", "o.terminal_label", _HOSTED),
    ("bill_number", "o.bill_number"),
    ("status", "CASE e.type WHEN 'payment.created' THEN 'pending' ELSE substr(e.type, 9) END"),
    ("payment_reference", f"CASE WHEN {_PAID} THEN o.payment_reference END"),
    ("return_url", "o.return_url", _HOSTED),
    ("created_at", _time("o.created_at")),
    ("paid_at", f"CASE WHEN {_PAID} THEN {_time('o.paid_at')} END"),
    ("expires_at", _time("o.expires_at"), _HOSTED),
    ("metadata", "o.metadata", "o.metadata = '{}'"),
)
_REQUEST = _fields(
    ("id", "'prq_' || replace(o.id::text, '-', '')"),
    ("reference", "o.reference"),
    ("amount", "o.amount::text"),
    ("fee", f"CASE WHEN {_PAID} THEN o.fee::text END"),
    ("title", "o.title"),
    ("description", "o.description"),
    ("terminal_label", "o.terminal_label"),
    ("bill_number", "o.bill_number"),
    (
        "status",
        "CASE e.type WHEN 'payment_request.created' THEN 'pending' ELSE substr(e.type, 17) END",
    ),
    ("payment_id", f"CASE WHEN {_PAID} THEN 'pay_' || replace(o.payment_id::text, '-', '') END"),
    ("payment_reference", f"CASE WHEN {_PAID} THEN o.payment_reference END"),
    ("return_url", "o.return_url"),
    ("created_at", _time("o.created_at")),
    ("paid_at", f"CASE WHEN {_PAID} THEN {_time('o.paid_at')} END"),
    ("expires_at", _time("o.expires_at")),
)
_AUTHORIZATION = _fields(
    ("id", "'auth_' || replace(o.id::text, '-', '')"),
    ("reference", "o.reference"),
    ("title", "o.title"),
    ("description", "o.description"),
    ("type", "o.type"),
    ("currency", "o.currency"),
    ("approval_expires_at", _time("o.approval_expires_at")),
    ("expires_at", _time("o.expires_at")),
    ("return_url", "o.return_url"),
    (
        "approved_at",
        f"CASE WHEN e.type IN ('authorization.approved', 'authorization.revoked') "
        f"THEN {_time('o.approved_at')} END",
    ),
    ("created_at", _time("o.created_at")),
)


def _link_check(kind: str, table: str, event: str, field: str, path: str) -> Check:
    """The token in the address that an event carries against the row's."""
    return Check(
        kind,
        "The address that was handed out leads elsewhere.",
        f"""SELECT {shown_event("e.id")} AS id, '{path}' || o.token AS expected,
            coalesce(convert_from(e.body, 'UTF8')::json -> 'data' ->> '{field}', 'nothing') AS found
        FROM events e JOIN {table} o ON o.id = e.object_id
        WHERE e.type = '{event}'
            AND position(convert_to('{path}' || o.token || '"', 'UTF8') IN e.body) = 0""",
    )


_LIMITS = Check(
    "authorization_limits",
    "The limits of an authorization are not the ones it was made with.",
    f"""SELECT {shown_event("e.id")} AS id,
        concat_ws(' ', o.per_payment, o.period_interval, o.period_amount, o.total, o.max_payments)
            AS expected, l.limits::text AS found
    FROM events e JOIN authorizations o ON o.id = e.object_id
    CROSS JOIN LATERAL (
        SELECT convert_from(e.body, 'UTF8')::json -> 'data' -> 'limits' AS limits
    ) l
    WHERE starts_with(e.type, 'authorization.') AND (
        l.limits ->> 'per_payment' IS DISTINCT FROM o.per_payment::text
        OR l.limits -> 'period' ->> 'interval' IS DISTINCT FROM o.period_interval
        OR l.limits -> 'period' ->> 'amount' IS DISTINCT FROM o.period_amount::text
        OR l.limits ->> 'total' IS DISTINCT FROM o.total::text
        OR l.limits ->> 'max_payments' IS DISTINCT FROM o.max_payments::text)""",
)

_CUSTOMER = Check(
    "request_recipient",
    "A payment request is for somebody else than it was made for.",
    f"""SELECT {shown_event("e.id")} AS id, o.customer_type || ' ' || o.customer_value AS expected,
        c.customer::text AS found
    FROM events e JOIN payment_requests o ON o.id = e.object_id
    CROSS JOIN LATERAL (
        SELECT convert_from(e.body, 'UTF8')::json -> 'data' -> 'customer' AS customer
    ) c
    WHERE starts_with(e.type, 'payment_request.') AND (
        c.customer ->> 'type' IS DISTINCT FROM o.customer_type
        OR c.customer ->> 'value' IS DISTINCT FROM o.customer_value)""",
)

_METADATA = Check(
    "payment_metadata",
    "The metadata that an event carries is not its payment's.",
    f"""SELECT {shown_event("e.id")} AS id, o.metadata AS expected,
        coalesce(m.metadata::text, 'none') AS found
    FROM events e JOIN payments o ON o.id = e.object_id
    CROSS JOIN LATERAL (
        SELECT convert_from(e.body, 'UTF8')::json -> 'data' -> 'metadata' AS metadata
    ) m
    WHERE starts_with(e.type, 'payment.') AND o.metadata <> '{{}}'
        AND m.metadata::jsonb IS DISTINCT FROM o.metadata::jsonb""",
)

# A retry under another key shows the payment as it was then: what never changes is compared.
_SAVED = Check(
    "saved_response",
    "What is replayed for an idempotency key is not what was done.",
    """SELECT s.tenant_id || ' ' || s.operation || ' ' || s.key AS id,
        coalesce(concat_ws(', ', 201, p.id, p.reference, p.amount, p.title), 'no such payment')
            AS expected,
        concat_ws(', ', s.status, d.id, d.reference, d.amount, d.title, b.error ->> 'code') AS found
    FROM saved_responses s
    CROSS JOIN LATERAL json_to_record(convert_from(s.body, 'UTF8')::json)
        AS b (data json, error json)
    CROSS JOIN LATERAL json_to_record(b.data) AS d (id text, reference text, amount text,
        title text, description text, bill_number text, status text, fee text,
        payment_reference text)
    LEFT JOIN payments p ON 'pay_' || replace(p.id::text, '-', '') = d.id
        AND p.tenant_id = s.tenant_id
    WHERE CASE WHEN s.status = 201 THEN
        b.error IS NOT NULL OR p.id IS NULL
        OR (d.reference, d.amount) IS DISTINCT FROM (p.reference, p.amount::text)
        OR (d.title, d.description, d.bill_number)
            IS DISTINCT FROM (p.title, p.description, p.bill_number)
        OR d.status IN ('paid', 'refunded') AND (d.fee, d.payment_reference)
            IS DISTINCT FROM (p.fee::text, p.payment_reference)
    ELSE s.status < 400 OR b.data IS NOT NULL OR b.error ->> 'code' IS NULL
        OR (s.status = 402) <> (b.error ->> 'code' = 'insufficient_balance')
        OR (s.status = 422) <> (b.error ->> 'code' = 'wallet_limit_exceeded') END""",
    scope="all",
)

CHECKS = [
    _body_check("event_body", "payments", "starts_with(e.type, 'payment.')", _PAYMENT),
    _body_check(
        "request_event_body",
        "payment_requests",
        "starts_with(e.type, 'payment_request.')",
        _REQUEST,
    ),
    _body_check(
        "authorization_event_body",
        "authorizations",
        "starts_with(e.type, 'authorization.')",
        _AUTHORIZATION,
    ),
    _link_check("payment_link", "payments", "payment.created", "payment_url", "/pay/"),
    _link_check(
        "approval_link", "authorizations", "authorization.created", "approval_url", "/approve/"
    ),
    _LIMITS,
    _CUSTOMER,
    _METADATA,
    _SAVED,
]
READS_EVENTS = frozenset(check.kind for check in CHECKS)  # what a body that is no JSON stops
