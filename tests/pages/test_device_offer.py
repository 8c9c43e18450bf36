"""After a payment with the password the checkout offers once to remember the device."""

import asyncio
from datetime import timedelta
from typing import NamedTuple

import httpx
import pytest
from playwright.async_api import expect

from laari.edge.pages.language import DHIVEHI
from tests.messages.outbox import content_of
from tests.pages.passkeys import Browser, at, with_passkey
from tests.pages.people import (
    Customer,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.remembered import remembered
from tests.pages.wallets import heading
from tests.serving import Merchant, Service

pytestmark = pytest.mark.ci

OFFER = "Remember this device for small amounts?"


@pytest.fixture
def service(named_service: Service) -> Service:
    return named_service


class Paid(NamedTuple):
    """The page of a payment, and the token of the form on it."""

    page: str
    token: str


def logged_in(service: Service, customer: Customer) -> Browser:
    """A browser in which the customer has just opened the wallet with the password."""
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    return browser


def pay(browser: Browser, shop: Merchant, *, log_in: Customer | None = None) -> Paid:
    """Pays in this browser, perhaps after a log-in that is valid for this page alone."""
    page: str = shop.payment(amount=2_500)["payment_url"]
    if log_in is not None:
        browser.log_in(page, log_in.mobile, log_in.password)
    token = browser.token(page)
    browser.send(f"{page}/pay", {"form_token": token})
    assert "has received your payment" in browser.http.get(page).text
    return Paid(page, token)


def is_offered(browser: Browser, paid: Paid) -> bool:
    return OFFER in browser.http.get(paid.page).text


def press(browser: Browser, paid: Paid) -> httpx.Response:
    """Presses the button, also if the page does not offer it."""
    return browser.send(f"{paid.page}/remember", {"form_token": paid.token})


def assert_shut(browser: Browser, paid: Paid) -> None:
    assert not is_offered(browser, paid)
    answer = press(browser, paid)
    assert (answer.status_code, answer.headers["location"]) == (303, httpx.URL(paid.page).path)
    assert "laari-device=" not in str(answer.headers.get_list("set-cookie"))


async def test_a_press_remembers_it_and_tells_the_customer(
    service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    browser = logged_in(service, customer)
    paid = pay(browser, live_shop)
    assert is_offered(browser, paid)
    answer = press(browser, paid)
    assert answer.headers["location"].endswith("?done=device")
    after = browser.http.get(service.origin + answer.headers["location"]).text
    assert "The device is remembered." in after
    [row] = service.execute(
        "SELECT * FROM messages WHERE customer_id = $1 AND kind = 'device_remembered'", customer.id
    )
    [device] = service.execute(
        "SELECT name FROM remembered_devices WHERE customer_id = $1", customer.id
    )
    assert content_of(row, service.master_key)["name"] == device["name"]
    # It is not offered twice, and a second press makes no second device.
    assert_shut(browser, paid)
    browser.http.cookies.delete("laari")
    page = browser.http.get(live_shop.payment(amount=2_500)["payment_url"]).text
    assert "without the password" in page


async def test_a_browser_without_a_name_has_one(service: Service, live_shop: Merchant) -> None:
    customer = await new_customer(service)
    browser = logged_in(service, customer)
    browser.http.headers["User-Agent"] = ""
    press(browser, pay(browser, live_shop))
    [device] = service.execute(
        "SELECT name FROM remembered_devices WHERE customer_id = $1", customer.id
    )
    assert device["name"] == "Unknown device"


async def test_who_does_not_press_is_not_asked_again(service: Service, live_shop: Merchant) -> None:
    browser = logged_in(service, await new_customer(service))
    first = pay(browser, live_shop)
    assert is_offered(browser, first)
    assert is_offered(browser, first)  # a reload is not a second offer
    assert_shut(browser, pay(browser, live_shop))


async def test_a_log_in_for_one_page_is_no_own_device(
    service: Service, live_shop: Merchant
) -> None:
    """The customer has not said that this browser is theirs."""
    browser = Browser(service)
    assert_shut(browser, pay(browser, live_shop, log_in=await new_customer(service)))


async def test_only_who_has_paid_may_press(service: Service, live_shop: Merchant) -> None:
    paid = pay(logged_in(service, await new_customer(service)), live_shop)
    other = logged_in(service, await new_customer(service))
    mine = pay(other, live_shop)
    other.http.cookies.delete("laari-device-offered")
    assert_shut(other, Paid(paid.page, mine.token))


async def test_a_passkey_is_no_password(service: Service, live_shop: Merchant) -> None:
    customer = await new_customer(service)
    phone, browser = with_passkey(service, customer), Browser(service)
    assert browser.use(phone).status_code == 303
    paid = pay(browser, live_shop)
    assert_shut(browser, paid)
    # Nor after the operator has ended it: the phone was stolen.
    assert service.laari("customer", "end-passkeys", str(customer.account)).returncode == 0
    assert_shut(browser, paid)


@pytest.mark.parametrize("what", ["log-in", "payment"])
async def test_ten_minutes_later_it_is_too_late(
    service: Service, live_shop: Merchant, what: str
) -> None:
    customer = await new_customer(service)
    browser = logged_in(service, customer)
    paid = pay(browser, live_shop)
    late = timedelta(minutes=11)
    if what == "log-in":
        statement = (
            "UPDATE sessions SET authenticated_at = now() - $2::interval WHERE customer_id = $1"
        )
        service.execute(statement, customer.id, late)
    else:
        older = "UPDATE payments SET paid_at = now() - $2::interval"
        service.execute(f"{older} WHERE payer_account = $1", customer.account, late)
    assert_shut(browser, paid)


async def test_a_remembered_device_is_not_asked(service: Service, live_shop: Merchant) -> None:
    customer = await new_customer(service)
    browser = remembered(service, customer.mobile, customer.password)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    assert_shut(browser, pay(browser, live_shop))


async def test_without_a_sum_of_the_day_there_is_no_offer(usual_service: Service) -> None:
    customer = await new_customer(usual_service)
    shop = usual_service.merchant(mode="live", name="Seagull Café")
    browser = logged_in(usual_service, customer)
    assert_shut(browser, pay(browser, shop))


@both_sizes
async def test_the_first_payment_leads_to_payments_with_one_tap(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str
) -> None:
    customer = await new_customer(service)
    page = await visitors.page(size)
    payment = await asyncio.to_thread(live_shop.payment, amount=2_500)
    await page.goto(at(service, payment["payment_url"]))
    await page.get_by_label("Mobile number, email or VPA").fill(customer.mobile)
    await page.get_by_label("Password").fill(customer.password)
    await page.get_by_label("This is my own device").check()
    await page.get_by_role("button", name="Log in", exact=True).click()
    await page.get_by_role("button", name="Pay MVR 25.00").click()
    await heading(page).to_have_text("Paid")
    await expect(page.get_by_role("heading", name=OFFER)).to_be_visible()
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_role("button", name="Remember this device").click()
    await expect(page.get_by_role("status")).to_contain_text("The device is remembered.")
    await page.context.clear_cookies(name="laari")

    another = await asyncio.to_thread(live_shop.payment, amount=2_500)
    await page.goto(at(service, another["payment_url"]))
    await page.get_by_role("button", name="without the password").click()
    await heading(page).to_have_text("Paid")


async def test_the_offer_in_dhivehi(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    page = await visitors.page("phone")
    await visitors.log_in(page.context, customer)
    payment = await asyncio.to_thread(live_shop.payment, amount=2_500)
    await page.goto(f"{at(service, payment['payment_url'])}?lang=dv")
    await page.locator("form[action$='/pay'] button").click()
    await heading(page).to_have_text(str(DHIVEHI.text("checkout.paid")))
    offer = page.get_by_role("heading", name=str(DHIVEHI.text("devices.offer")))
    await expect(offer).to_be_visible()
    assert await sideways_scroll(page) == 0
    assert await serious_violations(page) == []
    await page.locator("form[action$='/remember'] button").click()
    added = str(DHIVEHI.text("password.done_device"))
    await expect(page.get_by_role("status")).to_have_text(added)
