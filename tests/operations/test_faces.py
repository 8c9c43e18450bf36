"""An operation has the same refusals on every face: dashboard, desk and command line."""

import html
import re
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import click
import httpx
import pytest

from laari.cli.main import cli
from laari.edge.pages.app import ROUTES
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import PageRequest
from laari.operations.applications import SUBMIT
from laari.operations.clients import Scopes
from laari.operations.customers import NOTE
from laari.operations.every import OPERATIONS
from laari.operations.fields import (
    Amount,
    BasisPoints,
    Choice,
    Day,
    Field,
    Flag,
    Switch,
    Text,
    read_form,
)
from laari.operations.merchants import SET_WEBHOOK, UPDATE
from laari.operations.operation import Operation
from laari.rules import ids
from laari.rules.money import read_rufiyaa
from laari.rules.people.permissions import may
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import OperatorRole, Role
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import connection_to
from tests import people
from tests.actors import OPERATOR
from tests.cli.test_approval import ANSWERS
from tests.days import tomorrow
from tests.logins import opened
from tests.operations.subjects import NEW, Named, new_subject, nobody, signed_up
from tests.pages.forms import token_in
from tests.pages.operators import PASSWORD, desk_of
from tests.sampling import some_of
from tests.serving import Service

pytestmark = pytest.mark.ci


class Form(NamedTuple):
    kind: type[PageRequest]
    path: str
    chooses: Mapping[str, str]  # the fields that choose the operation


def forms_of(declared: Operation[Any]) -> list[Form]:
    """On the dashboard and on the desk."""
    return [
        Form(route.kind, route.path, route.runs[declared.name])
        for route in ROUTES
        if declared.name in route.runs
    ]


# A face that asks for a value in another way: in the form, and on the command line.
OTHERWISE: dict[str, tuple[dict[str, str], list[str]]] = {
    "bank.match": ({"movement": "sweep 1"}, ["--sweep", "1"]),
    "client.create": ({"payments:read": "on", "expires": "never"}, []),
    "merchant.approve": ({"application": f"{ids.APPLICATION}{'0' * 32}"}, []),
    "bank.import": ({}, ["/dev/null"]),
}
SUBJECT_OPTION = {"customer.end-sessions": ["--customer"]}  # before the subject
AMOUNT = {"amount": "5.00"}
WHY = {"reason": "Asked"}
LONG = "x" * 3000  # for any text
# A refusal of each operation: values, or none for a subject that there is not. Values are for the
# command if it refuses any, and otherwise for a field.
REFUSED: dict[str, dict[str, str] | None] = {
    "customer.unfreeze": {"reason": LONG},  # a wallet that is not frozen stays so
    "customer.end-passkeys": None,
    "customer.end-devices": None,
    "customer.end-trust": WHY,
    "customer.end-sessions": None,
    "customer.note": {"note": LONG},
    "wallet.topup": {**AMOUNT, "details": LONG},
    "merchant.rename": {"name": LONG},
    "merchant.set-limit": {"reason": LONG},
    "merchant.pause": {"reason": LONG},
    "merchant.resume": None,
    "merchant.set-mode": None,
    "merchant.update": {"webhook_url": "nowhere"},
    "merchant.rotate-key": None,
    "merchant.end-old-key": None,
    "user.set-role": {"role": "cashier"},
    "user.remove": None,
    "user.withdraw-invitation": {"email": "nobody@laari.test"},
    "client.create": {"name": LONG},
    "client.revoke": None,
    "payout.terms": {"paused_reason": LONG, "payout_minimum": "5.00", "payout_fee": "5.00"},
    "payout.cancel": None,
    "bank.import": {"digest": "0" * 64},
    "holiday.set": {"day": "2099-01-01", "name": LONG},
    "operator.create": {"email": "nobody", "role": "support"},
    "operator.set-role": None,
    "operator.remove": None,
    "customer.freeze": {"reason": "Lost phone", "change": "on"},
    "customer.set-tier": {"tier": "platinum", "reason": "Asked"},
    "wallet.adjust": {"amount": "-9999999.00", "details": "Asked"},
    "wallet.withdraw": {**AMOUNT, "last": "0"},
    "wallet.bank": {"holder": "Ali", "bank": "BML", "number": "MV 12"},
    "case.answer": {"outcome": "resolved", "answer": "The shop has refunded it."},
    "movement.confirm": {},
    "movement.refuse": WHY,
    "message.resend": {},
    "merchant.bank": {"holder": "Ali", "bank": "BML", "number": "MV 12"},
    "merchant.set-webhook": {"webhook_url": "nowhere"},
    "merchant.set-fees": {"percent": "1.5", "fixed": "0", "first_day": "2026-01-01", **WHY},
    "merchant.cancel-fees": {"starts_at": "2026-01-01"},
    "merchant.approve": {},
    "application.submit": {**ANSWERS, "monthly_volume": "5.00"},
    "application.withdraw": {},
    "application.refuse": WHY,
    "merchant.hold": {**AMOUNT, **WHY},
    "merchant.release": {**AMOUNT, **WHY},
    "merchant.adjust": {"amount": "-5.00", **WHY},
    "fees.sweep": {"amount": "9999999.00"},
    "payout.run": {"day": str(tomorrow())},
    "payout.request": {},
    "payout.approve": {"total": "0.00"},
    "payout.file": {},
    "payout.settle": {},
    "payout.return": WHY,
    "bank.assign": {"reference": "FT0", "account": "7"},
    "bank.return": {"reference": "FT0"},
    "bank.charge": {"reference": "FT0"},
    "bank.unmatch": {"reference": "FT0"},
    "bank.match": {"reference": "FT0"},
    "holiday.remove": {"removed": "2026-01-01"},
    "tier.set": {"name": "Gold!"},
    "float.sign": {"day": str(tomorrow()), "bank_closing": "0.00"},
}
# Faces that get the value in different ways, and so refuse another one.
OWN_WORDS = {"bank.import": "a kept statement on the desk, and a file on the command line"}


