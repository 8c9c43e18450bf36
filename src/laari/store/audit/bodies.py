"""Compares events and saved responses with their rows.

Only the end of an address is compared: the service may have moved.
"""

from typing import NamedTuple

from laari.store.audit.difference import IN_ORDER, Check, shown


def _second(column: str, offset: str) -> str:
    """Casting takes half as long as `to_char`, and an offset a tenth of a zone's name."""
    second = f"date_trunc('second', {column} AT TIME ZONE interval '{offset}')"
    return f"replace({second}::text, ' ', 'T')"


def _time(column: str) -> str:
    return f"{_second(column, '5 hours')} || '+05:00'"


class _Said(NamedTuple):
    """A field of a body, its value in the row, and when the two have to agree."""

    name: str
    held: str
    when: str = "true"
    told: str = ""  # if it is not the field of that name

    @property
    def found(self) -> str:
        return self.told or f"b.data ->> '{self.name}'"


# The fields of every event's body that are about the event itself.
_EVENT = [
    _Said(name, held, told=f"b.body ->> '{name}'")
    for name, held in {
        "id": shown("evt", "e.id"),
        "type": "e.type",
        "payload_version": "'1'",
        "mode": "CASE t.mode WHEN 'live' THEN 'active' ELSE t.mode END",
        "created_at": f"{_second('e.created_at', '0 hours')} || 'Z'",
    }.items()
]


def _body_check(kind: str, table: str, events: str, said: list[_Said]) -> Check:
    """Compares these events with the rows of their objects. An absent field counts as null."""
    said = [*_EVENT, *said]
    wrong = " OR ".join(
        f"({each.when} AND {each.found} IS DISTINCT FROM {each.held})" for each in said
    )
    told = ", ".join(f"'{each.name} ' || coalesce(({each.found})::text, 'null')" for each in said)
    held = ", ".join(f"'{each.name} ' || coalesce(({each.held})::text, 'null')" for each in said)
    return Check(
        kind,
        "What an event says is not what its row says.",
        f"""SELECT {shown("evt", "e.id")} AS id, concat_ws(', ', {held}) AS expected,
            concat_ws(', ', {told}) AS found
        FROM events e
        JOIN (SELECT * FROM {table} ORDER BY id OFFSET 0) AS o ON o.id = e.object_id
        JOIN tenants t ON t.id = e.tenant_id
        CROSS JOIN LATERAL (
            SELECT body, body -> 'data' AS data
            FROM (SELECT convert_from(e.body, 'UTF8')::jsonb OFFSET 0) AS read (body) OFFSET 0
        ) AS b
        WHERE {events} AND ({wrong})""",
        memory=IN_ORDER,
    )


def _ending(field: str, path: str) -> _Said:
    """Only the end of an address is compared."""
    held = f"'{path}' || o.token"
    told = f"b.data ->> '{field}'"
    return _Said(field, held, f"{told} IS NOT NULL", f"right({told}, length({held}))")


