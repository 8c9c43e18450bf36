"""The password again: every form of the desk that changes or hands out something asks for it."""

import asyncio
import html
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

import httpx
import pytest

from laari.edge.pages.app import ROUTES
from laari.edge.pages.operator.request import OperatorRequest
from laari.rules.people.permissions import WITHOUT_PASSWORD
from laari.rules.records.people import OperatorRole
from laari.store.counters import sessions
from laari.store.counters.sessions import Proof
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import logins
from tests.logins import whose
from tests.pages.factors import with_factor
from tests.pages.operators import PASSWORD, Desk, desk_of, new_operator
from tests.pages.owners import Owner
from tests.pages.people import Customer, new_customer
from tests.serving import Service

FORMS = [
    route
    for route in ROUTES
    if issubclass(route.kind, OperatorRequest) and route.post is not None and not route.access.own
]
ASKS = "You entered your password some time ago"
# The only forms that take an old password. Another one needs a reason.
HARMLESS = {
    f"/customers/{{id}}/{form}"
    for form in ("note", "verify", "end-sessions", "end-passkeys", "end-devices")
}


def page_of(customer: Customer) -> str:
    return f"/customers/cus_{customer.id.hex}"


async def old_desk(service: Service, role: OperatorRole) -> tuple[Desk, list[str]]:
    """A person who logged in eleven minutes ago, and their recovery codes."""
    email = await new_operator(service, role)
    _, codes = await asyncio.to_thread(with_factor, Owner(service.merchant(), email))
    async with connection_to(service.dsn) as connection:
        person = await whose(connection, email)
        verified = await logins.password_hash_of(connection, person)
        assert verified is not None
        before = datetime.now(UTC) - timedelta(minutes=11)
        token = await sessions.open_for(
            connection, service.master_key, person, before, Proof(verified, with_factor=True)
        )
    assert token is not None
    return Desk(service, token), codes


def fields_of(page: str) -> dict[str, str]:
    """The hidden fields of the form that asks for the password."""
    form = page[page.index(ASKS) :].split("</form>", maxsplit=1)[0]
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form)
    return {name: html.unescape(text) for name, text in found if name != "form_token"}


async def test_every_form_asks_for_an_old_password_again(service: Service) -> None:
    asked: dict[str, bool] = {}
    for number, route in enumerate(FORMS):
        if number % 20 == 0:  # before the person has opened too many pages
            desk, _ = await old_desk(service, "admin")
        path = route.path.removeprefix("/operator")
        answer = desk.send(re.sub(r"\{\w+\}", "none", path), "", reason="x")
        asked[path] = ASKS in answer.text
        assert asked[path] == (route.access.to_change not in WITHOUT_PASSWORD), path
        assert answer.status_code == (422 if asked[path] else 404), path
    assert {path for path, is_asked in asked.items() if not is_asked} == HARMLESS


async def test_a_form_continues_after_the_password(service: Service) -> None:
    customer = await new_customer(service)
    page, (desk, codes) = page_of(customer), await old_desk(service, "support")

    def freeze(**own: str) -> httpx.Response:
        return desk.send(page, "/freeze", reason='A "lost" <phone>', silent="on", **own)

    def is_frozen() -> bool:
        [row] = service.execute(
            "SELECT frozen_at IS NOT NULL FROM wallets WHERE account = $1", customer.account
        )
        return bool(row[0])

    wrong: list[Mapping[str, str]] = [
        {},
        {"password": ""},
        {"password": "wrong password", "code": codes[0]},
        {"password": PASSWORD},
        {"password": PASSWORD, "code": "000000"},
    ]
    for own in wrong:
        refused = freeze(**own)
        assert refused.status_code == 422
        assert fields_of(refused.text) == {"reason": 'A "lost" <phone>', "silent": "on"}
        assert not is_frozen()
    fields = fields_of(refused.text)
    done = desk.send(page, "/freeze", **fields, password=PASSWORD, code=codes[0])
    assert "The wallet is frozen" in done.text
    assert is_frozen()
    # The password is recent now.
    assert "Money can leave" in desk.send(page, "/unfreeze", reason="It was found").text


async def test_a_refused_form_does_not_ask_for_the_password_twice(service: Service) -> None:
    customer = await new_customer(service)
    page, (desk, codes) = page_of(customer), await old_desk(service, "support")
    refused = desk.send(page, "/freeze", reason=" ", password=PASSWORD, code=codes[0])
    assert (refused.status_code, ASKS in refused.text) == (422, False)
    assert 'name="password"' not in refused.text
    assert "The wallet is frozen" in desk.send(page, "/freeze", reason="Lost").text


async def test_a_statement_comes_with_the_password(service: Service) -> None:
    """A file is not repeated by a page: its form has fields for the password."""
    desk, codes = await old_desk(service, "finance")
    assert 'id="statement-password"' in desk.get("/bank").text
    statement = f"date,reference,description,debit,credit,balance\n{date.today()},X1,<x>,,1.00,\n"
    for own in ({}, {"password": PASSWORD}, {"password": "wrong", "code": codes[0]}):
        refused = desk.upload("/bank", {}, statement=statement, **own)
        assert refused.status_code == 422
        assert "&lt;x&gt;" in refused.text
    own = {"password": PASSWORD, "code": codes[0]}
    seen = desk.upload("/bank", {}, statement=statement, **own)
    assert "1 line, 1 new" in seen.text


@pytest.mark.parametrize("role", ["finance", "support"])
async def test_finance_writes_no_notes(service: Service, role: OperatorRole) -> None:
    customer = await new_customer(service)
    page, desk = page_of(customer), await desk_of(service, role)
    may = role == "support"
    text = desk.get(page).text
    assert ("Add the note" in text, "Verify the caller" in text) == (may, may)
    noted = desk.send(page, "/note", note="Called today")
    verified = desk.send(page, "/verify", result="yes")
    expected = (200, 422) if may else (403, 403)
    assert (noted.status_code, verified.status_code) == expected
