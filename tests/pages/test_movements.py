"""Overview, list of movements and CSV files come to the same sums for the same days."""

import csv
import io
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from playwright.async_api import Page, expect

from laari.rules import ids
from laari.rules.actors import Payer
from laari.rules.calendar import local_day
from laari.rules.payments.payments import PayPayment
from laari.rules.payments.refunds import RefundPayment
from laari.rules.records.tenants import Mode
from tests.actors import OPERATOR
from tests.pages.owners import Owner, new_owner
from tests.pages.people import (
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import submit, tenant_of
from tests.serving import Service

Sums = tuple[Decimal, Decimal, Decimal, Decimal]  # gross, refunds, fees, net
DAY = 24 * 3600


def amount(text: str) -> Decimal:
    return Decimal(
        text.replace("MVR\N{NO-BREAK SPACE}", "").replace(",", "").replace("\N{MINUS SIGN}", "-")
    )


async def of_overview(page: Page, base: str) -> dict[str, Sums]:
    """By the address that the day leads to."""
    await page.goto(base)
    await page.get_by_text("The same as a table").click()
    found: dict[str, Sums] = {}
    for row in await page.locator("table.sums tr:has(td):has(a)").all():
        _, gross, refunds, fees, net = map(amount, await row.locator("td").all_inner_texts())
        address = await row.get_by_role("link").get_attribute("href")
        assert address is not None
        found[address] = (gross, -refunds, -fees, net)
    return found


async def of_list(page: Page, origin: str, address: str) -> Sums:
    """From the rows of all pages; what the page says above them has to be the same."""
    await page.goto(origin + address)
    told = [amount(text) for text in await page.locator(".facts dd").all_inner_texts()]
    sums: Counter[str] = Counter()
    while True:
        for row in await page.locator("table.list tbody tr").all():
            cells = await row.locator("td").all_inner_texts()
            _, _, what, gross, fee, effect = (cell.strip() for cell in cells)
            sums["net"] += amount(effect)  # type: ignore[assignment]
            if what.lower() == "refunded":
                sums["refunds"] -= amount(effect)  # type: ignore[assignment]
            else:
                sums["gross"] += amount(gross)  # type: ignore[assignment]
                sums["fees"] += amount(fee)  # type: ignore[assignment]
        older = page.get_by_role("link", name="Older")
        if not await older.count():
            break
        await older.click()
    found = tuple(Decimal(sums[name]) for name in ("gross", "refunds", "fees", "net"))
    gross, refunds, fees, net = found
    assert told == [gross, -refunds, -fees, net]
    return gross, refunds, fees, net


async def read_csv(page: Page, address: str) -> list[dict[str, str]]:
    answer = await page.context.request.get(address)
    text = (await answer.body()).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


async def of_file(page: Page, origin: str, address: str) -> Sums:
    rows = await read_csv(page, origin + address.replace("/movements?", "/movements.csv?"))
    columns = ("amount", "refunded_amount", "fee", "balance_effect")
    gross, refunds, fees, net = (
        sum((Decimal(row[column] or 0) for row in rows), Decimal(0)) for column in columns
    )
    return gross, refunds, fees, net


async def refund(owner: Owner, mode: Mode, payment: dict[str, Any]) -> None:
    payment_id = ids.read_id(ids.PAYMENT, payment["id"])
    assert payment_id is not None
    tenant = await tenant_of(owner.shop, mode)
    await submit(owner.shop.service, RefundPayment(tenant, payment_id, OPERATOR))


async def trade_in_sandbox(owner: Owner) -> None:
    """Created on one day, paid on the next, refunded later; and one after a clock put back."""
    shop = owner.shop
    until = (datetime.now(UTC) + timedelta(days=9)).isoformat()
    today, late, returned = (
        shop.payment(amount=laari, expires_at=until) for laari in (10_001, 99_900, 20_000)
    )
    for payment in (today, returned):
        shop.control(f"payments/{payment['id']}/pay")
    shop.advance(DAY)
    shop.control(f"payments/{late['id']}/pay")
    shop.advance(3 * DAY)
    await refund(owner, "sandbox", returned)
    ahead = shop.payment(amount=70_000)
    shop.advance(-2 * DAY)
    shop.control(f"payments/{ahead['id']}/pay")  # paid before it was created
    shop.advance(3 * DAY)


async def trade_live(owner: Owner) -> None:
    customer = await new_customer(owner.shop.service, balance=1_000_000)
    tenant = await tenant_of(owner.shop, "live")
    for number in range(60):  # more than a page
        payment = owner.shop.payment(amount=1_000 + number)
        payment_id = ids.read_id(ids.PAYMENT, payment["id"])
        assert payment_id is not None
        await submit(
            owner.shop.service, PayPayment(tenant, payment_id, Payer(customer.account, "live"))
        )
        if number % 9 == 0:
            await refund(owner, "live", payment)


@pytest.mark.parametrize("mode", ["sandbox", "live"])
async def test_overview_list_and_file_agree_for_the_same_days(
    visitors: Visitors, service: Service, mode: Mode
) -> None:
    owner = new_owner(service, mode=mode, fee_bps=150, fee_fixed=7)
    await (trade_in_sandbox(owner) if mode == "sandbox" else trade_live(owner))
    page = await owner.open(visitors, f"/{mode}")
    overview = await of_overview(page, owner.url(f"/{mode}"))
    days = 4 if mode == "sandbox" else 1
    assert len(overview) == days + 1  # and the total
    for address, sums in overview.items():
        assert await of_list(page, service.origin, address) == sums
        assert await of_file(page, service.origin, address) == sums
    *each, total = overview.values()
    assert tuple(map(sum, zip(*each, strict=True))) == total
    # The file of all payments comes to the same: one row a payment, with all that moved.
    rows = await read_csv(page, owner.url(f"/{mode}/payments/export.csv"))
    assert sum(Decimal(row["balance_effect"] or 0) for row in rows) == total[3]
    assert sum(Decimal(row["refunded_amount"] or 0) for row in rows) == total[1]
    assert {row["refunded_amount"] == row["amount"] for row in rows if row["refunded_at"]} == {True}
    # The other mode has none of it.
    other = "live" if mode == "sandbox" else "sandbox"
    nothing = (Decimal(0),) * 4
    moved = address.replace(f"/{mode}/", f"/{other}/")
    assert await of_list(page, service.origin, moved) == nothing
    assert await of_file(page, service.origin, moved) == nothing


async def test_the_file_of_an_ended_day_stays_as_it_was(
    visitors: Visitors, service: Service
) -> None:
    owner = new_owner(service)
    payment = owner.shop.payment(title="Lunch")
    owner.shop.control(f"payments/{payment['id']}/pay")
    day = local_day(datetime.now(UTC))
    page = await owner.open(visitors, "/sandbox")
    address = owner.url(f"/sandbox/payments/movements.csv?first={day}")
    before = await read_csv(page, address)
    owner.shop.advance(2 * DAY)
    await refund(owner, "sandbox", payment)
    assert await read_csv(page, address) == before
    (row,) = await read_csv(page, address.replace(str(day), str(day + timedelta(days=2))))
    assert (row["movement"], row["amount"], row["balance_effect"]) == ("refund", "", "-125.00")
    assert row["moved_at"] == row["refunded_at"]


@both_sizes
async def test_the_page_of_movements_is_found_and_says_what_is_wrong(
    visitors: Visitors, service: Service, size: str
) -> None:
    visitors.expected_statuses = {400}
    owner = new_owner(service, fee_bps=150)
    payment = owner.shop.payment(title="Lunch")
    owner.shop.control(f"payments/{payment['id']}/pay")
    page = await owner.open(visitors, "/sandbox/payments", size)
    await page.get_by_role("link", name="Payments and refunds by day").click()
    await expect(page.get_by_role("link", name=payment["reference"])).to_be_visible()
    await expect(page.locator(".facts .total")).to_contain_text("123.12")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_label("First day").fill("2001-02-03")
    await page.get_by_label("Last day").fill("2001-02-04")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_text("Nothing moved on these days.")).to_be_visible()
    base = owner.url("/sandbox/payments/movements")
    days = ("first=2001-02-05&last=2001-02-04", "first=0001-01-01", "last=9999-12-31", "first=x")
    for query in days:
        for address in (f"{base}?{query}", f"{base}.csv?{query}"):
            assert (await page.context.request.get(address)).status == 400
    await page.goto(f"{base}?{days[0]}")
    await expect(page.get_by_role("alert")).to_contain_text("must not be before")
    assert date.fromisoformat(await page.get_by_label("First day").input_value())
