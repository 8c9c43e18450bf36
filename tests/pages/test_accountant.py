"""An accountant's month in a browser: statement, lists of the same days, and closings of tills."""

import asyncio
from datetime import UTC, datetime

import pytest
from playwright.async_api import Page, expect

from laari.rules.calendar import local_day
from laari.rules.day_ranges import month_of
from tests.pages.owners import Owner, new_owner
from tests.pages.people import Visitors, both_sizes, serious_violations, sideways_scroll
from tests.pages.test_journal import client_of
from tests.pages.test_permissions import member
from tests.pages.test_tills import close, sell
from tests.serving import Service

DAY = 24 * 3600


def trade(owner: Owner) -> None:
    """A month of sales at two tills, with a refund, and the first day of the next month."""
    shop = owner.shop
    days = month_of(local_day(datetime.now(UTC)))
    left = (days.last - local_day(datetime.now(UTC))).days
    for step in range(3):
        for till, laari in (("Bar", 125_050), ("Terrace", 8_500)):
            sold = sell(owner, laari + step, till)
        if step < 2 and left:
            shop.advance(left * DAY // 2)
    refunded = shop.post(f"/payments/{sold}/refunds", {"amount": 3_000, "note": "Cold"})
    assert refunded.status_code == 201
    with client_of(owner) as client:
        close(client, "Bar", note="Counted twice")
    shop.advance(2 * DAY)
    sell(owner, 70_000, "Bar")


async def fits(page: Page) -> None:
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


@pytest.mark.ci
@both_sizes
async def test_the_month_of_an_accountant(visitors: Visitors, service: Service, size: str) -> None:
    owner = await asyncio.to_thread(new_owner, service, name="Seagull Café", fee_bps=150)
    await asyncio.to_thread(trade, owner)
    page = await visitors.page(size)
    await visitors.log_in(page.context, await member(service, owner.shop.id, "accountant"))
    await page.goto(owner.url("/sandbox/money"))
    await fits(page)
    await page.get_by_role("link", name="Statement").click()
    # The newest month that has ended is shown at once.
    month = month_of(local_day(datetime.now(UTC)))
    heading = page.get_by_role("heading", name=f"Statement, {month.first:%B %Y}")
    await expect(heading).to_be_visible()
    table = page.locator("table.statement")
    await expect(table).to_contain_text("4,006.56")  # gross
    await expect(table.locator("tfoot")).to_contain_text("3,916.44")
    await fits(page)
    async with page.expect_download() as downloaded:
        await page.get_by_role("link", name="Download this statement").click()
    assert (await downloaded.value).suggested_filename.startswith("statement-sandbox-")
    await page.get_by_role("link", name="This month").click()
    await expect(page.get_by_text("These days have not ended.")).to_be_visible()
    await expect(table.locator("tbody tr").first).to_contain_text("3,916.44")  # opening
    await page.emulate_media(media="print")
    await expect(page.get_by_role("navigation", name="Dashboard")).to_be_hidden()
    await expect(page.get_by_label("First day")).to_be_hidden()
    await page.emulate_media(media="screen")
    # The lists of the same month.
    await page.goto(owner.url("/sandbox/payments"))
    await page.get_by_text("Filter", exact=True).click()
    await page.get_by_label("Days").select_option("moved")
    await page.get_by_label("First day").fill(str(month.first))
    await page.get_by_label("Last day").fill(str(month.last))
    await page.get_by_role("button", name="Apply").click()
    await expect(page.locator(".facts .total")).to_contain_text("3,916.44")
    await fits(page)
    await page.goto(owner.url("/sandbox?preset=last_month"))
    await expect(page.locator(".tiles")).to_contain_text("3,916.44")
    await fits(page)
    # Closings can be read and printed, not made.
    await page.goto(owner.url("/sandbox/tills"))
    await expect(page.get_by_role("link", name="Close till")).to_have_count(0)
    await fits(page)
    await page.get_by_role("link", name="till Bar, number 1").click()
    await expect(page.locator(".facts .total")).to_contain_text("3,695.25")
    await expect(page.get_by_text("Counted twice")).to_be_visible()
    await fits(page)
