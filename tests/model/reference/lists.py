"""Listings: newest first, filtered, a page at a time."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.model.reference import authorizations, payments, requests, shapes
from tests.model.reference.fields import REFERENCE, invalid
from tests.model.reference.state import Answer, Position
from tests.model.reference.steps import Step
from tests.model.reference.unknowns import cursor_of

DEFAULT_LIMIT, MAX_LIMIT = 20, 100


def age(step: Step, row: Any) -> tuple[float, int]:
    return (row.created_at.earliest, step.state.ranks.get(row.name, 0))


def page(
    step: Step, listing: tuple[object, ...], rows: Iterable[Any], show: Callable[[Any], Any]
) -> Answer:
    """The newest rows after the cursor; one of another listing starts at the first page."""
    query = step.call.query
    rows = sorted(rows, key=lambda row: age(step, row), reverse=True)
    since, until = query.get("created_from"), query.get("created_to")
    if since is not None and until is not None and since >= until:
        raise invalid("created_from")
    if since is not None:
        rows = [row for row in rows if row.created_at.earliest >= since]
    if until is not None:
        rows = [row for row in rows if row.created_at.earliest < until]
    after = step.state.cursors.get(query.get("after", 0))
    if after is not None and after.listing == listing:
        rows = [row for row in rows if age(step, row) < after.after]
    limit = min(max(query.get("limit", DEFAULT_LIMIT), 1), MAX_LIMIT)
    shown, more = rows[:limit], len(rows) > limit
    if more:
        step.state.cursors[step.call.number] = Position(listing, age(step, shown[-1]))
    cursor = cursor_of(step.call.number) if more else None
    pagination = {"limit": limit, "has_more": more, "next_cursor": cursor}
    return Answer(200, {"data": [show(row) for row in shown], "pagination": pagination})


def _matches(step: Step, row: Any) -> bool:
    """Overdue ones count as expired. Labels and bill numbers match exactly."""
    query = step.call.query
    status = "expired" if payments.is_overdue(row, step.now) else row.status
    return (
        query.get("status") in (None, status)
        and query.get("terminal_label") in (None, row.terminal_label)
        and query.get("bill_number") in (None, row.bill_number)
        and query.get("reference") in (None, row.reference)
    )


def list_payments(step: Step) -> Answer:
    """Rows that are returned and overdue are marked, and only those."""
    if "reference" in step.call.query:
        REFERENCE(step.call.query["reference"], "reference")  # a blank one is refused
    own = [row for row in step.state.payments.values() if row.tenant == step.tenant]
    return page(
        step,
        ("payments", step.tenant),
        [row for row in own if _matches(step, row)],
        lambda row: shapes.payment(payments.expired_if_overdue(step, row)),
    )


def list_requests(step: Step) -> Answer:
    own = [row for row in step.state.requests.values() if row.tenant == step.tenant]
    return page(
        step,
        ("requests", step.tenant),
        [row for row in own if _matches(step, row)],
        lambda row: shapes.request(requests.expired_if_overdue(step, row)),
    )


def list_authorizations(step: Step) -> Answer:
    rows = [
        authorizations.as_of(row, step.now)
        for row in step.state.authorizations.values()
        if row.tenant == step.tenant
    ]
    wanted = step.call.query.get("status")
    return page(
        step,
        ("authorizations", step.tenant),
        [row for row in rows if wanted in (None, row.status)],
        shapes.authorization,
    )


def list_charges(step: Step) -> Answer:
    """The payments of one authorization, also after it has ended."""
    authorization = authorizations.find(step)
    rows = [row for row in step.state.payments.values() if row.authorization == authorization.name]
    return page(
        step,
        ("charges", authorization.name),
        [row for row in rows if _matches(step, row)],
        shapes.payment,
    )
