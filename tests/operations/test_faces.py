"""An operation has the same refusals in every face: on the desk and on the command line."""

import html
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import click
import httpx
import pytest

from laari.cli.main import cli
from laari.edge.pages.app import ROUTES
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import PageRequest
from laari.operations.applications import SUBMIT
from laari.operations.clients import Scopes
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
from laari.rules.banking.payout_runs import OpenRun
from laari.rules.calendar import local_day
from laari.rules.merchants.applications import RefuseApplication, SubmitApplication
from laari.rules.money import read_rufiyaa
from laari.rules.people.cases import AnswerCase
from laari.rules.people.persons import NewLogin
from laari.rules.records.merchants import ApplicationAnswers
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import connection_to
from tests import people
from tests.actors import OPERATOR
from tests.cli.test_approval import ANSWERS
from tests.days import tomorrow
from tests.deciding import done
from tests.logins import opened
from tests.making import sign_up
from tests.pages.forms import token_in
from tests.pages.operators import PASSWORD, desk_of, new_operator
from tests.pages.people import new_customer
from tests.pages.wallets import reported
from tests.people import decided
from tests.sampling import some_of
from tests.serving import Service

pytestmark = pytest.mark.ci


def _forms(kind: type[PageRequest]) -> dict[str, tuple[str, Mapping[str, str]]]:
    """The address of the form of an operation, and the fields that choose the operation."""
    return {
        name: (route.path, chooses)
        for route in ROUTES
        if issubclass(route.kind, kind)
        for name, chooses in route.runs.items()
    }


ON_DESK = _forms(OperatorRequest)
FORMS = _forms(DashboardRequest) | ON_DESK


# The parameters of a page, what the form says of the subject, and its words on the command line.
class Named(NamedTuple):
    params: dict[str, str]
    fields: dict[str, str]
    words: list[str]


async def _customer(service: Service) -> Named:
    made = await new_customer(service)
    return Named({"id": ids.show_id(ids.CUSTOMER, made.id)}, {}, [str(made.account)])


async def _wallet(service: Service) -> Named:
    made = await new_customer(service)
    account = str(made.account)
    page = {"id": ids.show_id(ids.CUSTOMER, made.id)}
    return Named(page, {"account": account}, [account])


async def _merchant(service: Service) -> Named:
    shop = service.merchant(mode="live")
    return Named({"merchant": shop.id}, {"mode": "live"}, [shop.id])


async def _movement(service: Service) -> Named:
    missing = ids.show_id(ids.MOVEMENT, UUID(int=1))
    return Named({"movement_id": missing}, {}, [missing])


async def _case(service: Service) -> Named:
    """That was answered."""
    case = await reported(service)
    await done(
        service.dsn, AnswerCase(OPERATOR, case.id, case.customer_id, case.tid, "rejected", "No")
    )
    shown = ids.show_id(ids.CASE, case.id)
    return Named({"case_id": shown}, {}, [shown])


async def _run(service: Service) -> Named:
    """Without payouts."""
    yesterday = local_day(datetime.now(UTC)) - timedelta(days=1)
    run = await done(service.dsn, OpenRun(OPERATOR, "live", yesterday))
    return Named({"number": str(run.number)}, {}, [str(run.number)])


async def _shop(service: Service) -> Named:
    shop = service.merchant()
    return Named({"merchant": shop.id}, {}, [shop.id])


async def _signed_up(service: Service) -> Named:
    """A merchant that is not live."""
    async with connection_to(service.dsn) as connection, connection.transaction():
        made = await sign_up(connection, OPERATOR, bytes(32), 10**6, name="Boat")
    assert made is not None
    return Named({"merchant": made.merchant.id}, {}, [made.merchant.id])


async def _application(service: Service) -> Named:
    """That was refused."""
    shop = await _signed_up(service)
    [merchant_id] = shop.words
    async with connection_to(service.dsn) as connection:
        answers = ApplicationAnswers(**ANSWERS)
        sent = await decided(connection, SubmitApplication(OPERATOR, merchant_id, answers))
        await decided(connection, RefuseApplication(OPERATOR, sent.id, "No register"))
    shown = ids.show_id(ids.APPLICATION, sent.id)
    return Named(shop.params, {"application": shown}, [shown])


async def _message(service: Service) -> Named:
    """That has not failed."""
    [row] = service.execute(
        "INSERT INTO messages (id, kind, channel, recipient, language, status, created_at) "
        "VALUES (gen_random_uuid(), 'receipt', 'sms', '+9607000001', 'en', 'suppressed', now()) "
        "RETURNING id"
    )
    shown = ids.show_id(ids.MESSAGE, row["id"])
    return Named({"message_id": shown}, {}, [shown])


