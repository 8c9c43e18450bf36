"""Authorizations in the wallet application: usage, pause, resume and revoke."""

import re

import pytest
from playwright.async_api import expect

from tests.pages.people import (
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import (
    LONG_AGO,
    approved,
    busy_wallet,
    find,
    heading,
    open_app,
)
from tests.serving import Merchant, Service


@pytest.mark.journey
@both_sizes
async def test_an_authorization_shows_its_limits_and_is_paused_resumed_and_revoked(
    visitors: Visitors, live_shop: Merchant, size: str
) -> None:
    customer = await busy_wallet(live_shop)
    page = await open_app(visitors, customer, "/app/authorizations", size)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_role("link", name="Coffee beans").click()
    await heading(page).to_have_text("Coffee beans every month")
    main = page.get_by_role("main")
    for words in (r"Up to MVR.500\.00 per payment", r"At most MVR.1,200\.00 a month", "Until 30 D"):
        await expect(main).to_contain_text(re.compile(words))
    used = page.get_by_role("region", name="Used so far")
    await expect(used).to_contain_text(
        re.compile(r"MVR.805\.00 of MVR.1,200\.00\s*Starts again on 1")
    )
    assert [await bar.get_attribute("width") for bar in await used.locator("rect").all()] == [
        "67%",
        "8%",
    ]
    await expect(used).to_contain_text("Beans, with filters")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0

    authorization = {"id": page.url.rsplit("/", 1)[1]}
    await page.get_by_role("button", name="Pause").click()
    await expect(main).to_contain_text("Paused")
    assert live_shop.charge(authorization, 100).json()["error"]["code"] == "authorization_inactive"
    assert await serious_violations(page) == []
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert live_shop.charge(authorization, 100).status_code == 201
    await page.get_by_text("Revoke for good").click()
    await page.get_by_role("button", name="Revoke").click()
    await expect(main).to_contain_text("Revoked")
    await expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    assert (await find(live_shop, authorization, "authorizations"))["status"] == "revoked"


async def test_resuming_long_after_the_log_in_asks_for_the_password(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    authorization = await approved(live_shop, customer, limits={"per_payment": 100})
    visitors.expected_statuses = {422}
    page = await open_app(
        visitors, customer, f"/app/authorizations/{authorization['id']}", age=LONG_AGO
    )
    await page.get_by_role("button", name="Pause").click()
    await page.get_by_label("For your safety").fill("not it")
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("alert")).to_contain_text("That is not your password")
    await page.get_by_label("For your safety").fill(customer.password)
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()


async def test_what_the_merchant_ended_first_is_shown_as_it_is(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    authorization = await approved(live_shop, customer)
    page = await open_app(visitors, customer, f"/app/authorizations/{authorization['id']}")
    await expect(page.get_by_role("status")).to_contain_text("No limit on the amount is set")
    live_shop.post(f"/authorizations/{authorization['id']}/cancel")
    visitors.expected_statuses = {409}
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("alert")).to_contain_text("now: Revoked")
    await expect(page.get_by_role("main")).to_contain_text("This has ended")
    await expect(page.get_by_role("button", name="Pause")).to_have_count(0)