async def on_pages(
    service: Service, declared: Operation[Any], named: Named, given: dict[str, str]
) -> list[str]:
    """The pages that refuse the form, on each face that has one."""
    pages = []
    for form in forms_of(declared):
        answer = await sent(service, declared, form, named, given)
        assert answer.status_code in (400, 402, 404, 409, 422), (form.path, answer.status_code)
        pages.append(answer.text)
    return pages


async def sent(
    service: Service,
    declared: Operation[Any],
    form: Form,
    named: Named,
    given: dict[str, str],
    *,
    role: Role | None = None,
) -> httpx.Response:
    """The answer to the form; `role` is another one than that of an admin or an owner."""
    path = form.path.format(**named.params, mode="sandbox")
    more, _ = OTHERWISE.get(declared.name, ({}, []))
    fields = {**named.fields, **given, **form.chooses, **more}
    if issubclass(form.kind, OperatorRequest):
        desk = await desk_of(service, cast(OperatorRole, role or "admin"))
        return desk.send(path.removeprefix("/operator"), "", **fields)
    merchant_id = named.params["merchant"]
    if merchant_id == "mer_nobody":
        merchant_id = service.merchant().id  # of somebody who sends the form to another shop
    return await _on_dashboard(service, merchant_id, path, fields, role or "owner")


async def _on_dashboard(
    service: Service, merchant_id: str, path: str, fields: dict[str, str], role: Role
) -> httpx.Response:
    """Sends the form as a person of the shop."""
    email = f"{secrets.token_hex(4)}@shop.example"
    async with connection_to(service.dsn) as connection:
        login = NewLogin(hash_password(PASSWORD))
        await people.add(connection, OPERATOR, merchant_id, email, "owner", None, login)
        if role != "owner":
            email = f"{secrets.token_hex(4)}@shop.example"
            await people.add(connection, OPERATOR, merchant_id, email, role, None, login)
        token = await opened(connection, email, master=service.master_key)
    with httpx.Client(
        base_url=service.origin,
        cookies={"laari-dashboard": token},
        headers={"Sec-Fetch-Site": "same-origin"},
        timeout=30,
    ) as http:
        form_token = token_in(http.get(f"/dashboard/{merchant_id}/sandbox/account").text)
        data = {"password": PASSWORD, "form_token": form_token, **fields}
        return http.post(path, data=data)


