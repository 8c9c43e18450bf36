"""What events and saved responses say, against the rows they speak of.

Of an address only its end counts: the service may have moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from laari.store.audit.difference import (
    Check,
    Queries,
    shown_authorization,
    shown_event,
    shown_payment,
    shown_request,
)


def _second(column: str, offset: str) -> str:
    """Casting takes half as long as `to_char`, and an offset a tenth of a zone's name."""
    second = f"date_trunc('second', {column} AT TIME ZONE interval '{offset}')"
    return f"replace({second}::text, ' ', 'T')"


def _time(column: str) -> str:
    """As the merchant interface shows it."""
    return f"{_second(column, '5 hours')} || '+05:00'"


class _Said(NamedTuple):
    """What a body says of its object, what the row says, and for which events that is the same."""

    name: str
    held: str
    when: str = "true"
    told: str = ""  # where it is not the field of that name

    @property
    def found(self) -> str:
        return self.told or f"d.{self.name}"


def _joined(*parts: str) -> str:
    """The texts after each other. Joined by halves, so that what has been joined is not copied
    again for each that follows."""
    if len(parts) == 1:
        return f"({parts[0]})"
    half = len(parts) // 2
    return f"({_joined(*parts[:half])} || {_joined(*parts[half:])})"


# How every event's body begins: the version of the payload is constant.
_ID = f"""'{{"id":"' || {shown_event("e.id")}"""
_MODE = """'","payload_version":1,"mode":"' || {} || '","created_at":"'"""
_MADE = f"""{_second("e.created_at", "0 hours")} || 'Z","data":{{'"""
_HEAD = _joined(
    _ID,
    '\'","type":"\' || e.type',
    _MODE.format("CASE t.mode WHEN 'live' THEN 'active' ELSE t.mode END"),
    _MADE,
)


def _body_check(
    kind: str,
    table: str,
    read: str,
    said: list[_Said],
    unusual: str,
    queries: Queries | None = None,
) -> Check:
    """The events that the query `unusual` names, each against its row.

    What is common to all is compared as text. What follows it is `data`, read once as a record of
    the columns `read`; a field that is absent or null counts as null. They are looked up one by
    one: the planner cannot know that they are few.
    """
    wrong = " OR ".join(
        f"({each.when} AND {each.found} IS DISTINCT FROM {each.held})" for each in said
    )
    told = ", ".join(f"'{each.name} ' || coalesce({each.found}, 'null')" for each in said)
    held = ", ".join(f"'{each.name} ' || coalesce({each.held}, 'null')" for each in said)
    return Check(
        kind,
        "What an event says is not what its row says.",
        f"""SELECT {shown_event("e.id")} AS id, concat_ws(', ', b.head, {held}) AS expected,
            concat_ws(', ', substr(b.body, 1, length(b.head)), {told}) AS found
        FROM ({unusual}) AS unusual
        CROSS JOIN LATERAL (SELECT * FROM events WHERE id = unusual.id OFFSET 0) AS e
        CROSS JOIN LATERAL (SELECT * FROM {table} WHERE id = e.object_id OFFSET 0) AS o
        JOIN tenants t ON t.id = e.tenant_id
        CROSS JOIN LATERAL (
            SELECT convert_from(e.body, 'UTF8') AS body, {_HEAD} AS head OFFSET 0
        ) AS b
        CROSS JOIN LATERAL json_to_record(CASE WHEN starts_with(b.body, b.head)
            THEN substr(b.body, length(b.head), length(b.body) - length(b.head))::json END)
            AS d ({read})
        WHERE NOT starts_with(b.body, b.head) OR {wrong}""",
        queries=queries,
    )


# Where the service is, as some body says; one that says otherwise is looked at more closely. It is
# read without decoding it: a body that is no text must not stop the checks that share this.
_ORIGIN = """SELECT split_part(
        split_part(encode(body, 'escape'), '"payment_url":"', 2), '/pay/', 1)
    FROM events WHERE type = 'payment.created' LIMIT 1"""


def _json(text: str) -> str:
    """A text that may be null, as JSON."""
    return f"coalesce(to_json({text})::text, 'null')"


def _ending(field: str, path: str) -> _Said:
    """The end of an address that was handed out."""
    held = f"'{path}' || o.token"
    return _Said(field, held, f"d.{field} IS NOT NULL", f"right(d.{field}, length({held}))")


