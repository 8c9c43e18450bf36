"""Inside the wallet a passkey stands for the password that a page asks for after ten minutes."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

from laari.edge.pages.language import DHIVEHI
from tests.pages.forms import token_in
from tests.pages.passkeys import Browser, passkey_id, with_passkey
from tests.pages.people import (
    Customer,
    Visitors,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.test_passkeys import Lock, add
from tests.pages.wallets import LONG_AGO, execute, heading, open_app, speak_dhivehi
from tests.passkeys import Authenticator
from tests.serving import Merchant, Service

REFUSED = "This passkey does not confirm it"
BUTTON = "Confirm with a passkey"


@pytest.fixture
def service(named_service: Service) -> Service:
    return named_service


@pytest.fixture
def live_shop(service: Service) -> Merchant:
    return service.merchant(mode="live", name="Seagull Café")


@pytest_asyncio.fixture(loop_scope="session")
async def visitors(browser: Chromium, service: Service) -> AsyncIterator[Visitors]:
    visitors = Visitors(browser, service)
    yield visitors
    await visitors.leave()


def age(service: Service, customer: Customer) -> None:
    """The customer's log-ins are older than ten minutes."""
    service.execute(
        "UPDATE sessions SET authenticated_at = now() - interval '11 minutes' "
        "WHERE customer_id = $1",
        customer.id,
    )


def logged_in(service: Service, customer: Customer) -> Browser:
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    age(service, customer)
    return browser


def answer(browser: Browser, phone: Authenticator) -> dict[str, str]:
    phone.counter += 1
    asked = browser.http.get(f"{browser.origin}/app/login/passkey", params={"mode": "live"})
    return phone.get(asked.json())


def make_key(browser: Browser, **fields: str) -> httpx.Response:
    page = browser.http.get(f"{browser.origin}/app/keys").text
    [made] = re.findall(r'name="made" value="(\d+)"', page)
    form = {"form_token": token_in(page), "name": "Books", "made": made}
    return browser.send(f"{browser.origin}/app/keys", form | fields)


async def test_it_confirms_once_for_ten_minutes(service: Service) -> None:
    customer = await new_customer(service)
    phone = with_passkey(service, customer)
    browser = logged_in(service, customer)
    assert BUTTON in browser.http.get(f"{service.origin}/app/keys").text
    assert make_key(browser).status_code == 422  # neither the password nor the passkey
    used = answer(browser, phone)
    assert "new-key" in make_key(browser, **used).text
    assert BUTTON not in browser.http.get(f"{service.origin}/app/keys").text
    assert "new-key" in make_key(browser).text
    age(service, customer)
    again = make_key(browser, **used)
    assert (again.status_code, REFUSED in again.text) == (422, True)


async def test_the_passkey_of_another_customer_confirms_nothing(service: Service) -> None:
    customer, other = await new_customer(service), await new_customer(service)
    theirs = with_passkey(service, other)
    browser = logged_in(service, customer)
    refused = make_key(browser, **answer(browser, theirs))
    assert (refused.status_code, REFUSED in refused.text) == (422, True)
    assert make_key(browser, password=customer.password).status_code == 200


async def test_an_answer_for_another_session_confirms_nothing(service: Service) -> None:
    customer = await new_customer(service)
    phone = with_passkey(service, customer)
    browser, thief = logged_in(service, customer), logged_in(service, customer)
    assert make_key(thief, **answer(browser, phone)).status_code == 422


async def test_an_ended_passkey_confirms_nothing_and_is_not_offered(service: Service) -> None:
    customer = await new_customer(service)
    phone = with_passkey(service, customer)
    browser = logged_in(service, customer)
    used = answer(browser, phone)
    end = f"{browser.account}/passkeys/{passkey_id(service, customer)}/end"
    own = {"form_token": browser.token(browser.account), "password": customer.password}
    assert browser.send(end, own).status_code == 303
    age(service, customer)
    assert make_key(browser, **used).status_code == 422
    assert BUTTON not in browser.http.get(f"{service.origin}/app/keys").text


async def test_what_always_needs_the_password_takes_no_passkey(service: Service) -> None:
    customer = await new_customer(service)
    phone = with_passkey(service, customer)
    browser = logged_in(service, customer)
    new = {"new": "another long password", "repeated": "another long password", "name": "Phone"}
    for path in ("", "/passkeys/options", "/devices"):
        fields = {"form_token": browser.token(browser.account)} | new | answer(browser, phone)
        refused = browser.send(f"{browser.account}{path}", fields)
        assert (refused.status_code, "not your password" in refused.text) == (422, True)


async def test_without_a_passkey_it_is_not_offered(service: Service) -> None:
    customer = await new_customer(service)
    browser = logged_in(service, customer)
    assert BUTTON not in browser.http.get(f"{service.origin}/app/keys").text


@pytest.mark.journey
async def test_a_request_is_paid_with_the_finger(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/password")
    lock = await Lock.of(page)
    await add(page, customer)
    await execute(
        service,
        "UPDATE sessions SET authenticated_at = now() - interval '11 minutes' "
        "WHERE customer_id = $1",
        customer.id,
    )
    body = {"customer": {"type": "mobile", "value": customer.mobile}}
    asked = await asyncio.to_thread(live_shop.request, **body)
    await page.goto(f"{service.origin}/app/requests/{asked['id']}")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await lock.knows_the_finger(False)
    pay = page.get_by_role("button", name="with a passkey")
    await pay.click()
    await expect(page.get_by_role("alert")).to_contain_text("Nothing was done")
    await lock.knows_the_finger(True)
    await pay.click()
    await heading(page).to_have_text("Paid")


async def test_what_was_typed_goes_with_the_answer_in_dhivehi(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/password")
    await Lock.of(page)
    await add(page, customer)
    await speak_dhivehi(service, customer)
    await visitors.log_in(page.context, customer, LONG_AGO)
    await page.goto(f"{service.origin}/app/keys")
    confirm = page.get_by_role("button", name=str(DHIVEHI.text("passkeys.confirm")))
    await confirm.click()  # without a name the browser asks for it
    await expect(page.locator("#name:invalid")).to_be_visible()
    await page.locator("#name").fill("My books")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) == 0
    await confirm.click()
    await expect(page.locator("#new-key")).to_be_visible()
    await expect(page.get_by_text("My books")).to_be_visible()
