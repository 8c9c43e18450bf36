"""The page of all operations and their faces, for `tools.generate_docs`."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import click

from laari.cli.main import cli
from laari.cli.terminal.permission import permission_of
from laari.edge.merchant.app import OPERATIONS as API
from laari.edge.merchant.operations import Write
from laari.edge.pages.app import ROUTES
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.routes import PageRoute
from laari.operations.every import OPERATIONS

FACES = ("API", "Dashboard", "Desk", "Command line")
_SHOP = "/dashboard/{merchant}/{mode}"
# Faces with a handler of their own. With the action they share its command.
BY_HAND: dict[str, tuple[str, ...]] = {
    "payout.request": ("sandbox_create_payout", f"{_SHOP}/money/payouts/request"),
    "payout.settle": ("sandbox_settle_payout",),
    "payout.return": ("sandbox_return_payout",),
    "create_payment": (f"{_SHOP}/payments/new", f"{_SHOP}/counter/sales"),
    "cancel_payment": (f"{_SHOP}/payments/{{id}}/cancel", f"{_SHOP}/counter/sales/{{id}}/cancel"),
    "refund_payment": (f"{_SHOP}/payments/{{id}}/refund", "laari payment refund"),
    "create_payment_request": (f"{_SHOP}/requests/new",),
    "cancel_payment_request": (f"{_SHOP}/requests/{{id}}/cancel",),
    "create_authorization": (f"{_SHOP}/authorizations/new",),
    "charge_authorization": (f"{_SHOP}/authorizations/{{id}}/charge",),
    "cancel_authorization": (f"{_SHOP}/authorizations/{{id}}/cancel",),
    "sandbox_suspend_authorization": (
        f"{_SHOP}/authorizations/{{id}}/sandbox/{{action}}",
        "laari authorization suspend",
    ),
    "sandbox_resume_authorization": (
        f"{_SHOP}/authorizations/{{id}}/sandbox/{{action}}",
        "laari authorization resume",
    ),
    **{
        f"sandbox_{action}_authorization": (f"{_SHOP}/authorizations/{{id}}/sandbox/{{action}}",)
        for action in ("approve", "reject")
    },
    **{
        f"sandbox_{action}_{noun}": (f"{_SHOP}/{section}/{{id}}/sandbox/{{action}}",)
        for noun, section in (("payment", "payments"), ("payment_request", "requests"))
        for action in ("pay", "reject", "reserve", "release")
    },
    "sandbox_set_wallet": (f"{_SHOP}/sandbox/wallet",),
    "sandbox_move_clock": (f"{_SHOP}/sandbox/clock",),
}
WRITES = {each.name: f"{each.method} {each.path}" for each in API if isinstance(each, Write)}
# Commands that change nothing: they read, or work with the machine or with a shop's own programs.
_READING_WORDS = ("list", "show", "runs", "lines")
_READING_PERMISSIONS = ("service.run", "shop.develop", "audit.run")


def leaves(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    for word, inner in command.commands.items():
        yield from leaves(inner, f"{name} {word}")


def _forms() -> dict[str, PageRoute[Any]]:
    """The forms of pages for people, except those about a person's own account."""
    return {
        route.path: route
        for route in ROUTES
        if issubclass(route.kind, DashboardRequest | OperatorRequest)
        if route.post is not None and not route.access.own
    }


def _changing_commands() -> list[str]:
    found = {
        name: permission_of(command.callback)
        for name, command in leaves(cli, "laari")
        if command.callback is not None
    }
    return [
        name
        for name, permission in found.items()
        if name.split()[-1] not in _READING_WORDS
        and permission not in _READING_PERMISSIONS
        and not str(permission).endswith(".read")
    ]


def _face_of(place: str) -> str:
    if place in WRITES:
        return "API"
    if place.startswith("laari "):
        return "Command line"
    return "Desk" if place.startswith("/operator") else "Dashboard"


def _row(cells: Sequence[str], places: Iterable[str]) -> str:
    by_face: dict[str, list[str]] = {face: [] for face in FACES}
    for place in places:
        by_face[_face_of(place)].append(f"`{WRITES.get(place, place).removeprefix(_SHOP)}`")
    return "| " + " | ".join([*cells, *(", ".join(each) for each in by_face.values())]) + " |"


def operations_page() -> str:
    forms, commands = _forms(), _changing_commands()
    declared = {
        each.name: [
            *(path for path, route in forms.items() if each.name in route.runs),
            f"laari {each.words}",
            *BY_HAND.get(each.name, ()),
        ]
        for each in OPERATIONS
    }
    reached = {place for places in declared.values() for place in places}
    own = {name: [name, *BY_HAND.get(name, ())] for name in WRITES if name not in reached}
    reached |= {place for places in own.values() for place in places}
    for place in {place for places in BY_HAND.values() for place in places}:
        assert place in {*WRITES, *forms, *commands}, f"there is no {place}"
    left = [place for place in (*forms, *commands) if place not in reached]
    lines = [
        "",
        "# Operations and their faces",
        "",
        "Each declared operation has its permission, fields, command and texts in one place. Pages "
        "and the command line are made from it, so they refuse the same things. Addresses of the "
        f"dashboard are behind `{_SHOP}`.",
        "",
        f"| Operation | Permission | {' | '.join(FACES)} |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_row([f"`{each.name}`", f"`{each.needs}`"], declared[each.name]) for each in OPERATIONS),
        "",
        "## Operations of the API",
        "",
        "They have a scope and no declaration. The other faces run the same command.",
        "",
        f"| Operation | {' | '.join(FACES)} |",
        "| --- | --- | --- | --- | --- |",
        *(_row([f"`{name}`"], places) for name, places in own.items()),
        "",
        "## Without a declaration",
        "",
        "These forms and commands change something and are written by hand. Some show a secret "
        "once or have several steps; others have one face only.",
        "",
        "| Dashboard | Desk | Command line |",
        "| --- | --- | --- |",
    ]
    columns = [
        [f"`{place.removeprefix(_SHOP)}`" for place in left if _face_of(place) == face]
        for face in FACES[1:]
    ]
    lines += [f"| {' | '.join(cells)} |" for cells in zip_longest(*columns, fillvalue="")]
    return "\n".join(lines) + "\n"