_PAID = "e.type LIKE '%.paid'"
_HOSTED = "o.kind <> 'charge'"
_PAYMENT_READ = """id text, reference text, amount text, fee text, net_amount text, title text,
    description text, terminal_label text, bill_number text, status text, payment_url text,
    payment_reference text, qr_url text, return_url text, created_at text, paid_at text,
    expires_at text, metadata json"""
_PAYMENT = [
    _Said("id", shown_payment("o.id")),
    _Said("reference", "o.reference"),
    _Said("amount", "o.amount::text"),
    _Said("fee", f"CASE WHEN {_PAID} THEN o.fee::text END"),
    _Said("net_amount", f"CASE WHEN {_PAID} THEN (o.amount - o.fee)::text END"),
    _Said("title", "o.title"),
    _Said("description", "o.description"),
    _Said("terminal_label", "o.terminal_label", _HOSTED),
    _Said("bill_number", "o.bill_number"),
    _Said("status", "CASE e.type WHEN 'payment.created' THEN 'pending' ELSE substr(e.type, 9) END"),
    _ending("payment_url", "/pay/"),
    _ending("qr_url", "/merchant/public/qr/"),
    _Said("payment_reference", f"CASE WHEN {_PAID} THEN o.payment_reference END"),
    _Said("return_url", "o.return_url", _HOSTED),
    _Said("created_at", _time("o.created_at")),
    _Said("paid_at", f"CASE WHEN {_PAID} THEN {_time('o.paid_at')} END"),
    _Said("expires_at", _time("o.expires_at"), _HOSTED),
    # Written as it was sent; two forms of the same object are the same.
    _Said(
        "metadata",
        "o.metadata::jsonb::text",
        "d.metadata::text IS DISTINCT FROM o.metadata",
        "d.metadata::jsonb::text",
    ),
]
_URL = "(SELECT url FROM origin)"
_IF_HOSTED = "CASE WHEN o.kind <> 'charge' THEN {} ELSE '' END"
# What all events of a payment say alike, between what each says for itself.
_OF_PAYMENT = {
    "mode": (
        _MODE.format(
            "CASE WHEN tenant_id IN (SELECT id FROM tenants WHERE mode = 'live') "
            "THEN 'active' ELSE 'sandbox' END"
        ),
    ),
    "opening": (
        f"""'"id":"' || {shown_payment("o.id")}""",
        f"""'","reference":' || {_json("o.reference")}""",
        "',\"amount\":' || o.amount",
    ),
    "words": (
        f"""',"title":' || {_json("o.title")}""",
        f"""',"description":' || {_json("o.description")}""",
        _IF_HOSTED.format(f"""',"terminal_label":' || {_json("o.terminal_label")}"""),
        f"""',"bill_number":' || {_json("o.bill_number")}""",
    ),
    "page": (_IF_HOSTED.format(f"""',"payment_url":"' || {_URL} || '/pay/' || o.token || '"'"""),),
    "addresses": (
        _IF_HOSTED.format(f"""',"qr_url":"' || {_URL} || '/merchant/public/qr/' || o.token"""),
        _IF_HOSTED.format(f"""'","return_url":' || {_json("o.return_url")}"""),
        f"""',"created_at":"' || {_time("o.created_at")}""",
    ),
    "ending": (
        _IF_HOSTED.format(
            f"""',"expires_at":' || coalesce('"' || {_time("o.expires_at")} || '"', 'null')"""
        ),
        "',\"metadata\":' || o.metadata || '}}'",
    ),
}
_PAYMENTS = ", ".join(f"{_joined(*parts)} AS {name}" for name, parts in _OF_PAYMENT.items())


def _usual(event: str, status: str) -> str:
    """To the letter what the service writes today of such a row."""
    fee, reference, at = ',"fee":null,"net_amount":null', "null", "null"
    if status == "paid":
        fee = ""","fee":' || o.fee || ',"net_amount":' || o.amount - o.fee || '"""
        reference = f"' || {_json('o.payment_reference')} || '"
        at = f"""\"' || {_time("o.paid_at")} || '\""""
    return _joined(
        _ID,
        f"""'","type":"{event}' || o.mode""",
        _MADE,
        "o.opening",
        f"'{fee}' || o.words",
        f"""',"status":"{status}"' || o.page""",
        f"""',"payment_reference":{reference}' || o.addresses""",
        f"""'","paid_at":{at}' || o.ending""",
    )