_PAID = "e.type IN ('payment.paid', 'payment_request.paid')"
_HOSTED = "o.kind <> 'charge'"
# The fields that payments and payment requests have in common.
_COMMON = [
    *(_Said(name, f"o.{name}") for name in ("reference", "title", "description", "bill_number")),
    _Said("amount", "o.amount::text"),
    _Said("fee", f"CASE WHEN {_PAID} THEN o.fee::text END"),
    _Said("payment_reference", f"CASE WHEN {_PAID} THEN o.payment_reference END"),
    _Said("created_at", _time("o.created_at")),
    _Said("paid_at", f"CASE WHEN {_PAID} THEN {_time('o.paid_at')} END"),
]
_PAYMENT = [
    *_COMMON,
    _Said("id", shown("pay", "o.id")),
    _Said("net_amount", f"CASE WHEN {_PAID} THEN (o.amount - o.fee)::text END"),
    _Said("terminal_label", "o.terminal_label", _HOSTED),
    _Said("status", "CASE e.type WHEN 'payment.created' THEN 'pending' ELSE substr(e.type, 9) END"),
    _ending("payment_url", "/pay/"),
    _ending("qr_url", "/merchant/public/qr/"),
    _Said("return_url", "o.return_url", _HOSTED),
    _Said("expires_at", _time("o.expires_at"), _HOSTED),
    # Written as it was sent; two forms of the same object are the same.
    _Said("metadata", "o.metadata::jsonb", told="b.data -> 'metadata'"),
]
_REQUEST = [
    *_COMMON,
    _Said("id", shown("prq", "o.id")),
    _Said("terminal_label", "o.terminal_label"),
    _Said(
        "status",
        "CASE e.type WHEN 'payment_request.created' THEN 'pending' ELSE substr(e.type, 17) END",
    ),
    _Said("payment_id", f"CASE WHEN {_PAID} THEN {shown('pay', 'o.payment_id')} END"),
    _Said("customer type", "o.customer_type", told="b.data -> 'customer' ->> 'type'"),
    _Said("customer", "o.customer_value", told="b.data -> 'customer' ->> 'value'"),
    _Said("return_url", "o.return_url"),
    _Said("expires_at", _time("o.expires_at")),
]
_APPROVED = "e.type IN ('authorization.approved', 'authorization.revoked')"
_AUTHORIZATION = [
    _Said("id", shown("auth", "o.id")),
    *(
        _Said(name, f"o.{name}")
        for name in ("reference", "title", "description", "type", "currency", "return_url")
    ),
    _Said("per payment", "o.per_payment::text", told="b.data -> 'limits' ->> 'per_payment'"),
    _Said("period", "o.period_interval", told="b.data -> 'limits' -> 'period' ->> 'interval'"),
    _Said(
        "in a period", "o.period_amount::text", told="b.data -> 'limits' -> 'period' ->> 'amount'"
    ),
    _Said("in all", "o.total::text", told="b.data -> 'limits' ->> 'total'"),
    _Said("payments", "o.max_payments::text", told="b.data -> 'limits' ->> 'max_payments'"),
    _ending("approval_url", "/approve/"),
    _Said("approval_expires_at", _time("o.approval_expires_at")),
    _Said("expires_at", _time("o.expires_at")),
    _Said("approved_at", f"CASE WHEN {_APPROVED} THEN {_time('o.approved_at')} END"),
    _Said("created_at", _time("o.created_at")),
]


def _of_payment(name: str, held: str, told: str | None = None) -> _Said:
    """A field of the payment inside a refund."""
    value = f"(SELECT {held} FROM payments p WHERE p.id = o.payment_id)"
    return _Said(f"payment {name}", value, told=f"b.data -> 'payment' ->> '{told or name}'")


_REFUND = [
    _Said("id", shown("rfd", "o.id")),
    _Said("payment_id", shown("pay", "o.payment_id")),
    _Said("amount", "o.amount::text"),
    _Said("reason", "o.reason"),
    _Said("note", "o.note"),
    _Said("created_at", _time("o.created_at")),
    _of_payment("id", shown("pay", "p.id")),
    *(_of_payment(name, f"p.{name}") for name in ("reference", "title", "payment_reference")),
    *(_of_payment(name, f"p.{name}::text") for name in ("amount", "fee")),
    # The last refund shows it as refunded. Another one may be of the same moment.
    _of_payment(
        "status",
        "CASE WHEN p.refunded_at = o.created_at AND b.data -> 'payment' ->> 'status' = 'refunded' "
        "THEN 'refunded' ELSE 'paid' END",
    ),
]

