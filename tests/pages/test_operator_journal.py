"""Every form of the desk that changes something writes an entry with the operator's name."""

import re
from datetime import timedelta
from typing import Any

import pytest

from laari.edge.pages.app import ROUTES
from laari.edge.pages.operator.request import HOME, OperatorRequest
from laari.rules import ids
from laari.rules.calendar import start_of
from laari.rules.merchants.applications import SubmitApplication
from laari.rules.people.trusted import AskTrustedPerson
from laari.rules.records.merchants import ApplicationAnswers
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.bank_accounts import enter
from tests.cli.test_approval import ANSWERS
from tests.days import tomorrow
from tests.devices import add_device, themselves
from tests.making import sign_up
from tests.pages.forms import Forms
from tests.pages.operators import Desk, desk_of
from tests.pages.people import new_customer
from tests.pages.test_identities import IDENTITY
from tests.passkeys import add_passkey
from tests.people import decided
from tests.serving import Service

FORMS = {
    route.path.removeprefix(HOME)
    for route in ROUTES
    if issubclass(route.kind, OperatorRequest) and route.post is not None and not route.access.own
}
UNJOURNALLED = {
    "/customers/{id}/note": "a note has its author and is never changed",
    "/customers/{id}/verify": "the same",
    "/customers/{id}/compare-identity": "the same",
    "/messages/{message_id}/resend": "test_desk.py",
    "/merchants/{merchant}/request-payout": "test_operator_payouts.py",
    "/payouts/preview": "test_operator_payouts.py",
    **dict.fromkeys((path for path in FORMS if path.startswith("/payouts/")), "the same"),
    **dict.fromkeys((path for path in FORMS if path.startswith("/bank")), "test_operator_bank.py"),
    **dict.fromkeys((path for path in FORMS if path.startswith("/float")), "the same"),
    "/money/movements/{movement_id}/make": "test_second_operator.py",
    "/money/movements/{movement_id}/refuse": "the same",
    "/cases/{case_id}/answer": "test_wallet_cases.py",
}
WHY = {"reason": "Asked"}
LATER = tomorrow() + timedelta(days=1)  # also if the run lasts over midnight
CUSTOMER: list[tuple[str, dict[str, str], str]] = [
    ("freeze", WHY, "wallet.freeze"),
    ("unfreeze", WHY, "wallet.unfreeze"),
    ("tier", {**WHY, "tier": "basic"}, "wallet.set_tier"),
    ("password-link", {}, "password_link.issue"),
    ("end-devices", {}, "remembered_device.end"),
    ("end-sessions", {}, "sessions.end"),
    ("end-passkeys", {}, "passkey.end"),
    ("end-trust", WHY, "trusted_person.end"),
    ("contact", {**WHY, "contact": "email", "value": "a@b.example"}, "contact_change.request"),
    ("confirm-contact", {**WHY, "contact": "email"}, "contact_change.confirm"),
    ("cancel-contact", {**WHY, "contact": "email"}, "contact_change.cancel"),
    ("identity", {**IDENTITY, **WHY}, "identity.enter"),
    ("view-identity", WHY, "identity.view"),
    ("remove-identity", WHY, "identity.remove"),
    ("bank", {"holder": "Ali", "bank": "BML", "number": "7730000012345"}, "bank_account.add"),
    ("withdraw", {"amount": "1", "last": "0"}, "withdrawal.request"),
]
FEES = {"percent": "1.5", "fixed": "0"}
MERCHANT: list[tuple[str, dict[str, str], str]] = [
    ("refuse", WHY, "application.refuse"),
    ("approve", {"hold": "New"}, "merchant.approve"),
    ("limit", {**WHY, "max_payment": "100"}, "merchant.set_limit"),
    ("fees", {**WHY, **FEES}, "merchant.set_fees"),
    ("fees", {**WHY, **FEES, "first_day": str(LATER)}, "fees.schedule"),
    ("cancel-fees", {"starts_at": start_of(LATER).isoformat()}, "fees.cancel"),
    ("password-link", {"email": "boat@shop.example"}, "password_link.issue"),
    ("funds", {**WHY, "kind": "correct", "amount": "5"}, "merchant.adjust"),
    ("payout-terms", {"payout_minimum": "5", "payout_fee": "0"}, "payout_terms.change"),
    ("bank", {"holder": "Ali", "bank": "BML", "number": "7730000099999"}, "bank_account.add"),
    ("rename", {"name": "Bodu Boat"}, "merchant.rename"),
    ("pause", WHY, "merchant.update"),
    ("resume", {}, "merchant.update"),
]
NEW = "walked@operator.example"
SETTINGS: list[tuple[str, dict[str, str], str]] = [
    ("holiday", {"day": "2031-01-01", "name": "New year"}, "bank_holiday.set"),
    ("remove-holiday", {"removed": "2031-01-01"}, "bank_holiday.remove"),
    ("tier", {"name": "walked", "daily": "5"}, "tier.set"),
    ("person", {"email": NEW, "role": "support"}, "membership.add"),
    ("role", {"email": NEW, "role": "finance"}, "membership.set_role"),
    ("remove-person", {"email": NEW}, "membership.remove"),
]


