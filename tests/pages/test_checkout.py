"""The checkout page in a real browser: every state, happy and unhappy."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.pages.people import SIZES, Visitors, new_customer, serious_violations, sideways_scroll
from tests.serving import Merchant, Service

both_sizes = pytest.mark.parametrize("size", SIZES)


@both_sizes
async def test_a_customer_logs_in_sees_the_balance_and_pays(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str
) -> None:
    customer = await new_customer(service, balance=50_000)
    payment = live_shop.payment(title="Two coffees", bill_number="B-17", metadata={"k": "hidden!"})
    page = await visitors.page(size)
    await page.goto(payment["payment_url"])
    await expect(page.get_by_role("heading", level=1)).to_have_text("Seagull Café asks you to pay")
    await expect(page.locator(".amount")).to_have_text("MVR\N{NO-BREAK SPACE}125.00")
    await expect(page.get_by_text("B-17")).to_be_visible()
    assert await page.locator(".qr").is_visible() == (size == "desktop")
    assert "hidden!" not in await page.content()
    assert await serious_violations(page) == []
    await page.get_by_label("Mobile number, email or VPA").fill(customer.mobile)
    await page.get_by_label("Password").fill(customer.password)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_text("Logged in as Aishath Ibrahim")).to_be_visible()
    await expect(page.locator(".facts .total")).to_contain_text("375.00")
    assert await serious_violations(page) == []
    await page.get_by_role("button", name="Pay MVR").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Paid")
    stored = live_shop.get(f"/payments/{payment['id']}").json()["data"]
    assert stored["status"] == "paid"
    await expect(page.get_by_text(stored["payment_reference"])).to_be_visible()
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