_PAYOUT = [
    _Said("id", shown("po", "o.id")),
    _Said("number", "o.number::text"),
    _Said(
        "bank_references",
        "(SELECT jsonb_agg(reference ORDER BY place) FROM bank_orders WHERE payout_id = o.id)",
        told="b.data -> 'bank_references'",
    ),
    _Said(
        "bank_account",
        "(SELECT jsonb_build_object('bank', bank, 'last4', right(account_number, 4)) "
        "FROM bank_accounts WHERE id = o.bank_account_id)",
        "o.bank_account_id IS NOT NULL",
        told="b.data -> 'bank_account'",
    ),
    _Said("amount", "o.amount::text"),
    _Said("fee", "o.fee::text"),
    _Said("status", "substr(e.type, 8)"),
    _Said("created_at", _time("o.created_at")),
    _Said("cut_off", _time("o.cut_off")),
    _Said("sent_at", _time("o.sent_at")),
    _Said("settled_at", _time("o.settled_at"), "e.type = 'payout.settled'"),
    _Said("returned_at", _time("o.returned_at"), "e.type = 'payout.returned'"),
]

# A retry under another key shows the payment as it was then: what never changes is compared.
_SAVED = Check(
    "saved_response",
    "What is replayed for an idempotency key is not what was done.",
    f"""SELECT s.tenant_id || ' ' || s.operation || ' ' || s.key AS id,
        coalesce(concat_ws(', ', 201, p.id, p.reference, p.amount, p.title),
            concat_ws(', ', 201, r.id, r.amount), 'no such payment or refund') AS expected,
        concat_ws(', ', s.status, d.id, d.reference, d.amount, d.title, b.error ->> 'code') AS found
    FROM saved_responses s
    CROSS JOIN LATERAL json_to_record(convert_from(s.body, 'UTF8')::json)
        AS b (data json, error json)
    CROSS JOIN LATERAL json_to_record(b.data) AS d (id text, reference text, amount text,
        title text, description text, bill_number text, status text, fee text,
        payment_reference text, payment_id text, reason text, note text)
    LEFT JOIN payments p ON {shown("pay", "p.id")} = d.id
        AND p.tenant_id = s.tenant_id
    LEFT JOIN refunds r ON {shown("rfd", "r.id")} = d.id AND r.tenant_id = s.tenant_id
    WHERE CASE WHEN s.status = 201 AND starts_with(d.id, 'rfd_') THEN
        b.error IS NOT NULL OR s.code <> '' OR r.id IS NULL OR s.resource_id <> r.id
        OR (d.payment_id, d.amount, d.reason, d.note) IS DISTINCT FROM
            ({shown("pay", "r.payment_id")}, r.amount::text, r.reason, r.note)
    WHEN s.status = 201 THEN
        b.error IS NOT NULL OR s.code <> '' OR p.id IS NULL OR s.resource_id <> p.id
        OR (d.reference, d.amount) IS DISTINCT FROM (p.reference, p.amount::text)
        OR (d.title, d.description, d.bill_number)
            IS DISTINCT FROM (p.title, p.description, p.bill_number)
        OR d.status IN ('paid', 'refunded') AND (d.fee, d.payment_reference)
            IS DISTINCT FROM (p.fee::text, p.payment_reference)
    ELSE s.status < 400 OR s.resource_id IS NOT NULL OR b.data IS NOT NULL
        OR b.error ->> 'code' IS DISTINCT FROM s.code
        OR (s.status = 402) <> (b.error ->> 'code' = 'insufficient_balance')
        OR (s.status = 422) <> (b.error ->> 'code' = 'wallet_limit_exceeded') END""",
    scope="all",
)

CHECKS = [
    # Two statements for the many events of payments, which run at the same time.
    _body_check("event_body", "payments", "e.type = 'payment.created'", _PAYMENT),
    _body_check(
        "event_body",
        "payments",
        "starts_with(e.type, 'payment.') AND e.type <> 'payment.created' "
        "AND e.type <> 'payment.refunded'",
        _PAYMENT,
    ),
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
    _body_check("refund_event_body", "refunds", "e.type = 'payment.refunded'", _REFUND),
    _body_check("payout_event_body", "payouts", "starts_with(e.type, 'payout.')", _PAYOUT),
    _SAVED,
]
