"""The checkout page in a real browser: every state, happy and unhappy."""

import asyncio
import re
from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.pages.conftest import CONTACT
from tests.pages.people import (
    Customer,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import ask
from tests.serving import Merchant, Service

with_and_without_script = pytest.mark.parametrize("script", [True, False], ids=["js", "no-js"])


async def in_order(page: Page) -> None:
    """What holds for every page in every state."""
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


async def log_in(page: Page, identity: str, password: str) -> None:
    await page.get_by_label("Mobile number, email or VPA").fill(identity)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Log in").click()


async def opened(
    visitors: Visitors, payment: dict[str, Any], customer: Customer, **options: Any
) -> Page:
    """The payment's page, with the customer logged in."""
    context = await visitors.context(**options)
    await visitors.log_in(context, customer)
    page = await context.new_page()
    await page.goto(payment["payment_url"])
    return page


def heading(page: Page):
    return page.get_by_role("heading", level=1)


def status_of(shop: Merchant, payment: dict[str, Any]) -> str:
    return shop.get(f"/payments/{payment['id']}").json()["data"]["status"]


@pytest.mark.journey
@both_sizes
async def test_a_customer_logs_in_sees_the_balance_and_pays(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str
) -> None:
    customer = await new_customer(service, balance=50_000)
    payment = live_shop.payment(
        title="Two coffees", description="On the terrace", bill_number="B-17", metadata={"k": "🤫"}
    )
    page = await visitors.page(size)
    await page.goto(payment["payment_url"])
    await expect(heading(page)).to_have_text("Seagull Café asks you to pay")
    await expect(page.locator(".amount")).to_have_text("MVR\N{NO-BREAK SPACE}125.00")
    for text in ("Two coffees", "On the terrace", "B-17"):
        await expect(page.get_by_text(text)).to_be_visible()
    await expect(page.get_by_role("timer")).to_contain_text("23:59:")
    assert await page.locator(".qr img").is_visible() == (size == "desktop")
    assert "🤫" not in await page.content()
    await in_order(page)
    await log_in(page, customer.mobile, customer.password)
    await expect(page.get_by_text("Logged in as Aishath Ibrahim")).to_be_visible()
    await expect(page.locator(".facts .total")).to_contain_text("375.00")
    await in_order(page)
    await page.get_by_role("button", name="Pay MVR").click()
    await expect(heading(page)).to_have_text("Paid")
    stored = live_shop.get(f"/payments/{payment['id']}").json()["data"]
    assert stored["status"] == "paid"
    await expect(page.get_by_text(stored["payment_reference"])).to_be_visible()
    await expect(page.get_by_role("button", name="Print the receipt")).to_be_visible()
    await in_order(page)


@pytest.mark.journey
@with_and_without_script
async def test_paying_and_declining_need_no_script(
    visitors: Visitors, service: Service, live_shop: Merchant, script: bool
) -> None:
    customer = await new_customer(service)
    to_pay, to_decline = live_shop.payment(), live_shop.payment()
    page = await visitors.page(java_script_enabled=script)
    await page.goto(to_pay["payment_url"])
    await log_in(page, f"{customer.vpa}@fp", customer.password)
    await page.get_by_role("button", name="Pay MVR").click()
    await expect(heading(page)).to_have_text("Paid")
    await page.goto(to_decline["payment_url"])  # another page, another log-in
    await log_in(page, f"{customer.vpa}@fp", customer.password)
    await page.get_by_role("button", name="Decline").click()
    await expect(heading(page)).to_have_text("Declined")
    assert status_of(live_shop, to_pay) == "paid"
    assert status_of(live_shop, to_decline) == "rejected"


async def test_wrong_passwords_and_strangers_are_told_the_same(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    visitors.expected_statuses = {422}
    customer = await new_customer(service)
    page = await visitors.page()
    await page.goto(live_shop.payment()["payment_url"])
    told = []
    for identity in (customer.email, "nobody@example.mv"):
        await log_in(page, identity, "not the password")
        told.append(await page.get_by_role("alert").inner_text())
        await expect(page.get_by_label("Mobile number, email or VPA")).to_have_value(identity)
    assert told[0] == told[1]
    assert "do not match" in told[0]
    await in_order(page)


@pytest.mark.parametrize(
    ("taken", "tier", "amount", "reason"),
    [
        ("898000", "business", 12_500, "Your balance is MVR 105.00 too low."),
        ("1", "basic", 500_100, "your limit is MVR 5,000.00"),
    ],
    ids=["balance", "limit"],
)
async def test_an_attempt_that_fails_says_why_and_can_be_repeated(
    visitors: Visitors, service: Service, live_shop: Merchant, taken, tier, amount, reason
) -> None:
    visitors.expected_statuses = {402, 422}
    customer = await new_customer(service, balance=900_000, tier="business")
    payment = live_shop.payment(amount=amount)
    page = await opened(visitors, payment, customer)
    pay = page.get_by_role("button", name="Pay MVR")
    await expect(pay).to_be_visible()
    await change_wallet(service, customer, f"-{taken}", tier)
    await pay.click()
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text(reason.replace("MVR ", "MVR\N{NO-BREAK SPACE}"))
    await expect(alert).to_contain_text("Nothing has been taken")
    await in_order(page)
    assert status_of(live_shop, payment) == "pending"
    failed = service_rows(service, customer)
    assert await failed == ["failed"]
    # A button that is known to fail is not offered.
    await expect(pay).to_have_count(0)
    await change_wallet(service, customer, taken, "business")
    await page.get_by_role("link", name="Check again").click()
    await pay.click()
    await expect(heading(page)).to_have_text("Paid")


async def change_wallet(service: Service, customer: Customer, amount: str, tier: str) -> None:
    """The operator moves an amount, and sets the limits."""
    account = str(customer.account)
    moved = ("wallet", "adjust", account, amount, "--reason", "Test")
    done = await asyncio.to_thread(service.laari, *moved)
    assert done.returncode == 0, done.stderr
    statement = "UPDATE wallets SET tier = $2 WHERE account = $1"
    await asyncio.to_thread(service.execute, statement, customer.account, tier)


async def service_rows(service: Service, customer: Customer) -> list[str]:
    """How this customer's attempts to pay went."""
    rows = await asyncio.to_thread(
        service.execute,
        "SELECT status FROM transactions WHERE account = $1 AND type = 'payment'",
        customer.account,
    )
    return [row["status"] for row in rows]


async def test_a_frozen_wallet_reads_one_sentence_with_a_contact(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    visitors.expected_statuses = {422}
    customer = await new_customer(service)
    payment = live_shop.payment(amount=100)
    request = live_shop.request(customer={"type": "mobile", "value": customer.mobile})
    asked = live_shop.authorization(title="Beans", limits={"per_payment": 5_000})
    page = await opened(visitors, payment, customer)
    freeze = ("customer", "freeze", str(customer.account), "--reason", "Court order 12")
    assert (await asyncio.to_thread(service.laari, *freeze)).returncode == 0
    sentence = f"Your wallet is blocked, so it cannot pay. Contact {CONTACT}."
    await page.get_by_role("button", name="Pay MVR").click()  # on the page as it was
    await expect(page.get_by_role("alert")).to_contain_text(sentence)
    addresses = [
        payment["payment_url"],
        asked["approval_url"],
        f"{service.origin}/app",
        f"{service.origin}/app/requests/{request['id']}",
    ]
    for address in addresses:
        await page.goto(address)
        await expect(page.get_by_role("status")).to_have_text(sentence)
        text = await page.locator("body").inner_text()
        for nonsense in ("roze", "Court", "Limits", "limit is", "MVR\N{NO-BREAK SPACE}0.00"):
            assert nonsense not in text
        buttons = await page.get_by_role("button").all_inner_texts()
        assert not any(name.startswith(("Pay", "Approve")) for name in buttons)
        await in_order(page)
    await page.goto(f"{payment['payment_url']}?lang=dv")
    await expect(page.get_by_role("status")).to_contain_text(CONTACT)
    assert status_of(live_shop, payment) == "pending"


async def test_a_silent_freeze_is_not_named(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    """Every page looks as before the freeze; only an attempt fails."""
    visitors.expected_statuses = {409, 422}
    customer = await new_customer(service)
    payment = live_shop.payment(amount=100)
    asked = live_shop.authorization(title="Beans", limits={"per_payment": 5_000})
    requested = ask(live_shop, customer, amount=100)
    page = await opened(visitors, payment, customer)
    await visitors.log_in(page.context, customer)
    paths = ["/app", f"/app/requests/{requested['id']}"]
    addresses = [payment["payment_url"], asked["approval_url"]]
    addresses += [service.origin + path for path in paths]

    async def looks() -> list[str]:
        found = []
        for address in addresses:
            await page.goto(address)
            text = await page.locator("main").inner_text()
            found.append(re.sub(r"\d+(:\d+)+|\d+ minutes?", "", text))
        return found

    before = await looks()
    assert "Limits" in before[2]
    freeze = ("customer", "freeze", str(customer.account), "--reason", "Court", "--silent")
    assert (await asyncio.to_thread(service.laari, *freeze)).returncode == 0
    assert await looks() == before
    for address, button, words in (
        (addresses[0], "Pay MVR", "Your wallet could not do this."),
        (addresses[3], "Pay MVR", "Your wallet could not do this."),
        (addresses[1], "Approve", "Nothing has changed"),
    ):
        await page.goto(address)
        await page.get_by_role("button", name=button).click()
        await expect(page.get_by_role("alert")).to_contain_text(words)
        text = await page.locator("body").inner_text()
        for hint in ("roze", "lock", "Court", "Contact", CONTACT):
            assert hint not in text
    await page.goto(f"{service.origin}/app/transactions")
    await expect(page.get_by_role("listitem").first).to_contain_text("The wallet could not pay")


async def test_all_reasons_are_told_those_first_that_the_customer_cannot_change(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service, balance=337_500, tier="basic")
    page = await opened(visitors, live_shop.payment(amount=1_500_000), customer)
    reasons = page.get_by_role("status").get_by_role("listitem")
    await expect(reasons).to_have_count(3)
    for place, words in enumerate(("pay at once", "pay today", "11,625.00 too low")):
        await expect(reasons.nth(place)).to_contain_text(words)
    await in_order(page)
    await expect(page.get_by_role("button", name="Pay MVR")).to_have_count(0)


async def test_a_daily_limit_says_what_is_left(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service, balance=2_000_000, tier="basic")
    for amount in (400_000, 400_000):
        page = await opened(visitors, live_shop.payment(amount=amount), customer)
        await page.get_by_role("button", name="Pay MVR").click()
        await expect(heading(page)).to_have_text("Paid")
    page = await opened(visitors, live_shop.payment(amount=300_000), customer)
    await expect(page.get_by_role("status")).to_contain_text(
        "MVR\N{NO-BREAK SPACE}2,000.00 of MVR\N{NO-BREAK SPACE}10,000.00 is left"
    )


async def test_two_tabs_and_two_presses_pay_once(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service, balance=50_000)
    payment = live_shop.payment()
    context = await visitors.context()
    await visitors.log_in(context, customer)
    tabs = [await context.new_page() for _ in range(2)]
    for tab in tabs:
        await tab.goto(payment["payment_url"])
    button = "document.querySelector('form[action$=\"/pay\"] button')"
    await asyncio.gather(*(tab.evaluate(f"{button}.click(); {button}.click()") for tab in tabs))
    for tab in tabs:
        await expect(heading(tab)).to_have_text("Paid")
    assert await service_rows(service, customer) == ["success"]


@both_sizes
async def test_the_sandbox_customer_pays_declines_and_keeps_processing(
    visitors: Visitors, shop: Merchant, size: str
) -> None:
    page = await visitors.page(size)
    for button, shown in (("Pay MVR", "Paid"), ("Decline", "Declined")):
        await page.goto(shop.payment()["payment_url"])
        await expect(page.get_by_label("Sandbox", exact=True)).to_contain_text("No real money")
        await page.get_by_role("button", name=button).click()
        await expect(heading(page)).to_have_text(shown)
        await in_order(page)
    payment = shop.payment()
    await page.goto(payment["payment_url"])
    await in_order(page)
    await page.get_by_role("button", name="Keep processing").click()
    await expect(page.get_by_role("heading", name="being processed")).to_be_visible()
    await in_order(page)
    assert shop.post(f"/payments/{payment['id']}/cancel").status_code == 409
    await page.get_by_role("button", name="Release the attempt").click()
    await expect(page.get_by_role("button", name="Keep processing")).to_be_visible()


async def test_the_page_follows_what_happens_elsewhere(visitors: Visitors, shop: Merchant) -> None:
    payment = shop.payment()
    page = await visitors.page("desktop")
    await page.goto(payment["payment_url"])
    shop.control(f"payments/{payment['id']}/reserve")
    await expect(page.get_by_role("heading", name="being processed")).to_be_visible()
    shop.control(f"payments/{payment['id']}/pay")
    await expect(heading(page)).to_have_text("Paid")


async def test_cancelled_expired_and_refunded_payments(
    visitors: Visitors, service: Service, shop: Merchant
) -> None:
    cancelled, refunded, overdue = shop.payment(), shop.payment(), shop.payment()
    shop.post(f"/payments/{cancelled['id']}/cancel")
    shop.control(f"payments/{refunded['id']}/pay")
    await asyncio.to_thread(service.laari, "payment", "refund", refunded["id"])
    shop.advance(24 * 3600 + 1)
    page = await visitors.page()
    for payment, shown in ((cancelled, "Cancelled"), (refunded, "Refunded"), (overdue, "Expired")):
        await page.goto(payment["payment_url"])
        await expect(heading(page)).to_have_text(shown)
        await expect(page.get_by_role("button", name="Pay")).to_have_count(0)
        await in_order(page)
    # Looking at the page has not expired it: reading it through the interface does.
    stored = await asyncio.to_thread(
        service.execute,
        "SELECT status FROM payments WHERE id = $1::uuid",
        overdue["id"].removeprefix("pay_"),
    )
    assert stored[0]["status"] == "pending"
    assert status_of(shop, overdue) == "expired"


async def test_an_old_log_in_gives_the_password_once_more(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    visitors.expected_statuses = {422}
    customer = await new_customer(service)
    payment = live_shop.payment()
    context = await visitors.context()
    await visitors.log_in(context, customer, age=timedelta(minutes=11))
    page = await context.new_page()
    await page.goto(payment["payment_url"])
    field = page.get_by_label("enter your password again")
    await field.fill("something else")
    await page.get_by_role("button", name="Pay MVR").click()
    await expect(page.get_by_role("alert")).to_contain_text("not your password")
    assert status_of(live_shop, payment) == "pending"
    await in_order(page)
    await field.fill(customer.password)
    await page.get_by_role("button", name="Pay MVR").click()
    await expect(heading(page)).to_have_text("Paid")
    await page.goto(live_shop.payment()["payment_url"])
    await expect(page.get_by_role("button", name="Pay MVR")).to_be_visible()
    await expect(field).to_have_count(0)


async def test_customers_of_one_mode_are_strangers_in_the_other(
    visitors: Visitors, service: Service, shop: Merchant, live_shop: Merchant
) -> None:
    context = await visitors.context()
    await visitors.log_in(context, await new_customer(service, mode="sandbox"))
    page = await context.new_page()
    await page.goto(shop.payment()["payment_url"])
    await expect(page.get_by_text("Logged in as")).to_be_visible()
    await page.goto(live_shop.payment()["payment_url"])
    await expect(page.get_by_role("heading", name="Log in to pay")).to_be_visible()


async def test_logging_out_ends_the_session(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    page = await opened(visitors, live_shop.payment(), await new_customer(service))
    before = await page.context.cookies()
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", name="Log in to pay")).to_be_visible()
    await page.context.add_cookies([c for c in before if c["name"] == "laari"])  # type: ignore[misc]
    await page.reload()
    await expect(page.get_by_role("heading", name="Log in to pay")).to_be_visible()


async def test_the_way_back_leads_to_the_shop_by_link_and_after_a_moment(
    visitors: Visitors, service: Service, shop: Merchant
) -> None:
    visitors.expected_statuses = {404}  # that address has no icon
    address = f"{service.origin}/healthz?order=7"
    payment = shop.payment(return_url=address)
    page = await visitors.page()
    await page.clock.install()
    await page.goto(payment["payment_url"])
    await page.get_by_role("button", name="Pay MVR").click()
    link = page.get_by_role("link", name="Return to Test Shop")
    await expect(link).to_have_attribute("href", address)
    await page.get_by_role("button", name="Stay on this page").click()
    await page.clock.fast_forward(20_000)
    await expect(heading(page)).to_have_text("Paid")
    await page.reload()
    await expect(page.get_by_text("Returning to Test Shop in 8 seconds.")).to_be_visible()
    await page.clock.run_for(9_000)
    await page.wait_for_url(address)


async def test_dhivehi_is_chosen_by_the_browser_or_the_switch(
    visitors: Visitors, live_shop: Merchant
) -> None:
    payment = live_shop.payment(title="Two coffees")
    page = await visitors.page(locale="dv-MV")
    await page.goto(payment["payment_url"])
    assert await page.locator("html").get_attribute("dir") == "rtl"
    await expect(page.locator(".amount")).to_have_text("MVR\N{NO-BREAK SPACE}125.00")
    await in_order(page)
    await page.get_by_role("link", name="English").click()
    await expect(heading(page)).to_have_text("Seagull Café asks you to pay")
    await page.goto(payment["payment_url"])  # the choice is kept
    await expect(page.locator("html")).to_have_attribute("lang", "en")


async def test_everything_works_with_the_keyboard_alone(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    page = await opened(visitors, live_shop.payment(), await new_customer(service))
    names = []
    for _ in range(5):
        await page.keyboard.press("Tab")
        names.append(await page.evaluate("document.activeElement.textContent.trim()"))
    pay = "Pay MVR\N{NO-BREAK SPACE}125.00"
    assert names == ["Skip to content", "ދިވެހި", "Not you? Log out", pay, "Decline"]
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(heading(page)).to_have_text("Paid")


async def test_the_page_is_small(visitors: Visitors, live_shop: Merchant) -> None:
    page = await visitors.page("desktop")
    requests: list[Any] = []

    def note(request: Any) -> None:
        requests.append(request)

    page.on("requestfinished", note)
    payment = live_shop.payment(title="Two coffees", description="x" * 500)
    await page.goto(payment["payment_url"], wait_until="networkidle")
    sizes = [await request.sizes() for request in requests]
    total = sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)
    assert len(requests) >= 4  # page, style, script, QR code …
    assert total < 60_000


async def test_unknown_addresses_say_so(visitors: Visitors, service: Service) -> None:
    visitors.expected_statuses = {404}
    page = await visitors.page()
    for path in ("/pay/nothing", f"/pay/{'a' * 22}", "/approve/nothing", "/static/x/laari.css"):
        response = await page.goto(service.origin + path)
        assert response is not None
        assert response.status == 404
        await expect(heading(page)).to_have_text("This page does not exist")
        await in_order(page)