class _PaymentEvent(NamedTuple):
    """When an event of this type happened to the payment, and what may be wrong with it."""

    type: str
    happened_at: str
    wrong: dict[str, str]


def _payment_event(
    name: str, status: str, called: str, at: str | None = None, early: str = "false"
) -> _PaymentEvent:
    event = f"payment.{name}"
    mistimed = f"o.id IS NOT NULL AND e.created_at IS DISTINCT FROM {at}" if at else "false"
    wrong = {
        "uncalled": f"(o.tenant_id = e.tenant_id AND {called}) IS NOT TRUE",
        "mistimed": mistimed,
        "early": early,
        # As it would be sent, in the driver's UTF-8; `convert_to` would look that up each time.
        "unusual": f"e.body IS DISTINCT FROM textsend({_usual(event, status)})",
    }
    return _PaymentEvent(event, at or "NULL", wrong)


# A type is compared with each until it is found, so the most usual come first.
_PAYMENT_EVENTS = (
    _payment_event("created", "pending", "o.is_hosted", "o.created_at"),
    _payment_event("paid", "paid", "o.status IN ('paid', 'refunded')", "o.paid_at"),
    _payment_event(
        "expired", "expired", "o.status = 'expired'", early="e.created_at < o.expires_at"
    ),
    _payment_event("cancelled", "cancelled", "o.status = 'cancelled'", "o.cancelled_at"),
)


def _by_type(told: Callable[[_PaymentEvent], str], otherwise: str) -> str:
    cases = " ".join(f"WHEN '{each.type}' THEN {told(each)}" for each in _PAYMENT_EVENTS)
    return f"CASE e.type {cases} ELSE {otherwise} END"


# The events of payments of which something is not right, or not as usual. The parts that are common
# to a payment's events are made once for all of them. Too large to be hashed, which the planner
# does not know but believes with little memory: so payments and events are both read in the order
# of the payments' ids, and nothing is kept.
PAYMENT_EVENTS = Queries(
    f"""origin (url) AS MATERIALIZED ({_ORIGIN}),
payment_events AS MATERIALIZED (
    SELECT e.id, e.object_id, e.type, e.created_at, o.expires_at,
        {_by_type(lambda each: each.happened_at, "NULL")} AS happened_at,
        {_by_type(lambda each: each.wrong["uncalled"], "true")} AS uncalled,
        {_by_type(lambda each: each.wrong["mistimed"], "false")} AS mistimed,
        {_by_type(lambda each: each.wrong["early"], "false")} AS early,
        {_by_type(lambda each: each.wrong["unusual"], "true")} AS unusual
    FROM events e LEFT JOIN (
        SELECT id, tenant_id, status, amount, fee, payment_reference, created_at, paid_at,
            cancelled_at, expires_at, kind = 'hosted' AS is_hosted, {_PAYMENTS}
        FROM payments o ORDER BY id OFFSET 0
    ) o ON o.id = e.object_id
    WHERE starts_with(e.type, 'payment.')
        AND {_by_type(lambda each: f"(({') OR ('.join(each.wrong.values())}))", "true")}
)""",
    memory="4MB",
)

_REQUEST_READ = """id text, reference text, amount text, fee text, title text, description text,
    terminal_label text, bill_number text, status text, payment_id text, payment_reference text,
    customer json, return_url text, created_at text, paid_at text, expires_at text"""
_REQUEST = [
    _Said("id", shown_request("o.id")),
    _Said("reference", "o.reference"),
    _Said("amount", "o.amount::text"),
    _Said("fee", f"CASE WHEN {_PAID} THEN o.fee::text END"),
    _Said("title", "o.title"),
    _Said("description", "o.description"),
    _Said("terminal_label", "o.terminal_label"),
    _Said("bill_number", "o.bill_number"),
    _Said(
        "status",
        "CASE e.type WHEN 'payment_request.created' THEN 'pending' ELSE substr(e.type, 17) END",
    ),
    _Said("payment_id", f"CASE WHEN {_PAID} THEN {shown_payment('o.payment_id')} END"),
    _Said("payment_reference", f"CASE WHEN {_PAID} THEN o.payment_reference END"),
    _Said("customer type", "o.customer_type", told="d.customer ->> 'type'"),
    _Said("customer", "o.customer_value", told="d.customer ->> 'value'"),
    _Said("return_url", "o.return_url"),
    _Said("created_at", _time("o.created_at")),
    _Said("paid_at", f"CASE WHEN {_PAID} THEN {_time('o.paid_at')} END"),
    _Said("expires_at", _time("o.expires_at")),
]
_APPROVED = "e.type IN ('authorization.approved', 'authorization.revoked')"
_AUTHORIZATION_READ = """id text, reference text, title text, description text, type text,
    currency text, limits json, approval_url text, approval_expires_at text, expires_at text,
    return_url text, approved_at text, created_at text"""
