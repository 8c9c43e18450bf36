"""A shop whose merchant is deactivated: its links say so, and nothing is taken or allowed."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.pages.people import (
    Customer,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import ask, set_active
from tests.serving import Merchant

CLOSED = "This shop is not taking payments at the moment"


def heading(page: Page) -> Any:
    return page.get_by_role("heading", level=1)


def asked_for(shop: Merchant, customer: Customer, kind: str) -> tuple[str, str]:
    """Something new to pay or approve: its page, and its path in the interface."""
    match kind:
        case "checkout":
            payment = shop.payment()
            return payment["payment_url"], f"/payments/{payment['id']}"
        case "approval":
            authorization = shop.authorization()
            return authorization["approval_url"], f"/authorizations/{authorization['id']}"
    request = ask(shop, customer)
    page = f"{shop.service.origin}/app/requests/{request['id']}"
    return page, f"/payment-requests/{request['id']}"


async def opened(
    visitors: Visitors, shop: Merchant, kind: str, size: str = "phone", *, scripts: bool = False
) -> tuple[Page, str]:
    """Something new to pay or approve, open before a customer; and its path in the interface.

    Without script the page that is shown does not find out by itself.
    """
    customer = await new_customer(shop.service)
    address, resource = asked_for(shop, customer, kind)
    context = await visitors.context(size, java_script_enabled=scripts)
    await visitors.log_in(context, customer)
    page = await context.new_page()
    await page.goto(address)
    return page, resource


@both_sizes
@pytest.mark.parametrize("kind", ["checkout", "approval", "request"])
async def test_a_button_pressed_too_late_does_nothing_until_the_shop_is_back(
    visitors: Visitors, live_shop: Merchant, size: str, kind: str
) -> None:
    button, done = ("Approve", "active") if kind == "approval" else ("Pay MVR", "paid")
    page, resource = await opened(visitors, live_shop, kind, size)
    address = page.url
    await set_active(live_shop, False)
    await page.get_by_role("button", name=button).click()
    await expect(heading(page)).to_have_text(CLOSED)
    await expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)

    await set_active(live_shop, True)
    assert live_shop.get(resource).json()["data"]["status"] == "pending"
    await page.goto(address)
    await page.get_by_role("button", name=button).click()
    await expect(heading(page)).not_to_have_text(CLOSED)
    assert live_shop.get(resource).json()["data"]["status"] == done


@pytest.mark.parametrize("kind", ["checkout", "approval", "request"])
async def test_what_a_closed_shop_asks_for_can_be_declined(
    visitors: Visitors, live_shop: Merchant, kind: str
) -> None:
    page, resource = await opened(visitors, live_shop, kind)
    await set_active(live_shop, False)
    await page.get_by_role("button", name="Decline").click()
    await expect(heading(page)).to_contain_text("Declined")
    await set_active(live_shop, True)
    assert live_shop.get(resource).json()["data"]["status"] == "rejected"


@pytest.mark.parametrize("kind", ["checkout", "approval", "request"])
async def test_an_open_page_follows_the_shop(
    visitors: Visitors, live_shop: Merchant, kind: str
) -> None:
    page, _ = await opened(visitors, live_shop, kind, scripts=True)
    await set_active(live_shop, False)
    await expect(heading(page)).to_have_text(CLOSED)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await set_active(live_shop, True)
    await expect(heading(page)).to_contain_text("asks")


async def test_the_sandbox_customer_is_no_way_around(visitors: Visitors, shop: Merchant) -> None:
    page = await visitors.page(java_script_enabled=False)
    payment = shop.payment()
    await page.goto(payment["payment_url"])
    await set_active(shop, False)
    await page.get_by_role("button", name="Pay MVR").click()
    await expect(heading(page)).to_have_text(CLOSED)
    await set_active(shop, True)
    assert shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "pending"


async def test_what_was_paid_stays_a_receipt(visitors: Visitors, shop: Merchant) -> None:
    payment = shop.payment()
    shop.control(f"payments/{payment['id']}/pay")
    await set_active(shop, False)
    page = await visitors.page()
    await page.goto(payment["payment_url"])
    await expect(heading(page)).to_have_text("Paid")
    assert shop.service.laari("payment", "refund", payment["id"]).returncode == 0
    await page.reload()
    await expect(heading(page)).to_have_text("Refunded")
