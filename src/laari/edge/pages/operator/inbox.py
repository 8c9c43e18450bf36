"""The inbox: what waits for the operator's people, on the first page of the desk."""

from datetime import datetime, timedelta
from typing import NamedTuple

from laari.edge.pages.operator.request import OperatorRequest
from laari.rules.people.permissions import Permission
from laari.store import inbox
from laari.store.inbox import InboxKind


class Waiting(NamedTuple):
    """A line of the inbox."""

    name: str
    many: str
    since: datetime
    age: str
    path: str


# The name of one and of several, the page, and the permission for it.
_INBOX: dict[InboxKind, tuple[str, str, str, Permission]] = {
    "cases": ("Case", "Cases", "/cases", "customers.read"),
    "applications": ("Application", "Applications", "/merchants", "merchants.read"),
    "movements": ("Waiting movement", "Waiting movements", "/money", "wallets.read"),
    "imports": ("Waiting statement", "Waiting statements", "/bank", "bank.import"),
    "runs": ("Run to approve", "Runs to approve", "/payouts", "payouts.read"),
    "files": ("Run without a file", "Runs without a file", "/payouts", "payouts.read"),
    "lines": ("Unallocated line", "Unallocated lines", "/bank", "bank.import"),
    "webhooks": (
        "Shop with failing webhooks",
        "Shops with failing webhooks",
        "/health",
        "merchants.read",
    ),
    "messages": ("Failed message", "Failed messages", "/messages", "messages.read"),
}


async def waits(request: OperatorRequest) -> list[Waiting]:
    """What waits for people with the person's role, in the order of the table."""
    found = await request.backend.ask(inbox.read, request.actor, request.now, await request.helps())
    by_kind = {each.kind: each for each in found}
    rows = list[Waiting]()
    for kind, (one, several, path, permission) in _INBOX.items():
        each = by_kind.get(kind)
        if each is None or not request.may(permission):
            continue
        many = f"{each.many:,}" if each.many < inbox.MOST_COUNTED else f"{each.many:,} or more"
        page = path if each.run is None else f"{path}/{each.run}"
        age = _age(request.now - each.since)
        rows.append(Waiting(one if each.many == 1 else several, many, each.since, age, page))
    return rows


def _age(age: timedelta) -> str:
    """`5 minutes`, `3 hours` or `2 days`, rounded down."""
    many, unit = age // timedelta(days=1), "day"
    if many < 1:
        many, unit = age // timedelta(hours=1), "hour"
    if many < 1:
        many, unit = max(0, age // timedelta(minutes=1)), "minute"
    return f"{many:,} {unit}{'' if many == 1 else 's'}"
