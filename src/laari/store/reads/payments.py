"""Reading payments."""

from dataclasses import replace
from datetime import datetime
from typing import get_args

from asyncpg import Connection

from laari.rules.records.payments import Payment, PaymentStatus
from laari.store.reads.figures import Figures
from laari.store.reads.listing import Listing, Walk, Window, conditions_of
from laari.store.tables import PAYMENTS

# As `rules.lifecycle.state_of` has it: listed as expired before it is marked so.
_OVERDUE = "status = 'pending' AND expires_at <= {now} AND reserved_at IS NULL"
_NOT_OVERDUE = f"NOT coalesce({_OVERDUE}, false)"

# The claim of a reference leads to its payment: payments need no index of references, which every
# payment would have to write.
_CLAIMED = """id = (
    SELECT coalesce(q.payment_id, c.resource_id) FROM reference_claims c
    LEFT JOIN payment_requests q ON c.kind = 'request' AND q.id = c.resource_id
    WHERE c.tenant_id = {} AND c.reference = {}
)"""

_STATUSES = get_args(PaymentStatus)

_SUMS = """count(paid_at) AS payments,
    coalesce(sum(amount) FILTER (WHERE paid_at IS NOT NULL), 0)::bigint AS gross,
    coalesce(sum(fee), 0)::bigint AS fees, coalesce(sum(CASE WHEN refunded_amount IS NOT NULL THEN
        (SELECT count(*) FROM refunds r WHERE r.payment_id = walked.id) END), 0)::bigint AS refunds,
    coalesce(sum(refunded_amount), 0)::bigint AS refunded"""

MOST_SUMMED = 10_000  # payments whose sums are shown with a list

by_id = PAYMENTS.finder("id")
# A charge has no public address, so it is not in the index of tokens.
by_token = PAYMENTS.finder("token", "kind <> 'charge'")


def of_tenant(
    tenant_id: int, now: datetime, window: Window, **filters: str | None
) -> Listing[Payment]:
    return Listing(PAYMENTS, walks(tenant_id, now, **filters), window)


async def sums(connection: Connection, listing: Listing[Payment]) -> Figures | None:
    """The sums of all payments of a list, with what was refunded of them until now.

    None if they are too many to add up while somebody waits.
    """
    total, left = Figures(), MOST_SUMMED
    window = replace(listing.window, after=None)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        for walk in listing.walks:
            conditions, _, values = conditions_of(PAYMENTS, walk, window)
            names = [f"${number}" for number in range(1, len(values) + 1)]
            where = " AND ".join(conditions).format(*names)
            kept = {name: f"${number}" for number, name in enumerate(walk.values, len(values) + 1)}
            keep = "true" if walk.keep is None else walk.keep.format_map(kept)
            found = await connection.fetchrow(
                f"WITH walked AS MATERIALIZED (SELECT * FROM payments WHERE {where} "
                f"LIMIT {left + 1}) SELECT (SELECT count(*) FROM walked) AS number, {_SUMS} "
                f"FROM walked WHERE {keep}",
                *values,
                *walk.values.values(),
            )
            fields = dict(found)
            left -= fields.pop("number")
            if left < 0:
                return None
            total = total.plus(Figures(**fields))
    return total


def walks(
    tenant_id: int,
    now: datetime,
    *,
    status: str | None = None,
    reference: str | None = None,
    terminal_label: str | None = None,
    bill_number: str | None = None,
) -> list[Walk]:
    equal: dict[str, object] = {"tenant_id": tenant_id}
    if terminal_label:
        equal["terminal_label"] = terminal_label
    if reference:  # at most one payment has it
        if bill_number:
            equal["bill_number"] = bill_number
        claimed = (_CLAIMED, [("bigint", tenant_id), ("text", reference)])
        return [replace(_checked(equal, status, now), found=claimed)]
    if bill_number:  # narrows most: the status is checked on the way
        equal["bill_number"] = bill_number
        return [_checked(equal, status, now)]
    if status is not None:
        return _by_status(equal, status, now)
    if terminal_label:  # its index goes on with the status
        return [Walk({**equal, "status": each}) for each in _STATUSES]
    return [Walk(equal)]


def _by_status(equal: dict[str, object], status: str, now: datetime) -> list[Walk]:
    """Along an index of the status; an overdue pending row counts as expired."""
    if status == "expired":
        return [
            Walk({**equal, "status": "expired"}),
            Walk({**equal, "status": "pending"}, _OVERDUE, {"now": now}),
        ]
    if status == "pending":
        return [Walk({**equal, "status": status}, _NOT_OVERDUE, {"now": now})]
    return [Walk({**equal, "status": status})]


def _checked(equal: dict[str, object], status: str | None, now: datetime) -> Walk:
    """The same along an index without the status."""
    if status is None:
        return Walk(equal)
    if status == "expired":
        return Walk(equal, f"status = 'expired' OR ({_OVERDUE})", {"now": now})
    if status == "pending":
        return Walk(equal, f"status = 'pending' AND {_NOT_OVERDUE}", {"now": now})
    return Walk(equal, "status = {status}", {"status": status})
