"""Payment requests in the wallet application: paid, rejected, and every other state."""

import re

import pytest
from playwright.async_api import expect

from laari.rules.payments.payment_requests import PayRequest, ReserveRequest
from tests.pages.people import (
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import (
    LONG_AGO,
    answer,
    ask,
    execute,
    find,
    heading,
    open_app,
)
from tests.serving import Merchant, Service

with_and_without_scripts = pytest.mark.parametrize("scripts", [True, False])


@pytest.mark.journey
@both_sizes
@with_and_without_scripts
async def test_a_request_is_paid(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str, scripts: bool
) -> None:
    customer = await new_customer(service, balance=50_000)
    request = ask(live_shop, customer, title="Two coffees", bill_number="B-17")
    page = await open_app(visitors, customer, "/app/requests", size, java_script_enabled=scripts)
    await page.get_by_role("link", name="Two coffees").click()
    await heading(page).to_have_text("Seagull Café asks you to pay")
    await expect(page.locator(".facts .total")).to_contain_text("375.00")
    if scripts:
        assert await serious_violations(page) == []
        assert await sideways_scroll(page) <= 0
    await page.get_by_role("button", name="Pay MVR").click()
    await heading(page).to_have_text("Paid")
    stored = await find(live_shop, request, "payment-requests")
    assert stored["status"] == "paid"
    await expect(page.get_by_text(stored["payment_reference"])).to_be_visible()
    if scripts:
        assert await serious_violations(page) == []
    await page.get_by_role("link", name="Overview").click()
    await expect(page.locator(".amount")).to_contain_text("375.00")


@with_and_without_scripts
async def test_a_request_is_rejected_without_a_password(
    visitors: Visitors, service: Service, live_shop: Merchant, scripts: bool
) -> None:
    customer = await new_customer(service)
    request = ask(live_shop, customer)
    path = f"/app/requests/{request['id']}"
    page = await open_app(visitors, customer, path, age=LONG_AGO, java_script_enabled=scripts)
    await page.get_by_role("button", name="Decline").click()
    await heading(page).to_have_text("Declined")
    assert (await find(live_shop, request, "payment-requests"))["status"] == "rejected"


async def test_paying_long_after_the_log_in_asks_for_the_password(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    request = ask(live_shop, customer)
    visitors.expected_statuses = {422}
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}", age=LONG_AGO)
    password = page.get_by_label("For your safety")
    await password.fill("not it")
    await page.get_by_role("button", name="Pay").click()
    await expect(page.get_by_role("alert")).to_contain_text("That is not your password")
    assert (await find(live_shop, request, "payment-requests"))["status"] == "pending"
    await password.fill(customer.password)
    await page.get_by_role("button", name="Pay").click()
    await heading(page).to_have_text("Paid")


@both_sizes
async def test_a_balance_too_low_says_so_and_takes_nothing(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str
) -> None:
    customer = await new_customer(service, balance=10_000)
    request = ask(live_shop, customer, amount=12_500)
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}", size)
    await expect(page.get_by_role("status")).to_contain_text(
        re.compile(r"MVR.25\.00 too low. Top up your wallet")
    )
    await expect(page.get_by_role("button", name="Pay")).to_have_count(0)
    await expect(page.get_by_role("link", name="Check again")).to_be_visible()
    await expect(page.get_by_text("To put money into your wallet, ask")).to_be_visible()
    assert await serious_violations(page) == []
    assert (await find(live_shop, request, "payment-requests"))["status"] == "pending"


async def test_a_limit_of_the_wallet_says_how_much_is_left(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service, balance=2_000_000, tier="basic")
    for _ in range(2):
        await answer(live_shop, customer, ask(live_shop, customer, amount=450_000), PayRequest)
    request = ask(live_shop, customer, amount=200_000)
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}")
    await expect(page.get_by_role("status")).to_contain_text(
        re.compile(r"today: MVR.1,000\.00 of MVR.10,000\.00 is left. You can pay after midnight")
    )


async def test_two_tabs_pay_once(visitors: Visitors, service: Service, live_shop: Merchant) -> None:
    customer = await new_customer(service, balance=50_000)
    request = ask(live_shop, customer)
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}")
    other = await page.context.new_page()
    await other.goto(page.url)
    for tab in (page, other):
        await tab.get_by_role("button", name="Pay").click()
        await heading(tab).to_have_text("Paid")
    (row,) = await execute(
        service, "SELECT balance FROM wallets WHERE account = $1", customer.account
    )
    assert row["balance"] == 37_500


async def test_a_request_that_ends_meanwhile_changes_on_the_page(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    request = ask(live_shop, customer)
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}")
    await expect(page.get_by_role("button", name="Pay")).to_be_visible()
    assert live_shop.post(f"/payment-requests/{request['id']}/cancel").status_code == 200
    await heading(page).to_have_text("Cancelled")


async def test_states_that_only_show(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    held, late = ask(live_shop, customer, title="Held"), ask(live_shop, customer, title="Late")
    await answer(live_shop, customer, held, ReserveRequest)
    await execute(
        service,
        "UPDATE payment_requests SET expires_at = now() - interval '1 second' WHERE id = $1::uuid",
        late["id"].removeprefix("prq_"),
    )
    page = await open_app(visitors, customer, f"/app/requests/{held['id']}")
    await expect(page.get_by_text("Payment is being processed")).to_be_visible()
    await expect(page.get_by_role("button", name="Pay")).to_have_count(0)
    await page.goto(f"{service.origin}/app/requests/{late['id']}")
    await heading(page).to_have_text("Expired")
    await expect(page.get_by_role("button", name="Pay")).to_have_count(0)


@with_and_without_scripts
async def test_requests_that_wait_come_before_those_that_ended(
    visitors: Visitors, service: Service, live_shop: Merchant, scripts: bool
) -> None:
    customer = await new_customer(service, balance=100_000, tier="business")
    first = ask(live_shop, customer, amount=100, title="Oldest, waits")
    for number in range(24):
        request = ask(live_shop, customer, amount=100, title=f"Number {number:02}")
        if number < 22:
            await answer(live_shop, customer, request, PayRequest)
    page = await open_app(visitors, customer, "/app/requests", java_script_enabled=scripts)
    lines = page.get_by_role("main").get_by_role("listitem").get_by_role("link")
    if scripts:
        await page.get_by_role("contentinfo").scroll_into_view_if_needed()
        await expect(lines).to_have_count(25)
        titles = await lines.all_inner_texts()
        assert await serious_violations(page) == []
    else:
        titles = await lines.all_inner_texts()
        await page.get_by_role("link", name="Show older").click()
        await heading(page).to_have_text("Older payment requests")
        titles += await lines.all_inner_texts()
    assert titles[:3] == ["Number 23", "Number 22", first["title"]]
    assert titles[3:] == [f"Number {number:02}" for number in range(21, -1, -1)]


async def test_a_request_to_somebody_else_does_not_exist(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    request = ask(live_shop, await new_customer(service))
    visitors.expected_statuses = {404}
    page = await open_app(visitors, await new_customer(service), f"/app/requests/{request['id']}")
    await heading(page).to_have_text("This page does not exist")
    for path in ("requests/prq_1", "authorizations/auth_x", "nothing"):
        await page.goto(f"{service.origin}/app/{path}")
        await heading(page).to_have_text("This page does not exist")
