"""Remembered devices: what they pay without the password, what ends them, what stays shut."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

from laari.edge.pages.language import DHIVEHI
from laari.rules.limits.remembered_devices import REMEMBERED_DEVICES
from tests.messages.outbox import content_of
from tests.pages.passkeys import Browser, at
from tests.pages.people import (
    Customer,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.remembered import pay, remember, remembered
from tests.pages.wallets import LONG_AGO, execute, heading, open_app, speak_dhivehi
from tests.serving import Merchant, Service

pytestmark = pytest.mark.ci

OFFER = "without the password"


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


def device_of(service: Service, customer: Customer) -> Browser:
    return remembered(service, customer.mobile, customer.password)


def state(shop: Merchant, payment: dict[str, Any]) -> str:
    found: str = shop.get(f"/payments/{payment['id']}").json()["data"]["status"]
    return found


async def test_it_pays_and_opens_nothing_else(service: Service, live_shop: Merchant) -> None:
    customer = await new_customer(service, balance=61_700)
    browser = device_of(service, customer)
    payment = live_shop.payment(amount=2_500)
    page = browser.http.get(payment["payment_url"]).text
    assert OFFER in page
    assert "A… I…" in page
    assert customer.name not in page
    assert "617.00" not in page
    answer = pay(browser, payment["payment_url"])
    assert (answer.status_code, state(live_shop, payment)) == (303, "paid")
    assert "set-cookie" not in answer.headers
    after = browser.http.get(payment["payment_url"]).text
    assert customer.name not in after
    assert not browser.is_in
    # The wallet says where the money went, and which device was used.
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    assert "Last used" in browser.http.get(browser.account).text


async def test_the_cookie_goes_to_checkouts_only(service: Service) -> None:
    customer = await new_customer(service)
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    answer = remember(browser, customer.password)
    [cookie] = [
        each for each in answer.headers.get_list("set-cookie") if each.startswith("laari-device=")
    ]
    assert re.fullmatch(
        r"laari-device=[\w-]{43}; HttpOnly; Max-Age=7776000; Path=/pay; SameSite=lax", cookie
    )
    # As a session it opens nothing, and a session pays nothing as a device.
    token = cookie.partition("=")[2].partition(";")[0]
    thief = Browser(service)
    thief.http.cookies.set("laari", token)
    assert not thief.is_in


async def test_a_session_is_no_device(service: Service, live_shop: Merchant) -> None:
    customer = await new_customer(service)
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    thief, payment = Browser(service), live_shop.payment(amount=100)
    thief.http.cookies.set("laari-device", browser.http.cookies["laari"])
    assert OFFER not in thief.http.get(payment["payment_url"]).text
    assert pay(thief, payment["payment_url"]).status_code == 303
    assert state(live_shop, payment) == "pending"


async def test_more_than_what_is_left_of_the_day_is_not_offered(
    service: Service, live_shop: Merchant
) -> None:
    browser = device_of(service, await new_customer(service))
    first, large, small = (live_shop.payment(amount=each) for each in (9_000, 1_001, 1_000))
    assert pay(browser, first["payment_url"]).status_code == 303
    assert OFFER not in browser.http.get(large["payment_url"]).text
    refused = pay(browser, large["payment_url"])
    assert (refused.status_code, "Nothing was paid. Log in to pay." in refused.text) == (409, True)
    assert OFFER in browser.http.get(small["payment_url"]).text
    assert pay(browser, small["payment_url"]).status_code == 303
    assert [state(live_shop, each) for each in (first, large, small)] == ["paid", "pending", "paid"]


async def test_a_refusal_says_nothing_about_the_wallet(
    service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service, balance=123)
    browser = device_of(service, customer)
    payment = live_shop.payment(amount=5_000)
    refused = pay(browser, payment["payment_url"])
    assert refused.status_code == 409
    assert "Nothing was paid. Log in to pay." in refused.text
    for told in ("1.23", "balance", customer.name, OFFER):
        assert told not in refused.text


async def end_here(service: Service, customer: Customer) -> None:
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    page = browser.http.get(browser.account).text
    [address] = re.findall(r'action="(/app/password/devices/[0-9a-f]{32}/end)"', page)
    token = {"form_token": browser.token(browser.account)}
    ended = browser.send(service.origin + address, token)
    assert ended.headers["location"] == "/app/password?done=undevice"
    assert browser.send(service.origin + address, token).status_code == 404


async def change_password(service: Service, customer: Customer) -> None:
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    fields = {
        "form_token": browser.token(browser.account),
        "password": customer.password,
        "new": "another long password",
        "repeated": "another long password",
    }
    assert browser.send(browser.account, fields).status_code == 303


async def log_out_everywhere(service: Service, customer: Customer) -> None:
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    token = {"form_token": browser.token(browser.account)}
    assert browser.send(f"{service.origin}/app/logout/everywhere", token).status_code == 303


async def by_the_operator(service: Service, *arguments: str) -> None:
    done = await asyncio.to_thread(service.laari, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "end",
    [
        end_here,
        change_password,
        log_out_everywhere,
        lambda service, customer: by_the_operator(
            service, "customer", "end-devices", str(customer.account)
        ),
        lambda service, customer: by_the_operator(
            service, "session", "end", "--customer", f"cus_{customer.id.hex}"
        ),
        lambda service, customer: by_the_operator(
            service, "customer", "freeze", str(customer.account), "--reason", "Court order 12"
        ),
    ],
    ids=["wallet", "password", "log-out", "operator", "sessions", "freeze"],
)
async def test_what_stops_it_stops_it_at_once(
    service: Service, live_shop: Merchant, end: Any
) -> None:
    customer = await new_customer(service)
    browser = device_of(service, customer)
    payment = live_shop.payment(amount=100)
    page = browser.http.get(payment["payment_url"]).text
    assert OFFER in page
    await end(service, customer)
    assert OFFER not in browser.http.get(payment["payment_url"]).text
    pay(browser, payment["payment_url"])
    assert state(live_shop, payment) == "pending"


async def test_a_silent_freeze_does_not_show_before_an_attempt(
    service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    browser = device_of(service, customer)
    freeze = ("customer", "freeze", str(customer.account), "--reason", "Court order", "--silent")
    await by_the_operator(service, *freeze)
    payment = live_shop.payment(amount=100)
    assert OFFER in browser.http.get(payment["payment_url"]).text
    refused = pay(browser, payment["payment_url"])
    assert (refused.status_code, "blocked" in refused.text) == (409, False)
    assert state(live_shop, payment) == "pending"


async def test_adding_needs_the_password_and_a_name_and_is_told(service: Service) -> None:
    customer = await new_customer(service)
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    for password, name in (("not it", "Phone"), (customer.password, " "), ("", "n" * 51)):
        refused = remember(browser, password, name)
        assert refused.status_code == 422
        assert "laari-device" not in str(refused.headers.get_list("set-cookie"))
    assert remember(browser, customer.password, "My phone").status_code == 303
    rows = service.execute(
        "SELECT * FROM messages WHERE customer_id = $1 AND kind = 'device_remembered'", customer.id
    )
    assert [content_of(row, service.master_key)["name"] for row in rows] == ["My phone"]
    entries = service.execute(
        "SELECT action FROM journal WHERE object_type = 'remembered_device' AND actor_name = $1",
        f"cus_{customer.id.hex}",
    )
    assert [row["action"] for row in entries] == ["remembered_device.add"]


async def test_a_customer_has_a_number_of_devices(service: Service) -> None:
    customer = await new_customer(service)
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    service.execute(
        "INSERT INTO remembered_devices (id, digest, binding, customer_id, name, added_at) "
        "SELECT gen_random_uuid(), sha256((n || $2)::bytea), sha256('b'), $1, 'Old', now() "
        "FROM generate_series(1, $3::int) AS n",
        customer.id,
        customer.mobile,
        REMEMBERED_DEVICES,
    )
    refused = remember(browser, customer.password)
    assert (refused.status_code, "the maximum" in refused.text) == (422, True)


async def test_nobody_ends_the_device_of_another(service: Service, live_shop: Merchant) -> None:
    customer, other = await new_customer(service), await new_customer(service)
    browser = device_of(service, customer)
    [row] = service.execute("SELECT id FROM remembered_devices WHERE customer_id = $1", customer.id)
    thief = Browser(service)
    thief.log_in(f"{service.origin}/app/login", other.mobile, other.password)
    token = {"form_token": thief.token(thief.account)}
    end = f"{thief.account}/devices/{row['id'].hex}/end"
    assert thief.send(end, token).status_code == 404
    payment = live_shop.payment(amount=100)
    assert pay(browser, payment["payment_url"]).status_code == 303
    assert state(live_shop, payment) == "paid"


async def test_the_sandbox_has_none(service: Service) -> None:
    sandbox = await new_customer(service, mode="sandbox")
    browser = Browser(service)
    fields = {"identity": sandbox.mobile, "password": sandbox.password, "mode": "sandbox"}
    login = f"{service.origin}/app/login"
    assert browser.send(login, fields | {"form_token": browser.token(login)}).status_code == 303
    assert "/app/password/devices" not in browser.http.get(browser.account).text
    assert remember(browser, sandbox.password).status_code == 404
    live = device_of(service, await new_customer(service))
    payment = service.merchant().payment(amount=100)
    assert OFFER not in live.http.get(payment["payment_url"]).text


async def test_without_the_setting_there_is_none(usual_service: Service) -> None:
    customer = await new_customer(usual_service)
    browser = Browser(usual_service)
    browser.log_in(f"{usual_service.origin}/app/login", customer.mobile, customer.password)
    assert "Remembered devices" not in browser.http.get(browser.account).text
    assert remember(browser, customer.password).status_code == 404


@both_sizes
async def test_a_device_is_remembered_used_listed_and_ended(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str
) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/password", size)
    section = page.get_by_role("region", name="Remembered devices")
    await expect(section).to_contain_text("No device is remembered.")
    await section.locator("summary").click()
    await section.get_by_label("Name of the device").fill("My phone")
    await section.get_by_label("For your safety").fill(customer.password)
    await section.get_by_role("button", name="Remember this device").click()
    await expect(page.get_by_role("status")).to_contain_text("The device is remembered.")
    line = section.get_by_role("listitem").filter(has_text="My phone")
    await expect(line).to_contain_text("Never used")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0

    await page.get_by_role("button", name="Log out", exact=True).click()
    payment = await asyncio.to_thread(live_shop.payment, amount=2_500)
    await page.goto(at(service, payment["payment_url"]))
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_role("button", name=OFFER).click()  # the only tap
    await heading(page).to_have_text("Paid")

    # With a log-in that is too old it stands for the password as well.
    await visitors.log_in(page.context, customer, LONG_AGO)
    another = await asyncio.to_thread(live_shop.payment, amount=2_500)
    await page.goto(at(service, another["payment_url"]))
    await expect(page.get_by_label("For your safety")).to_be_visible()
    await page.get_by_role("button", name=OFFER).click()
    await heading(page).to_have_text("Paid")

    await page.goto(f"{service.origin}/app/password")
    await expect(line).to_contain_text("Last used")
    await line.get_by_role("button", name="End the device My phone").click()
    await expect(page.get_by_role("status")).to_have_text("The device is no longer remembered.")
    await expect(section).to_contain_text("No device is remembered.")


async def test_remembered_devices_in_dhivehi(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    await speak_dhivehi(service, customer)
    page = await open_app(visitors, customer, "/app/password")
    section = page.get_by_role("region", name=str(DHIVEHI.text("devices.title")))
    await section.locator("summary").click()
    await section.locator("[type=password]").fill(customer.password)
    await section.get_by_role("button", name=str(DHIVEHI.text("devices.submit"))).click()
    added = str(DHIVEHI.text("password.done_device"))
    await expect(page.get_by_role("status")).to_have_text(added)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) == 0
    await page.get_by_role("button", name=str(DHIVEHI.text("menu.log_out"))).first.click()
    payment = await asyncio.to_thread(live_shop.payment, amount=2_500)
    await page.goto(f"{at(service, payment['payment_url'])}?lang=dv")
    assert await sideways_scroll(page) == 0
    assert await serious_violations(page) == []
    await page.locator("form[action$='/device'] button").click()
    await heading(page).to_have_text(str(DHIVEHI.text("checkout.paid")))
    [row] = await execute(
        service, "SELECT amount FROM device_payments WHERE customer_id = $1", customer.id
    )
    assert row["amount"] == 2_500