@pytest.fixture
async def admin(service: Service) -> Desk:
    return await desk_of(service, "admin")


def entries(service: Service) -> list[Any]:
    return service.execute("SELECT * FROM journal ORDER BY id")


def walk(
    service: Service, desk: Desk, page: str, steps: list[tuple[str, dict[str, str], str]]
) -> None:
    for form, fields, action in steps:
        before = len(entries(service))
        shown = desk.get(page).text
        hidden = dict(re.findall(r'name="(change|application)" value="(\w+)"', shown))
        answer = desk.send(page, f"/{form}", **fields, **hidden)
        assert answer.status_code == 200, (form, answer.text)
        added = [entry for entry in entries(service)[before:] if entry["action"] == action]
        assert added, (form, [entry["action"] for entry in entries(service)[before:]])
        for entry in added:
            assert (entry["actor_kind"], entry["actor_role"]) == ("operator", "admin")
            assert entry["address"] == "127.0.0.1"


def test_every_form_is_walked() -> None:
    walked = {f"/customers/{{id}}/{form}" for form, *_ in CUSTOMER}
    walked |= {f"/merchants/{{merchant}}/{form}" for form, *_ in MERCHANT} | {"/money"}
    walked |= {f"/settings/{form}" for form, *_ in SETTINGS}
    assert walked | set(UNJOURNALLED) == FORMS, "say how a form changes something, or why not"


@pytest.mark.ci
async def test_forms_about_customers_and_money(service: Service, admin: Desk) -> None:
    customer, other = await new_customer(service), await new_customer(service)
    async with connection_to(service.dsn) as connection:
        # One that the operator enters is used only after 48 hours.
        await enter(connection, customer.account)
        await add_passkey(connection, customer.id, service.master_key)
        await add_device(connection, customer.id, service.master_key)
        ask = AskTrustedPerson(themselves(customer.id), customer.id, other.mobile, 5_000)
        await decided(connection, ask, master=service.master_key)
    page = f"/customers/{ids.show_id(ids.CUSTOMER, customer.id)}"
    Forms().log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    walk(service, admin, page, CUSTOMER)
    before = len(entries(service))
    topup = {"kind": "topup", "account": str(customer.account), "amount": "5", "details": "Cash"}
    assert admin.send("/money", "", **topup).status_code == 200
    assert [entry["action"] for entry in entries(service)[before:]] == ["wallet.topup"]


@pytest.mark.ci
async def test_forms_about_merchants(service: Service, admin: Desk) -> None:
    answers = ApplicationAnswers(**ANSWERS)
    async with connection_to(service.dsn) as connection:
        async with connection.transaction():
            made = await sign_up(
                connection, OPERATOR, bytes(32), 10**6, name="Boat", email="boat@shop.example"
            )
        assert made is not None
        await decided(connection, SubmitApplication(OPERATOR, made.merchant.id, answers))
        page = f"/merchants/{made.merchant.id}"
        walk(service, admin, page, MERCHANT[:1])
        await decided(connection, SubmitApplication(OPERATOR, made.merchant.id, answers))
    walk(service, admin, page, MERCHANT[1:])


@pytest.mark.ci
async def test_forms_about_settings(service: Service, admin: Desk) -> None:
    walk(service, admin, "/settings", SETTINGS)