async def _person(service: Service) -> Named:
    email = await new_operator(service, "support")
    return Named({}, {"email": email}, [email])


NEW: dict[str, Callable[[Service], Awaitable[Named]]] = {
    "customer": _customer,
    "wallet": _wallet,
    "merchant": _merchant,
    "shop": _shop,
    "application": _application,
    "movement": _movement,
    "case": _case,
    "message": _message,
    "run": _run,
    "target": _run,
    "person": _person,
}


async def new_subject(service: Service, declared: Operation[Any]) -> Named:
    return (
        Named({}, {}, []) if declared.subject is None else await NEW[declared.subject.name](service)
    )


# A face that asks for a value in another way: in the form, and on the command line.
OTHERWISE: dict[str, tuple[dict[str, str], list[str]]] = {
    "bank.match": ({"movement": "sweep 1"}, ["--sweep", "1"]),
    "client.create": ({"payments:read": "on", "expires": "never"}, []),
    "merchant.approve": ({"application": f"{ids.APPLICATION}{'0' * 32}"}, []),
}
AMOUNT = {"amount": "5.00"}
WHY = {"reason": "Asked"}
# Values that the command refuses, beyond the fields' own rules.
REFUSED: dict[str, dict[str, str]] = {
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


async def on_page(
    service: Service, declared: Operation[Any], named: Named, given: dict[str, str]
) -> str:
    """The page that refuses the form: on the desk, or else on the dashboard."""
    address, chooses = FORMS[declared.name]
    path = address.format(**named.params, mode="sandbox")
    more, _ = OTHERWISE.get(declared.name, ({}, []))
    sent = {**named.fields, **given, **chooses, **more}
    if declared.name in ON_DESK:
        desk = await desk_of(service, "admin")
        answer = desk.send(path.removeprefix("/operator"), "", **sent)
    else:
        answer = await _on_dashboard(service, named.params["merchant"], path, sent)
    assert answer.status_code in (400, 402, 404, 409, 422), answer.status_code
    return answer.text


async def _on_dashboard(
    service: Service, merchant_id: str, path: str, fields: dict[str, str]
) -> httpx.Response:
    """Sends the form as an owner of the shop."""
    email = f"{secrets.token_hex(4)}@shop.example"
    async with connection_to(service.dsn) as connection:
        login = NewLogin(hash_password(PASSWORD))
        await people.add(connection, OPERATOR, merchant_id, email, "owner", None, login)
        token = await opened(connection, email, master=service.master_key)
    with httpx.Client(
        base_url=service.origin,
        cookies={"laari-dashboard": token},
        headers={"Sec-Fetch-Site": "same-origin"},
        timeout=30,
    ) as http:
        form_token = token_in(http.get(f"/dashboard/{merchant_id}/sandbox/account").text)
        return http.post(path, data={"form_token": form_token, **fields})


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
    words = [*declared.words.split(), *subject]
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
        if each.name not in ("wallet.bank", "merchant.bank")  # without options, they show accounts
    ],
)
def test_a_command_needs_the_values_that_the_operation_needs(
    declared: Operation[Any], field: Field
) -> None:
    command = command_of(declared)
    [parameter] = [each for each in command.params if each.name == field.name]
    with pytest.raises(click.MissingParameter):
        parameter.handle_parse_result(click.Context(command), {}, [])


@pytest.mark.parametrize("name", some_of(sorted(REFUSED)))
async def test_a_command_is_refused_in_the_same_words(usual_service: Service, name: str) -> None:
    declared = next(each for each in OPERATIONS if each.name == name)
    named = await new_subject(usual_service, declared)
    shown = notice_on(await on_page(usual_service, declared, named, REFUSED[name]))
    for field in declared.fields:  # a page has its words for it
        shown = shown.removeprefix(f"The {field.words} ")
    assert (
        shown.lower().rstrip(".")
        in on_command_line(usual_service, declared, named.words, REFUSED[name]).lower()
    )


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
    shown = notice_on(await on_page(usual_service, declared, named, given))
    _, words = shown.split(field.name.replace("_", " "), 1)
    assert words.strip() in on_command_line(usual_service, declared, named.words, given)


async def test_an_application_says_of_all_wrong_answers_what_the_command_says_of_one(
    usual_service: Service,
) -> None:
    named = await _signed_up(usual_service)
    texts = {each.name: each.kind for each in SUBMIT.fields if isinstance(each.kind, Text)}
    wrong = {name: "x" * (kind.longest + 1) for name, kind in texts.items()}
    page = await on_page(usual_service, SUBMIT, named, {**wrong, "monthly_volume": "5.00"})
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
