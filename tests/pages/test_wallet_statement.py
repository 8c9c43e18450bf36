"""The statement of a month: page and file agree with each other and with the wallet."""

import csv
import io

import httpx
from playwright.async_api import expect

from laari.rules.day_ranges import Days, read_month
from laari.store.postgres.pool import connection_to
from laari.store.reads.money import wallet_statements
from tests.pages.people import (
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import busy_wallet, execute, heading, open_app
from tests.serving import Merchant, Service


@both_sizes
async def test_page_and_file_of_a_month_agree(
    visitors: Visitors, live_shop: Merchant, size: str
) -> None:
    customer = await busy_wallet(live_shop)
    page = await open_app(visitors, customer, "/app/transactions", size)
    await page.get_by_role("link", name="Statement").click()
    facts = page.locator(".facts dd")
    shown = ["MVR 0.00", "MVR 3,500.00", "\N{MINUS SIGN}MVR 1,265.00", "MVR 2,235.00"]
    await expect(facts).to_have_text([text.replace(" ", "\N{NO-BREAK SPACE}") for text in shown])
    # A failed attempt moved no money.
    await expect(page.locator("li.line")).to_have_count(4)
    await expect(page.get_by_text("whole café")).to_have_count(0)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    address = await page.get_by_role("link", name="CSV").get_attribute("href")
    cookies = {each["name"]: each["value"] for each in await page.context.cookies()}
    answer = httpx.get(f"{live_shop.service.origin}{address}", cookies=cookies)
    rows = [*csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff")))]
    assert [row["amount"] for row in rows] == ["3500.00", "-385.00", "-420.00", "-460.00"]
    assert [row["balance"] for row in rows] == ["3500.00", "3115.00", "2695.00", "2235.00"]
    assert rows[1]["details"] == "Beans, first delivery"


async def test_a_month_that_does_not_exist_is_refused(visitors: Visitors, service: Service) -> None:
    visitors.expected_statuses = {422}
    page = await open_app(visitors, await new_customer(service), "/app/statement?month=2026-13")
    await expect(page.get_by_role("alert")).to_contain_text("Choose a month")
    await page.goto(f"{service.origin}/app/statement?month=2020-01")
    await heading(page).to_have_text("Statement of January 2020")
    await expect(page.get_by_text("No money moved in this month")).to_be_visible()


async def test_pages_of_the_file_continue_each_other(service: Service) -> None:
    customer = await new_customer(service, balance=0)
    await execute(
        service,
        "INSERT INTO transactions (tid, account, time, type, name, details, amount, status) "
        "SELECT upper(substr(md5(random()::text), 1, 16)), $1, timestamptz '2026-01-31 18:59Z' "
        "+ n * interval '20 seconds', 'topup', '', '', 100, 'success' "
        "FROM generate_series(1, 5) n",
        customer.account,
    )
    january = read_month("2026-01")
    assert january == Days(january.first, january.last)  # type: ignore[union-attr]
    async with connection_to(service.dsn) as connection:
        read = wallet_statements.page
        first, place = await read(connection, customer.account, january, None, 1)
        rest, end = await read(connection, customer.account, january, place, 10)
    # The month ends at midnight in Maldives time, 19:00 UTC.
    assert [each.balance for each in (*first, *rest)] == [-400, -300]
    assert end is None
