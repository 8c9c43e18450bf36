"""What the wallet holds, may spend and has done, on its first page and in its history."""

import re

import pytest
from playwright.async_api import expect

from laari.rules import ids
from laari.rules.actors import Payer
from laari.rules.payments.payments import PayPayment
from laari.rules.payments.refunds import RefundPayment
from tests.actors import OPERATOR
from tests.pages.people import (
    Customer,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import (
    busy_wallet,
    execute,
    heading,
    open_app,
    submit,
    tenant_of,
)
from tests.serving import Merchant, Service

with_and_without_scripts = pytest.mark.parametrize("scripts", [True, False])


@pytest.mark.journey
@both_sizes
async def test_the_first_page_shows_balance_limits_and_what_waits(
    visitors: Visitors, live_shop: Merchant, size: str
) -> None:
    page = await open_app(visitors, await busy_wallet(live_shop), size=size)
    await expect(page.locator(".amount")).to_have_text("MVR\N{NO-BREAK SPACE}2,235.00")
    limits = page.get_by_role("region", name="Limits")
    await expect(limits).to_contain_text(re.compile(r"MVR.1,265\.00 of MVR.10,000\.00 spent"))
    await expect(limits).to_contain_text(re.compile(r"MVR.28,735\.00 left until .*, 00:00"))
    await expect(limits).to_contain_text(re.compile(r"single payment can be up to MVR.5,000\.00"))
    widths = [await bar.get_attribute("width") for bar in await limits.locator("rect").all()]
    assert widths == ["12%", "4%", "2%"]
    await expect(page.get_by_role("region", name="Waiting").get_by_role("listitem")).to_have_count(
        2
    )
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


async def test_a_wallet_without_limits_and_without_history(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service, tier="business", balance=0)
    page = await open_app(visitors, customer)
    await expect(page.get_by_text("no limit")).to_have_count(3)
    await expect(page.get_by_text("no transactions yet")).to_be_visible()
    await page.get_by_role("link", name="Transactions", exact=True).click()
    await expect(page.get_by_text("no transactions yet")).to_be_visible()


@both_sizes
async def test_failed_transactions_are_told_apart(
    visitors: Visitors, live_shop: Merchant, size: str
) -> None:
    customer = await busy_wallet(live_shop)
    page = await open_app(visitors, customer, "/app/transactions", size)
    failed = page.get_by_role("listitem").filter(has_text="whole café")
    await expect(failed).to_contain_text("Failed")
    await expect(failed).to_contain_text("No money moved")
    assert await failed.locator("s").inner_text() == "\N{MINUS SIGN}MVR\N{NO-BREAK SPACE}5,000.00"
    paid = page.get_by_role("listitem").filter(has_text="Lunch for four")
    await expect(paid).not_to_contain_text("Failed")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


async def _top_ups(service: Service, customer: Customer, count: int) -> None:
    await execute(
        service,
        "INSERT INTO transactions (tid, account, time, type, name, details, amount, status) "
        "SELECT upper(substr(md5(random()::text), 1, 16)), $1, now(), 'topup', 'Top-up', "
        "'Number ' || lpad(n::text, 3, '0'), 100, 'success' FROM generate_series(1, $2) n",
        customer.account,
        count,
    )


@with_and_without_scripts
async def test_the_history_is_read_to_its_end(
    visitors: Visitors, service: Service, scripts: bool
) -> None:
    """By scrolling where there are scripts, by links where there are none; nothing twice."""
    customer = await new_customer(service, balance=0)
    await _top_ups(service, customer, 65)
    page = await open_app(visitors, customer, "/app/transactions", java_script_enabled=scripts)
    seen: list[str] = []
    details = page.get_by_text(re.compile(r"^Number \d+$"))
    if scripts:
        for reached in (40, 60, 65):
            await page.get_by_role("contentinfo").scroll_into_view_if_needed()
            await expect(details.nth(reached - 1)).to_be_attached()
        await expect(page.get_by_role("link", name="Show older")).to_have_count(0)
        seen = await details.all_inner_texts()
    else:
        while True:
            seen += await details.all_inner_texts()
            link = page.get_by_role("link", name="Show older")
            if not await link.count():
                break
            await link.click()
            await heading(page).to_have_text("Older transactions")
            await expect(page.get_by_text(seen[-1])).to_have_count(0)
    assert seen == [f"Number {n:03}" for n in range(65, 0, -1)]


async def test_a_cursor_of_somebody_else_shows_nothing(
    visitors: Visitors, service: Service
) -> None:
    other, customer = await new_customer(service), await new_customer(service)
    (row,) = await execute(
        service, "SELECT tid FROM transactions WHERE account = $1", other.account
    )
    visitors.expected_statuses = {404}
    page = await open_app(visitors, customer, f"/app/transactions?before={row['tid']}")
    await heading(page).to_have_text("This page does not exist")


async def test_a_refund_and_its_payment_lead_to_each_other(
    visitors: Visitors, live_shop: Merchant
) -> None:
    service = live_shop.service
    customer = await new_customer(service)
    made = live_shop.payment(amount=10_000)
    tenant = await tenant_of(live_shop)
    payment_id = ids.read_id(ids.PAYMENT, made["id"])
    assert payment_id is not None
    paid = await submit(service, PayPayment(tenant, payment_id, Payer(customer.account, "live")))
    parts = [
        await submit(service, RefundPayment(tenant, payment_id, OPERATOR, amount))
        for amount in (2_500, 1_000)
    ]
    page = await open_app(visitors, customer, "/app/transactions")
    of_payment = page.locator(f"[id='{paid.payment_reference}']")
    for part in parts:
        tid = part.refund.tid
        back = page.locator(f"[id='{tid}']").get_by_role("link", name="Refund of payment")
        await expect(back).to_have_text(f"Refund of payment {paid.payment_reference}")
        there = of_payment.locator(f"a[href='/app/transactions/{tid}']")
        await expect(there).to_have_text(re.compile(r"Refunded: MVR.(25|10)\.00"))
    await of_payment.get_by_role("link", name="Seagull Café").click()
    await heading(page).to_have_text("Payment to Seagull Café")
    await expect(page.locator(".amount")).to_have_text("MVR\N{NO-BREAK SPACE}100.00")
    await expect(page.get_by_role("button", name="Print the receipt")).to_be_visible()
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_role("link", name=parts[1].refund.tid).click()
    await heading(page).to_have_text("Refund from Seagull Café")
    await expect(page.get_by_role("link", name=paid.payment_reference)).to_be_visible()
    # Of another customer nothing is shown.
    visitors.expected_statuses = {404}
    other = await new_customer(service)
    page = await open_app(visitors, other, f"/app/transactions/{paid.payment_reference}")
    await heading(page).to_have_text("This page does not exist")


async def test_the_receipt_of_a_failed_line_says_why_and_is_not_sent(
    visitors: Visitors, live_shop: Merchant
) -> None:
    page = await open_app(visitors, await busy_wallet(live_shop), "/app/transactions")
    failed = page.get_by_role("listitem").filter(has_text="whole café")
    await failed.get_by_role("link").click()
    await expect(page.get_by_text("The balance was too low")).to_be_visible()
    await expect(page.get_by_text("No money moved")).to_be_visible()
    await expect(page.get_by_role("button", name="Send by")).to_have_count(0)
    assert await serious_violations(page) == []
