"""Transfers against the payments they belong to, which are joined once for all of it."""

from __future__ import annotations

from laari.store.audit.difference import Check, Queries, shown_payment

_AT = "CASE kind WHEN 'refund' THEN refunded_at ELSE paid_at END"
_ALONE = "id IS NULL"
_MISTIMED = f"id IS NOT NULL AND moved_at IS DISTINCT FROM {_AT}"
_MISNAMED = (
    "id IS NOT NULL AND kind IN ('payment', 'fee') AND tid IS DISTINCT FROM payment_reference"
)
_MOVES = Queries(f"""moves AS MATERIALIZED (
    SELECT * FROM (
        SELECT t.id AS transfer_id, t.payment_id, t.kind, t.tid, t.created_at AS moved_at,
            p.id, p.paid_at, p.refunded_at, p.payment_reference
        FROM transfers t LEFT JOIN payments p ON p.id = t.payment_id
        WHERE t.payment_id IS NOT NULL
    ) joined WHERE ({_ALONE}) OR ({_MISTIMED}) OR ({_MISNAMED})
)""")

CHECKS = [
    Check(
        "transfer_payment",
        "The transfer belongs to a payment that does not exist.",
        f"""SELECT transfer_id::text AS id, {shown_payment("payment_id")} AS expected,
            'no payment' AS found
        FROM moves WHERE {_ALONE}""",
        queries=_MOVES,
    ),
    Check(
        "transfer_time",
        "A payment and its transfers are not of one moment.",
        f"""SELECT {shown_payment("id")} AS id,
            kind || ' at ' || coalesce({_AT}::text, 'no time') AS expected,
            kind || ' at ' || moved_at AS found
        FROM moves WHERE {_MISTIMED}""",
        queries=_MOVES,
    ),
    Check(
        "payment_reference",
        "A paid payment and its transfers carry one transaction reference.",
        f"""SELECT {shown_payment("id")} AS id, payment_reference AS expected, tid AS found
        FROM moves WHERE {_MISNAMED}""",
        queries=_MOVES,
    ),
]
