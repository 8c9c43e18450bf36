"""Transfers against the payments they belong to, which are joined once for all of it."""

from typing import NamedTuple

from laari.store.audit.difference import Check, shown_payment, unguarded


class _Called(NamedTuple):
    """A kind of transfer that payments call for: of which payments, and from where to where."""

    kind: str
    when: str
    debit: str
    credit: str
    amount: str
    message: str


_MERCHANT = "1000000000 + p.tenant_id"
_FEES = "CASE WHEN p.tenant_id IN (SELECT id FROM tenants WHERE mode = 'live') THEN 1 ELSE 2 END"
_ALL_CALLED = (
    _Called(
        "payment",
        "p.status IN ('paid', 'refunded')",
        *("p.payer_account", _MERCHANT, "p.amount"),
        "A paid payment moves its amount from the payer to the merchant; any other moves nothing.",
    ),
    _Called(
        "fee",
        "p.fee > 0",
        *(_MERCHANT, _FEES, "p.fee"),
        "A payment's fee moves from the merchant to the service; without a fee nothing does.",
    ),
    _Called(
        "refund",
        "p.status = 'refunded'",
        *(_MERCHANT, "p.payer_account", "p.amount"),
        "A refunded payment moves its whole amount back to the payer; any other moves nothing.",
    ),
)

_AT = "CASE kind WHEN 'refund' THEN refunded_at ELSE paid_at END"
_ALONE = "payment_id IS NOT NULL AND id IS NULL"
_MISTIMED = f"id IS NOT NULL AND moved_at IS DISTINCT FROM {_AT}"
_MISNAMED = (
    "id IS NOT NULL AND kind IN ('payment', 'fee') AND tid IS DISTINCT FROM payment_reference"
)
_RIGHT = " ".join(
    f"WHEN '{each.kind}' THEN {each.when} AND t.debit_account = {each.debit} "
    f"AND t.credit_account = {each.credit} AND t.amount = {each.amount}"
    for each in _ALL_CALLED
)
_COUNTS = " + ".join(f"count(*) FILTER (WHERE {each.when})" for each in _ALL_CALLED)
_KINDS = ", ".join(f"'{each.kind}'" for each in _ALL_CALLED)
# If each transfer is called for, none is there twice and there are as many as are called for, none
# is missing. Only otherwise each is looked for.
_MOVES = f"""moves AS MATERIALIZED (
    SELECT * FROM (
        SELECT t.id AS transfer_id, t.payment_id, t.kind, t.tid, t.created_at AS moved_at,
            p.id, p.paid_at, p.refunded_at, p.payment_reference,
            (CASE t.kind {_RIGHT} ELSE t.payment_id IS NULL END) IS NOT TRUE AS uncalled
        FROM transfers t LEFT JOIN payments p ON p.id = t.payment_id
        WHERE t.payment_id IS NOT NULL OR t.kind IN ({_KINDS})
    ) joined WHERE uncalled OR ({_MISTIMED}) OR ({_MISNAMED})
), gaps (possible) AS MATERIALIZED (
    SELECT {unguarded("transfers_once_per_payment")}
        OR EXISTS (SELECT FROM moves WHERE uncalled) OR (SELECT {_COUNTS} FROM payments p)
        <> (SELECT count(*) FROM transfers WHERE kind IN ({_KINDS}))
)"""


def _called_for(called: _Called) -> Check:
    """Payments against their transfers of one kind, both ways.

    A transfer of the kind that no payment calls for is one too many, or belongs to a payment that
    does not exist.
    """
    kind = called.kind
    described = "{0}.amount || ' from ' || {0}.debit || ' to ' || {0}.credit"
    return Check(
        f"{kind}_transfer",
        called.message,
        f"""SELECT {shown_payment("coalesce(e.payment_id, f.payment_id)")} AS id,
            coalesce({described.format("e")}, 'no {kind} transfer') AS expected,
            coalesce({described.format("f")}, 'no {kind} transfer') AS found
        FROM (
            SELECT p.id, {called.debit}, {called.credit}, {called.amount}
            FROM payments p WHERE {called.when}
        ) e (payment_id, debit, credit, amount)
        FULL JOIN (
            SELECT payment_id, debit_account, credit_account, amount
            FROM transfers WHERE kind = '{kind}'
        ) f (payment_id, debit, credit, amount) USING (payment_id)
        WHERE (e.debit, e.credit, e.amount) IS DISTINCT FROM (f.debit, f.credit, f.amount)
            AND (SELECT possible FROM gaps)""",
        queries=_MOVES,
    )


CHECKS = [
    *map(_called_for, _ALL_CALLED),
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
