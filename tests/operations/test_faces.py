"""An operation has the same refusals in every face: on the desk and on the command line."""

import html
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from laari.cli.main import cli
from laari.edge.pages.app import ROUTES
from laari.operations.every import OPERATIONS
from laari.operations.fields import Flag, Text
from laari.operations.operation import Operation
from laari.rules import ids
from tests.pages.operators import Desk, desk_of
from tests.pages.people import new_customer
from tests.serving import Service

FORMS = {route.operation: route.path for route in ROUTES if route.operation is not None}


# The parameters of a page, and the words of the same subject on the command line.
Named: TypeAlias = tuple[dict[str, str], list[str]]


async def _customer(service: Service) -> Named:
    made = await new_customer(service)
    return {"id": ids.show_id(ids.CUSTOMER, made.id)}, [str(made.account)]


NEW: dict[str, Callable[[Service], Awaitable[Named]]] = {"customer": _customer}


async def new_subject(service: Service, declared: Operation[Any]) -> Named:
    return ({}, []) if declared.subject is None else await NEW[declared.subject.name](service)


# Values that the command refuses, beyond the fields' own rules.
REFUSED: dict[str, dict[str, str]] = {
    "customer.freeze": {"reason": "Lost phone", "change": "on"},
    "customer.set-tier": {"tier": "platinum", "reason": "Asked"},
    "bank.assign": {"reference": "FT0", "account": "7"},
    "bank.return": {"reference": "FT0"},
    "bank.charge": {"reference": "FT0"},
    "bank.unmatch": {"reference": "FT0"},
}


def on_desk(
    desk: Desk, declared: Operation[Any], params: dict[str, str], given: dict[str, str]
) -> str:
    path = FORMS[declared.name].removeprefix("/operator").format(**params)
    page, _, form = path.rpartition("/")
    answer = desk.send(page, f"/{form}", **given)
    assert answer.status_code in (400, 404, 409, 422), answer.status_code
    found = re.search(r'class="notice bad"[^>]*>(.*?)</', answer.text, re.DOTALL)
    assert found is not None, answer.text
    return html.unescape(found[1]).strip()


def on_command_line(
    service: Service, declared: Operation[Any], subject: list[str], given: dict[str, str]
) -> str:
    words = [declared.group, declared.verb, *subject]
    for field in declared.fields:
        if field.name not in given:
            continue
        if field.positional:
            words.append(given[field.name])
        elif isinstance(field.kind, Flag):
            words.append(f"--{field.name}")
        else:
            words += [f"--{field.name}", given[field.name]]
    ended = service.laari(*words)
    assert ended.returncode != 0
    return ended.stderr


def test_every_operation_is_a_command() -> None:
    for declared in OPERATIONS:
        group = cli.commands[declared.group]
        assert declared.verb in group.commands, declared.name  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(REFUSED))
async def test_a_command_is_refused_in_the_same_words(usual_service: Service, name: str) -> None:
    declared = next(each for each in OPERATIONS if each.name == name)
    desk = await desk_of(usual_service, "admin")
    params, subject = await new_subject(usual_service, declared)
    shown = on_desk(desk, declared, params, REFUSED[name])
    assert shown in on_command_line(usual_service, declared, subject, REFUSED[name])


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        pytest.param(each, field, id=f"{each.name} {field.name}")
        for each in OPERATIONS
        for field in each.fields
        if isinstance(field.kind, Text)
    ],
)
async def test_a_wrong_text_is_refused_in_the_same_words(
    usual_service: Service, declared: Operation[Any], field: Any
) -> None:
    desk = await desk_of(usual_service, "admin")
    params, subject = await new_subject(usual_service, declared)
    given = {each.name: "x" for each in declared.fields if isinstance(each.kind, Text)} | {
        field.name: "x" * (field.kind.longest + 1)
    }
    _, words = on_desk(desk, declared, params, given).split(field.name, 1)
    assert words.strip() in on_command_line(usual_service, declared, subject, given)


@pytest.mark.parametrize("declared", OPERATIONS, ids=lambda each: each.name)
def test_the_page_and_the_command_need_the_permission_of_the_operation(
    declared: Operation[Any],
) -> None:
    route = next(route for route in ROUTES if route.operation == declared.name)
    assert route.access.to_change == declared.needs
