"""The page Money: the balance, the ledger with the balance after each movement, and its file."""

import csv
import io
from decimal import Decimal

import pytest
from playwright.async_api import expect

from tests.pages.owners import new_owner
from tests.pages.people import Visitors, both_sizes, serious_violations, sideways_scroll
from tests.serving import Service


@pytest.mark.journey
@both_sizes
async def test_a_part_is_refunded_and_the_ledger_shows_it(
    visitors: Visitors, service: Service, size: str
) -> None:
    visitors.expected_statuses = {409, 400}
    owner = new_owner(service, fee_bps=1_000)
    payment = owner.shop.payment(amount=10_000, title="=cmd()", reference="ORDER-1")
    owner.shop.control(f"payments/{payment['id']}/pay")
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}/refund", size)
    await expect(page.locator(".facts")).to_contain_text("90.00")
    twin = await page.context.new_page()
    await twin.goto(page.url)
    for form in (page, twin):
        await form.get_by_label("Amount in MVR").fill("40.50")
        await form.get_by_label("Reason").select_option("duplicate")
        await form.get_by_label("Note").fill("<b>One of two</b>")
        await form.get_by_role("button", name="Refund the payment").click()
    await expect(page.get_by_role("status")).to_contain_text("Refunded")
    await expect(twin.get_by_role("alert")).to_contain_text("refunded meanwhile")
    shown = page.locator("section", has=page.get_by_role("heading", name="Refunds"))
    for words in ("40.50", owner.email, "Paid twice", "<b>One of two</b>"):
        await expect(shown).to_contain_text(words)
    await expect(page.locator(".facts")).to_contain_text("59.50")  # left to refund
    await page.get_by_role("link", name="Money").click()
    await expect(page.locator(".tiles")).to_contain_text("49.50")
    rows = page.locator("table.list tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.first).to_contain_text("49.50")
    await expect(rows.last).to_contain_text("90.00")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    answer = await page.context.request.get(f"{page.url}/export.csv")
    lines = list(csv.DictReader(io.StringIO((await answer.body()).decode("utf-8-sig"))))
    assert [line["movement"] for line in lines] == ["refund", "payment"]
    assert [Decimal(line["balance_after"]) for line in lines] == [Decimal("49.5"), Decimal(90)]
    assert {line["title"] for line in lines} == {"'=cmd()"}
    await page.get_by_label("Kind").select_option("refund")
    await page.get_by_role("button", name="Show").click()
    await expect(rows).to_have_count(1)
    assert (await page.context.request.get(f"{page.url.split('?')[0]}?kind=x")).status == 400


async def test_large_amounts_fit_on_a_phone(visitors: Visitors, service: Service) -> None:
    owner = new_owner(service, fee_bps=150)
    owner.shop.control("wallet", {"balance": 10**12, "tier": "business"})
    for till in ({}, {"terminal_label": "Terrace"}):
        payment = owner.shop.payment(amount=4_999_999, reference="o" * 40 + str(till)[:9], **till)
        owner.shop.control(f"payments/{payment['id']}/pay")
    page = await owner.open(visitors, "/sandbox/money", "phone")
    for path in ("/money", "/money/statement?preset=this_month", "/tills", "/journal", ""):
        await page.goto(owner.url(f"/sandbox{path}"))
        assert await serious_violations(page) == []
        # Neither the page nor a card on it is too narrow for its content.
        assert await sideways_scroll(page) <= 0
        wide = "all => all.filter(each => each.scrollWidth > each.clientWidth).length"
        assert await page.locator(".card").evaluate_all(wide) == 0
