"""At the counter: a sale to print, its refund by a person, and the closing of the till."""

import asyncio
import re

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.pages.counters import Device, Shop, elsewhere, new_shop, paid_by
from tests.pages.forms import token_in
from tests.pages.people import Visitors, new_customer, serious_violations, sideways_scroll
from tests.pages.test_permissions import TILL, logged_in, member
from tests.pages.wallets import pay
from tests.serving import Service


@pytest.fixture
async def shop(service: Service) -> Shop:
    return await new_shop(service)


async def paid(shop: Shop, device: Device, *amounts: str) -> list[str]:
    """The ids of new sales, the newest last."""
    customer = await new_customer(shop.service, name="Fathimath Didi", balance=200_000)
    known = {row["id"] for row in shop.payments()}
    for amount in amounts:
        device.sell(amount)
    made = [row for row in shop.payments() if row["id"] not in known]
    for row in made:
        await paid_by(shop, customer, row)
    return [f"pay_{row['id'].hex}" for row in made]


def close(device: Device, number: str | None = None, **fields: str) -> httpx.Response:
    page = device.get("/close").text
    found = re.search(r'name="number" value="(\d+)"', page)
    shown = found[1] if found else ""
    sent = {"form_token": token_in(device.get().text), "number": number or shown, **fields}
    return device.forms.send(f"{device.origin}/counter/close", sent)


async def test_a_sale_of_the_list_opens_as_a_receipt_with_a_masked_payer(shop: Shop) -> None:
    device = Device(shop)
    [sale] = await paid(shop, device, "45.50")
    assert f'href="/counter/sales/{sale}"' in device.get().text
    page = device.get(f"/sales/{sale}").text
    [row] = shop.payments()
    for told in ("45.50", "F… D…", row["payment_reference"], row["reference"], "data-print"):
        assert told in page, told
    assert "Fathimath" not in page


async def test_a_device_refunds_only_by_a_person_who_logs_in(shop: Shop, service: Service) -> None:
    device = Device(shop)
    [sale] = await paid(shop, device, "45.50")
    found = re.search(r'href="(/dashboard/[^"]+/refund)"', device.get(f"/sales/{sale}").text)
    assert found is not None
    form = device.forms.http.get(device.origin + found[1])
    assert "/dashboard/login" in form.headers["location"]
    fields = {"form_token": token_in(device.get().text), "amount": "1"}
    for path in (found[1], f"/counter/sales/{sale}/refund"):
        answer = device.forms.send(device.origin + path, fields)
        assert answer.status_code in (303, 404), path
        assert "/login" in answer.headers.get("location", "/login"), path
    assert [row["refunded_amount"] for row in shop.payments()] == [None]
    path = found[1].removeprefix("/dashboard")
    assert "Refund up to" in shop.manager.get(path).text
    # A cashier is offered no refund, and gets none.
    cashier = await logged_in(service, await member(service, shop.owner.shop.id, "cashier"))
    page = cashier.get(f"{shop.home}/counter/sales/{sale}")
    assert (page.status_code, "/refund" in page.text) == (200, False)
    assert cashier.get(path).status_code == 403


async def test_a_device_closes_its_till_once(shop: Shop) -> None:
    device = Device(shop)
    assert 'name="number"' not in device.get("/close").text  # nothing was paid yet
    await paid(shop, device, "45.50", "10")
    customer = await new_customer(shop.service, balance=200_000)
    other = shop.owner.shop.payment(terminal_label="Till 2", amount=99900)
    await pay(shop.owner.shop, customer, other)
    assert "55.50" in device.get("/close").text
    closed = close(device, note="Short by <b>one</b>")
    place = closed.headers["location"]
    page = device.get(place.removeprefix("/counter")).text
    for told in ("Closing 1", "55.50", "Short by &lt;b&gt;one", f"till {TILL}", "data-print"):
        assert told in page, told
    assert "999.00" not in page
    # Pressed again: the same closing. A new one has nothing in it.
    assert close(device, "1").headers["location"] == place
    assert close(device, "2").status_code == 409
    assert "Nothing has moved" in device.get("/close").text
    entries = shop.service.execute(
        "SELECT actor_kind, actor_name FROM journal WHERE action = 'till.close' "
        "AND merchant_id = $1",
        shop.owner.shop.id,
    )
    assert [tuple(entry) for entry in entries] == [("till", TILL)]
    await paid(shop, device, "3")
    assert close(device, note="x" * 501).status_code == 422
    # The dashboard has the closing too. The device has none of another till.
    name = place.rpartition("/")[2]
    assert "55.50" in shop.manager.get(f"{shop.home}/tills/closings/{name}").text
    foreign = shop.press("/tills/close", till="Till 2", number="1").headers["location"]
    name = foreign.partition("?")[0].rpartition("/")[2]
    assert device.get(f"/closings/{name}").headers["location"] == "/counter"


async def test_a_cashier_closes_at_the_counter(shop: Shop, service: Service) -> None:
    await paid(shop, Device(shop), "8")
    cashier = await logged_in(service, await member(service, shop.owner.shop.id, "cashier"))
    page = cashier.get(f"{shop.home}/counter/close").text
    fields = {"form_token": token_in(page), "number": "1"}
    closed = cashier.post(f"{shop.home}/counter/close", data=fields)
    assert "/counter/closings/tcl_" in closed.headers["location"]
    accountant = await logged_in(service, await member(service, shop.owner.shop.id, "accountant"))
    assert accountant.post(f"{shop.home}/counter/close", data=fields).status_code == 403


async def in_order(page: Page) -> None:
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


@pytest.mark.parametrize("language", ["en", "dv"])
async def test_receipt_and_closing_on_a_phone(
    shop: Shop, service: Service, visitors: Visitors, language: str
) -> None:
    page = await visitors.page("phone", extra_http_headers=elsewhere())
    code = await asyncio.to_thread(shop.code)
    await page.goto(f"{service.origin}/counter/pair?code={code}&lang={language}")
    await page.locator("main .button").click()
    await page.locator("#amount").fill("45.50")
    await page.locator("main form .button").click()
    await expect(page.locator("[data-sale=pending]")).to_be_visible()
    customer = await new_customer(service, name="Fathimath Didi")
    [row] = await asyncio.to_thread(shop.payments)
    await paid_by(shop, customer, row)
    await expect(page.locator("[data-sale=paid]")).to_be_visible()
    await in_order(page)
    await page.evaluate("window.printed = 0; window.print = () => { window.printed += 1; }; 0")
    await page.locator("[data-print]").click()
    assert await page.evaluate("window.printed") == 1
    [row] = await asyncio.to_thread(shop.payments)
    await page.emulate_media(media="print")
    await expect(page.get_by_text(row["payment_reference"])).to_be_visible()
    assert await page.locator("main a:visible, main button:visible").count() == 0
    await page.emulate_media(media="screen")
    await page.locator("[data-next]").click()
    await page.locator("a[href$='/counter/close']").click()
    await expect(page.locator("dl.facts")).to_contain_text("45.50")
    await in_order(page)
    await page.locator("main form .button").click()
    await expect(page.locator("#closing")).to_be_visible()
    await in_order(page)