def notice_on(page: str) -> str:
    found = re.search(r'class="notice bad"[^>]*>(.*?)</', page, re.DOTALL)
    assert found is not None, page
    return html.unescape(found[1]).strip()


def typed(field: Field, value: str) -> str:
    laari = read_rufiyaa(value) if isinstance(field.kind, Amount | BasisPoints) else None
    return value if laari is None else str(laari)


def on_command_line(
    service: Service, declared: Operation[Any], subject: list[str], given: dict[str, str]
) -> str:
    words = [*declared.words.split(), *SUBJECT_OPTION.get(declared.name, []), *subject]
    for field in declared.fields:
        if field.name not in given or field.of_page:
            continue
        option = f"--{field.typed_name.replace('_', '-')}"
        if field.positional:
            words.append(typed(field, given[field.name]))
        elif isinstance(field.kind, Flag | Switch):
            words.append(option)
        else:
            words += [option, typed(field, given[field.name])]
    _, more = OTHERWISE.get(declared.name, ({}, []))
    ended = service.laari(*words, *more)
    assert ended.returncode != 0
    return ended.stderr


def example(field: Field) -> str:
    match field.kind:
        case Amount() | BasisPoints():
            return "5.00"
        case Day():
            return "2026-01-01"
        case Flag() | Switch():
            return ""
        case Choice(values):
            return values[0]
        case Scopes():
            return "payments:read"
        case _:
            return "1"


def command_of(declared: Operation[Any]) -> click.Command:
    found: click.Command = cli
    for word in declared.words.split():
        assert isinstance(found, click.Group)
        found = found.commands[word]
    return found


def test_a_blank_value_that_removes_is_read_as_empty() -> None:
    assert read_form(SET_WEBHOOK.fields, {}) == {"webhook_url": "", "webhooks": False}


def test_a_note_has_line_breaks_on_every_face() -> None:
    assert read_form(NOTE.fields, {"note": "One\r\ntwo "}) == {"note": "One\ntwo"}
    [field] = NOTE.fields
    assert field.kind.read("One\ntwo", on_page=False) == "One\ntwo"


def test_every_operation_is_a_command() -> None:
    for declared in OPERATIONS:
        assert not isinstance(command_of(declared), click.Group), declared.name


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        pytest.param(each, field, id=f"{each.name} {field.name}")
        for each in OPERATIONS
        for field in each.fields
        if field.required == "always" and field.default is None and not field.of_page
        # Without a value, these show what there is.
        if each.name not in ("wallet.bank", "merchant.bank", "customer.note")
    ],
)
def test_a_command_needs_the_values_that_the_operation_needs(
    declared: Operation[Any], field: Field
) -> None:
    command = command_of(declared)
    [parameter] = [each for each in command.params if each.name == field.name]
    with pytest.raises(click.MissingParameter):
        parameter.handle_parse_result(click.Context(command), {}, [])


def test_every_operation_has_a_refusal_here() -> None:
    assert REFUSED.keys() == {each.name for each in OPERATIONS}


BY_NAME = {each.name: each for each in OPERATIONS}


@pytest.mark.parametrize(
    "name", some_of(sorted(name for name, given in REFUSED.items() if given is not None))
)
async def test_a_command_is_refused_in_the_same_words(usual_service: Service, name: str) -> None:
    declared, given = BY_NAME[name], REFUSED[name]
    assert given is not None
    named = await new_subject(usual_service, declared)
    told = words_of(on_command_line(usual_service, declared, named.words, given), declared)
    for page in await on_pages(usual_service, declared, named, given):
        if name not in OWN_WORDS:
            assert words_of(notice_on(page), declared).rstrip(".") in told


