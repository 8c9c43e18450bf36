"""The approval page in a real browser."""

import time
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.async_api import Page, expect

from tests.pages.people import (
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.serving import Merchant, Service

LIMITS = {
    "per_payment": 50_000,
    "period": {"interval": "month", "amount": 200_000},
    "total": 999_999_999_999_999_999,
    "max_payments": 60,
}


def state_of(shop: Merchant, asked: dict[str, Any]) -> str:
    return shop.get(f"/authorizations/{asked['id']}").json()["data"]["status"]


def heading(page: Page):
    return page.get_by_role("heading", level=1)


async def in_order(page: Page) -> None:
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


@pytest.mark.journey
@both_sizes
async def test_a_customer_reads_every_limit_logs_in_and_approves(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str
) -> None:
    customer = await new_customer(service)
    asked = live_shop.authorization(
        title="Daily coffee", type="recurring", limits=LIMITS, expires_at="2099-12-31"
    )
    page = await visitors.page(size)
    await page.goto(asked["approval_url"])
    await expect(heading(page)).to_have_text("Seagull Café asks to take payments from your wallet")
    words = [text.replace("\N{NO-BREAK SPACE}", " ") for text in await limits(page)]
    assert words == [
        "Regular payments: Seagull Café takes them without asking you each time",
        "Up to MVR 500.00 per payment",
        "At most MVR 2,000.00 a month",
        "At most MVR 9,999,999,999,999,999.99 in total",
        "At most 60 payments",
        "Until 30 December 2099",
    ]
    await expect(page.get_by_text("Decide before")).to_be_visible()
    await in_order(page)
    await page.get_by_label("Mobile number, email or VPA").fill(customer.email)
    await page.get_by_label("Password").fill(customer.password)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_text("Logged in as")).to_be_visible()
    await in_order(page)
    await page.get_by_role("button", name="Approve").click()
    await expect(heading(page)).to_have_text("Approved")
    await in_order(page)
    assert state_of(live_shop, asked) == "active"
    charge = {"reference": asked["reference"], "amount": 12_500}
    charged = live_shop.post(f"/authorizations/{asked['id']}/charge", charge)
    assert charged.status_code == 201, charged.text


async def limits(page: Page) -> list[str]:
    return await page.locator(".limits li").all_inner_texts()


async def test_no_limit_is_said_clearly_and_rejecting_needs_no_script(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    asked = live_shop.authorization(title="Whatever", return_url=f"{service.origin}/healthz")
    context = await visitors.context(java_script_enabled=False)
    await visitors.log_in(context, await new_customer(service))
    page = await context.new_page()
    await page.goto(asked["approval_url"])
    await expect(page.get_by_text("No limit on the amount is set")).to_be_visible()
    await page.get_by_role("button", name="Decline").click()
    await expect(heading(page)).to_have_text("Declined")
    assert state_of(live_shop, asked) == "rejected"
    link = page.get_by_role("link", name="Return to Seagull Café")
    await expect(link).to_have_attribute("href", f"{service.origin}/healthz")


@pytest.mark.parametrize("script", [True, False], ids=["js", "no-js"])
@pytest.mark.parametrize("decision", ["Approve", "Decline"])
async def test_a_decision_leads_to_the_shop_within_three_seconds(
    visitors: Visitors, service: Service, shop: Merchant, decision: str, script: bool
) -> None:
    visitors.expected_statuses = {404}  # that address has no icon
    address = f"{service.origin}/healthz?a=1;b='2'"
    asked = shop.authorization(title="Weekly box", return_url=address)
    page = await visitors.page(java_script_enabled=script)
    await page.goto(asked["approval_url"])
    await page.get_by_role("button", name=decision).click()
    link = page.get_by_role("link", name="Return to Test Shop")
    await expect(link).to_have_attribute("href", address)
    loaded = time.monotonic()
    await page.wait_for_url(lambda url: "/healthz" in url)
    assert time.monotonic() - loaded < 3.0
    assert unquote(page.url) == address


async def test_an_old_log_in_gives_the_password_once_more(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    visitors.expected_statuses = {422}
    customer = await new_customer(service)
    asked = live_shop.authorization(title="Daily coffee")
    context = await visitors.context()
    await visitors.log_in(context, customer, age=timedelta(minutes=11))
    page = await context.new_page()
    await page.goto(asked["approval_url"])
    field = page.get_by_label("enter your password again")
    await field.fill("something else")
    await page.get_by_role("button", name="Approve").click()
    await expect(page.get_by_role("alert")).to_contain_text("not your password")
    assert state_of(live_shop, asked) == "pending"
    await field.fill(customer.password)
    await page.get_by_role("button", name="Approve").click()
    await expect(heading(page)).to_have_text("Approved")


@pytest.mark.parametrize(
    ("then", "shown"), [("cancel", "Ended"), ("suspend", "Paused"), ("charge", "Used up")]
)
async def test_the_sandbox_customer_approves_and_what_may_come_of_it(
    visitors: Visitors, shop: Merchant, then: str, shown: str
) -> None:
    asked = shop.authorization(title="Daily coffee", type="one_time")
    page = await visitors.page()
    await page.goto(asked["approval_url"])
    await in_order(page)
    await page.get_by_role("button", name="Approve").click()
    await expect(heading(page)).to_have_text("Approved")
    if then == "suspend":
        shop.control(f"authorizations/{asked['id']}/suspend")
    else:
        body = {"reference": asked["reference"], "amount": 100} if then == "charge" else None
        assert shop.post(f"/authorizations/{asked['id']}/{then}", body).status_code in (200, 201)
    await page.reload()
    await expect(heading(page)).to_have_text(shown)
    await in_order(page)


async def test_requests_that_ended_cannot_be_approved(visitors: Visitors, shop: Merchant) -> None:
    cancelled = shop.authorization(title="Daily coffee")
    overdue = shop.authorization(title="Daily coffee")
    page = await visitors.page()
    await page.goto(cancelled["approval_url"])
    shop.post(f"/authorizations/{cancelled['id']}/cancel")
    await page.get_by_role("button", name="Approve").click()
    await expect(heading(page)).to_have_text("Cancelled")
    shop.advance(24 * 3600 + 1)
    await page.goto(overdue["approval_url"])
    await expect(heading(page)).to_have_text("Expired")
    await in_order(page)
    assert state_of(shop, overdue) == "expired"


async def test_dhivehi(visitors: Visitors, live_shop: Merchant) -> None:
    page = await visitors.page(locale="dv")
    asked = live_shop.authorization(title="Daily coffee", limits=LIMITS)
    await page.goto(asked["approval_url"])
    assert await page.locator("html").get_attribute("dir") == "rtl"
    assert "MVR\N{NO-BREAK SPACE}500.00" in (await limits(page))[1]
    await in_order(page)