_AUTHORIZATION = [
    _Said("id", shown_authorization("o.id")),
    _Said("reference", "o.reference"),
    _Said("title", "o.title"),
    _Said("description", "o.description"),
    _Said("type", "o.type"),
    _Said("currency", "o.currency"),
    _Said("per payment", "o.per_payment::text", told="d.limits ->> 'per_payment'"),
    _Said("period", "o.period_interval", told="d.limits -> 'period' ->> 'interval'"),
    _Said("in a period", "o.period_amount::text", told="d.limits -> 'period' ->> 'amount'"),
    _Said("in all", "o.total::text", told="d.limits ->> 'total'"),
    _Said("payments", "o.max_payments::text", told="d.limits ->> 'max_payments'"),
    _ending("approval_url", "/approve/"),
    _Said("approval_expires_at", _time("o.approval_expires_at")),
    _Said("expires_at", _time("o.expires_at")),
    _Said("return_url", "o.return_url"),
    _Said("approved_at", f"CASE WHEN {_APPROVED} THEN {_time('o.approved_at')} END"),
    _Said("created_at", _time("o.created_at")),
]

# A retry under another key shows the payment as it was then: what never changes is compared.
_SAVED = Check(
    "saved_response",
    "What is replayed for an idempotency key is not what was done.",
    f"""SELECT s.tenant_id || ' ' || s.operation || ' ' || s.key AS id,
        coalesce(concat_ws(', ', 201, p.id, p.reference, p.amount, p.title), 'no such payment')
            AS expected,
        concat_ws(', ', s.status, d.id, d.reference, d.amount, d.title, b.error ->> 'code') AS found
    FROM saved_responses s
    CROSS JOIN LATERAL json_to_record(convert_from(s.body, 'UTF8')::json)
        AS b (data json, error json)
    CROSS JOIN LATERAL json_to_record(b.data) AS d (id text, reference text, amount text,
        title text, description text, bill_number text, status text, fee text,
        payment_reference text)
    LEFT JOIN payments p ON {shown_payment("p.id")} = d.id
        AND p.tenant_id = s.tenant_id
    WHERE CASE WHEN s.status = 201 THEN
        b.error IS NOT NULL OR p.id IS NULL OR s.resource_id <> p.id
        OR (d.reference, d.amount) IS DISTINCT FROM (p.reference, p.amount::text)
        OR (d.title, d.description, d.bill_number)
            IS DISTINCT FROM (p.title, p.description, p.bill_number)
        OR d.status IN ('paid', 'refunded') AND (d.fee, d.payment_reference)
            IS DISTINCT FROM (p.fee::text, p.payment_reference)
    ELSE s.status < 400 OR s.resource_id IS NOT NULL OR b.data IS NOT NULL
        OR b.error ->> 'code' IS NULL
        OR (s.status = 402) <> (b.error ->> 'code' = 'insufficient_balance')
        OR (s.status = 422) <> (b.error ->> 'code' = 'wallet_limit_exceeded') END""",
    scope="all",
)

CHECKS = [
    _body_check(
        "event_body",
        "payments",
        _PAYMENT_READ,
        _PAYMENT,
        "SELECT id FROM payment_events WHERE unusual",
        PAYMENT_EVENTS,
    ),
    _body_check(
        "request_event_body",
        "payment_requests",
        _REQUEST_READ,
        _REQUEST,
        "SELECT id FROM events WHERE starts_with(type, 'payment_request.') OFFSET 0",
    ),
    _body_check(
        "authorization_event_body",
        "authorizations",
        _AUTHORIZATION_READ,
        _AUTHORIZATION,
        "SELECT id FROM events WHERE starts_with(type, 'authorization.') OFFSET 0",
    ),
    _SAVED,
]
READS_EVENTS = frozenset(check.kind for check in CHECKS)  # what a body that is no JSON stops