def words_of(message: str, declared: Operation[Any]) -> str:
    """Without the name of a field, which a page and a command call by their own words."""
    for field in declared.fields:
        message = message.removeprefix(f"The {field.words} ")
    return message.lower()


@pytest.mark.parametrize(
    "name", some_of(sorted(name for name, given in REFUSED.items() if given is None))
)
async def test_every_face_refuses_a_subject_that_there_is_not(
    usual_service: Service, name: str
) -> None:
    declared = BY_NAME[name]
    named = await nobody(usual_service, declared)
    assert await on_pages(usual_service, declared, named, {}) != []
    assert on_command_line(usual_service, declared, named.words, {}).count("\n") == 1


def _lacking(form: Form, declared: Operation[Any]) -> Role:
    """A role of this face without the permission; the command line always acts as an admin."""
    is_desk = issubclass(form.kind, OperatorRequest)
    roles: tuple[Role, ...] = ("support", "finance") if is_desk else ("accountant",)
    return next(role for role in roles if not may(role, declared.needs))


@pytest.mark.parametrize("name", some_of(each.name for each in OPERATIONS if forms_of(each)))
async def test_every_page_refuses_a_role_without_the_permission(
    usual_service: Service, name: str
) -> None:
    declared, given = BY_NAME[name], REFUSED[name]
    named = await new_subject_of_any(usual_service, declared)
    for form in forms_of(declared):
        role = _lacking(form, declared)
        answer = await sent(usual_service, declared, form, named, given or {}, role=role)
        assert answer.status_code == 403, (form.path, role)


async def new_subject_of_any(service: Service, declared: Operation[Any]) -> Named:
    """One that there is, if the test of refusals makes one: the role is refused before."""
    if declared.subject is None or declared.subject.name in NEW:
        found = await new_subject(service, declared)
        return found._replace(params={"id": "po_nothing"} | found.params)  # of one payout
    return await nobody(service, declared)


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        pytest.param(each, field, id=f"{each.name} {field.name}")
        for each in OPERATIONS
        for field in each.fields
        if isinstance(field.kind, Text) and not field.of_page
        if each.subject is None or each.subject.name != "movement"  # there is none
        if each is not SUBMIT  # its page says it beside each field
    ],
)
async def test_a_wrong_text_is_refused_in_the_same_words(
    usual_service: Service, declared: Operation[Any], field: Any
) -> None:
    named = await new_subject(usual_service, declared)
    given = {each.name: example(each) for each in declared.fields}
    given |= {field.name: "x" * (field.kind.longest + 1)}
    if field.name == "till":  # the page leaves it out for other roles
        given["role"] = "cashier"
    told = on_command_line(usual_service, declared, named.words, given)
    for page in await on_pages(usual_service, declared, named, given):
        _, words = notice_on(page).split(field.words, 1)
        assert words.strip() in told


async def test_an_application_says_of_all_wrong_answers_what_the_command_says_of_one(
    usual_service: Service,
) -> None:
    named = await signed_up(usual_service)
    texts = {each.name: each.kind for each in SUBMIT.fields if isinstance(each.kind, Text)}
    wrong = {name: "x" * (kind.longest + 1) for name, kind in texts.items()}
    [page] = await on_pages(usual_service, SUBMIT, named, {**wrong, "monthly_volume": "5.00"})
    told = dict(re.findall(r'class="hint wrong" id="(\w+)-hint">This ([^<]+)<', page))
    assert told.keys() == wrong.keys()
    answers = {**ANSWERS, "monthly_volume": "5.00"}
    for name, words in told.items():
        given = {**answers, name: wrong[name]}
        assert html.unescape(words) in on_command_line(usual_service, SUBMIT, named.words, given)


@pytest.mark.parametrize("declared", OPERATIONS, ids=lambda each: each.name)
def test_the_page_and_the_command_need_the_permission_of_the_operation(
    declared: Operation[Any],
) -> None:
    routes = [route for route in ROUTES if declared.name in route.runs]
    assert bool(routes) == (declared is not UPDATE)  # several settings at once are for programs
    assert {route.access.to_change for route in routes} <= {declared.needs}
