"""Tills: pairing, the counter of a device and of a cashier, and the static code."""

import asyncio
import re
import time
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.pages.counters import Device, Shop, elsewhere, new_shop, paid_by
from tests.pages.forms import Forms, token_in
from tests.pages.people import (
    Visitors,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.test_offline import paired_page
from tests.pages.test_permissions import TILL, logged_in, member
from tests.pages.wallets import pay, set_active
from tests.serving import Service

NBSP = "\N{NO-BREAK SPACE}"


@pytest.fixture
async def shop(service: Service) -> Shop:
    return await new_shop(service)


async def test_names_that_differ_only_by_spaces_or_case_are_refused(shop: Shop) -> None:
    for name in (TILL.upper(), TILL.replace(" ", "")):
        answer = shop.press("/tills/new", name=name)
        assert (answer.status_code, f"“{TILL}” already" in answer.text) == (400, True)
    assert shop.press("/tills/new", name="Till 2").status_code == 303


async def test_a_code_pairs_one_device_and_nothing_else_does(shop: Shop) -> None:
    code = shop.code()
    device = Device(shop, code.lower().replace(" ", "-"))
    assert device.answer.headers["location"] == "/counter"
    assert TILL in device.get().text
    for wrong in (code, "AAAA AAAA", "", "x" * 500):
        assert Device(shop, wrong or "-").answer.status_code == 422
    for row in shop.service.execute("SELECT before, after FROM journal"):
        assert code.replace(" ", "") not in str(tuple(row))


async def test_a_paired_device_opens_nothing_but_its_counter(shop: Shop) -> None:
    device = Device(shop)
    other = shop.owner.shop.payment(terminal_label="Till 2")
    assert device.get(f"/sales/{other['id']}").headers["location"] == "/counter"
    assert device.get(f"/sales/{other['id']}/status").json() == {"status": "ended"}
    token = token_in(device.get().text)
    cancelled = device.forms.send(
        f"{device.origin}/counter/sales/{other['id']}/cancel", {"form_token": token}
    )
    assert cancelled.headers["location"] == "/counter"
    assert {row["status"] for row in shop.payments()} == {"pending"}
    for path in (
        f"/dashboard{shop.home}",
        f"/dashboard{shop.home}{shop.till}",
        "/app",
        "/operator",
    ):
        answer = device.forms.http.get(device.origin + path)
        assert answer.status_code == 303, path
        assert "/login" in answer.headers["location"], path
    for interface in ("merchant/payments", "wallet/account"):
        answer = device.forms.http.get(f"{device.origin}/{interface}")
        assert answer.status_code in (401, 404), interface


async def test_an_ended_device_can_do_nothing_more_within_a_second(shop: Shop) -> None:
    device, kept = Device(shop), Device(shop)
    sale = device.sell("10").headers["location"].removeprefix("/counter")
    page = device.get().text
    mark = re.search(r'data-status="([^"]+)"', page)
    assert mark is not None
    news = f"/news?status={mark[1]}"

    def wait() -> float:
        """Until the page hears of its end."""
        while device.get(news).json()["status"] != "ended":
            time.sleep(0.2)
        return time.monotonic()

    waiting = asyncio.create_task(asyncio.to_thread(wait))
    await asyncio.sleep(1.5)  # behind the first look, which answers all pages of tills
    began = time.monotonic()
    await asyncio.to_thread(shop.end_all)
    assert await waiting - began < 10  # woken, and not after twenty seconds
    ended = shop.service.execute(
        "SELECT actor_kind FROM journal WHERE merchant_id = $1 AND action = 'till_device.end'",
        shop.owner.shop.id,
    )
    assert [entry["actor_kind"] for entry in ended] == ["person", "person"]
    made = len(shop.payments())
    fields = {"form_token": token_in(page), "amount": "10", "reference": "SALE-" + "A" * 16}
    refused = device.forms.send(f"{device.origin}/counter/sales", fields)
    assert refused.headers["location"] == "/counter/pair"
    for path in ("", sale, "/news"):
        answer = device.get(path)
        assert answer.headers.get("location") == "/counter/pair" or answer.json() == {
            "status": "ended"
        }
    assert len(shop.payments()) == made
    assert kept.get().headers["location"] == "/counter/pair"


async def test_a_till_that_is_not_active_takes_nothing(shop: Shop) -> None:
    device, code = Device(shop), shop.code()
    assert shop.press(f"{shop.till}/state", state="inactive").status_code == 303
    assert device.get().headers["location"] == "/counter/pair"
    assert Device(shop, code).answer.status_code == 422
    assert httpx.get(f"{shop.service.origin}/till/{shop.token}").status_code == 404
    assert shop.press(f"{shop.till}/pair").status_code == 409
    shop.press(f"{shop.till}/state", state="active")
    assert device.get().headers["location"] == "/counter/pair"
    assert httpx.get(f"{shop.service.origin}/till/{shop.token}").status_code == 200


async def test_the_devices_of_a_paused_shop_sell_nothing(shop: Shop) -> None:
    device = Device(shop)
    page = device.get().text
    await set_active(shop.owner.shop, active=False)
    for path in ("", "/news"):
        answer = device.get(path)
        assert answer.status_code == 403 or answer.json() == {"status": "ended"}
    fields = {"form_token": token_in(page), "amount": "10", "reference": "SALE-" + "A" * 16}
    assert device.forms.send(f"{device.origin}/counter/sales", fields).status_code == 403
    assert httpx.get(f"{shop.service.origin}/till/{shop.token}").status_code == 403
    assert shop.payments() == []


async def test_a_sale_that_is_sent_twice_is_one(shop: Shop) -> None:
    first, second = Device(shop), Device(shop)
    reference = "SALE-" + "0" * 16
    places = {each.sell("12.50", reference).headers["location"] for each in (first, first, second)}
    assert len(places) == 1
    [row] = shop.payments()
    assert (row["amount"], row["terminal_label"]) == (1250, TILL)
    assert (row["expires_at"] - row["created_at"]).total_seconds() == pytest.approx(900, abs=5)
    other = first.sell("13", reference)
    assert (other.status_code, "another amount" in other.text) == (409, True)
    assert len(shop.payments()) == 1


@pytest.mark.parametrize(
    "amount", ["", "0", "-1", "five", "1e3", "100000000", "9" * 30, "1.234", "<b>1</b>"]
)
async def test_amounts_that_make_no_sale(shop: Shop, amount: str) -> None:
    answer = Device(shop).sell(amount)
    assert answer.status_code == 422
    assert "<b>1" not in answer.text
    assert shop.payments() == []


async def test_a_reference_is_one_of_ours(shop: Shop) -> None:
    """A program's payment of this till is not a sale of the counter."""
    shop.owner.shop.payment(reference="ORDER-1", amount=500, terminal_label=TILL)
    for reference in ("ORDER-1", "SALE-" + "\n" * 16, "SALE-" + "a" * 16, "SALE-" + "A" * 17):
        assert Device(shop).sell("5", reference).status_code == 400


async def test_a_cashier_has_the_counter_of_the_own_till(shop: Shop, service: Service) -> None:
    cashier = await logged_in(service, await member(service, shop.owner.shop.id, "cashier"))
    page = cashier.get(f"{shop.home}/counter")
    assert (page.status_code, TILL in page.text) == (200, True)
    found = re.search(r'name="reference" value="([^"]+)"', page.text)
    assert found is not None
    fields = {"form_token": token_in(page.text), "amount": "7", "reference": found[1]}
    sold = cashier.post(f"{shop.home}/counter/sales", data=fields)
    [row] = shop.payments()
    assert sold.headers["location"].endswith(f"/counter/sales/pay_{row['id'].hex}")
    assert row["terminal_label"] == TILL
    assert shop.manager.get(f"{shop.home}/counter").status_code == 404


async def test_the_last_sales_and_the_total_of_the_day(shop: Shop, service: Service) -> None:
    device = Device(shop)
    customer = await new_customer(service, name="Fathimath Didi", balance=200_000)
    for number in range(1, 13):
        device.sell(str(number))
    for row in shop.payments():
        await paid_by(shop, customer, row)
    other = shop.owner.shop.payment(terminal_label="Till 2", amount=99900)
    await pay(shop.owner.shop, customer, other)
    page = device.get().text.replace("&nbsp;", NBSP)
    assert f"MVR{NBSP}78.00" in page
    assert page.count("F… D…") == 10
    assert "Fathimath" not in page
    assert "999.00" not in page


async def test_a_scan_of_a_static_code_leaves_nothing_behind(shop: Shop) -> None:
    forms, address = Forms(**elsewhere()), f"{shop.service.origin}/till/{shop.token}"
    entries = shop.service.execute("SELECT count(*) FROM journal")[0]["count"]
    for _ in range(3):
        assert forms.http.get(address).status_code == 200
    asked = forms.send(address, {"form_token": forms.token(address), "amount": "45.50"})
    assert (asked.status_code, "45.50" in asked.text) == (200, True)
    assert shop.payments() == []
    assert shop.service.execute("SELECT count(*) FROM journal")[0]["count"] == entries
    reference = re.search(r'name="reference" value="([^"]+)"', asked.text)
    assert reference is not None
    fields = {"form_token": token_in(asked.text), "amount": "45.50", "reference": reference[1]}
    places = {forms.send(f"{address}/pay", fields).headers["location"] for _ in range(2)}
    [row] = shop.payments()
    assert places == {f"/pay/{row['token']}"}
    assert (row["amount"], row["terminal_label"], row["status"]) == (4550, TILL, "pending")
    assert forms.http.get(f"{address}/code").headers["content-type"] == "image/png"


async def test_strangers_cannot_fill_a_shops_lists(shop: Shop) -> None:
    forms, address = Forms(**elsewhere()), f"{shop.service.origin}/till/{shop.token}"
    token = forms.token(address)
    answers = [
        forms.send(
            f"{address}/pay",
            {"form_token": token, "amount": "1", "reference": f"SCAN-{number:016}"},
        ).status_code
        for number in range(25)
    ]
    assert answers.count(303) <= 21
    assert 429 in answers


@pytest.mark.parametrize("token", ["none", "A" * 24, "../pay", "%00", "x" * 5000])
async def test_a_code_that_no_till_has(shop: Shop, token: str) -> None:
    assert httpx.get(f"{shop.service.origin}/till/{token}").status_code in (400, 404, 414)


async def in_order(page: Page) -> None:
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


@pytest.mark.journey
async def test_from_pairing_to_a_paid_sale(
    shop: Shop, service: Service, visitors: Visitors
) -> None:
    page = await visitors.page("phone", extra_http_headers=elsewhere())
    await page.goto(f"{service.origin}/counter")
    await page.get_by_label("Pairing code").fill(await asyncio.to_thread(shop.code))
    await in_order(page)
    await page.get_by_role("button", name="Pair").click()
    for key in "45.50":
        await page.get_by_role("button", name=key, exact=True).click()
    await in_order(page)
    button = page.get_by_role("button", name="Show the code")
    await button.dblclick()
    await expect(page.get_by_role("img", name="QR code")).to_be_visible()
    await in_order(page)
    [row] = await asyncio.to_thread(shop.payments)
    await page.reload()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Waiting for the customer")
    customer = await new_customer(service, name="Fathimath Didi")
    await paid_by(shop, customer, row)
    began = time.monotonic()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Paid")
    assert time.monotonic() - began < 4  # another process paid: looked for every second
    await expect(page.get_by_text("F… D…")).to_be_visible()
    await in_order(page)
    await page.get_by_role("link", name="Next sale").click()
    await expect(page.locator("#latest strong")).to_have_text(f"MVR{NBSP}45.50")
    assert len(await asyncio.to_thread(shop.payments)) == 1
    # A sale of the static code appears by itself, and does not disturb what is typed.
    await page.get_by_role("button", name="7", exact=True).click()
    other = shop.owner.shop.payment(terminal_label=TILL, amount=100)
    await pay(shop.owner.shop, customer, other)
    await expect(page.locator("#latest strong")).to_have_text(f"MVR{NBSP}46.50")
    await expect(page.get_by_label("Amount in rufiyaa")).to_have_value("7")
    await asyncio.to_thread(shop.end_all)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Pair this device with a till")


async def test_a_lost_connection_is_shown_and_repaired_without_a_second_sale(
    shop: Shop, service: Service, visitors: Visitors
) -> None:
    visitors.complaints = []
    page = await visitors.page("phone", extra_http_headers=elsewhere())
    await page.goto(f"{service.origin}/counter/pair?code={await asyncio.to_thread(shop.code)}")
    await page.get_by_role("button", name="Pair").click()
    await page.get_by_label("Amount in rufiyaa").fill("20")
    lost = 0

    async def lose(route: Any) -> None:
        """The sale is made, and its answer is lost."""
        nonlocal lost
        lost += 1
        if lost == 1:
            await route.fetch(max_redirects=0)
        await (route.abort() if lost <= 2 else route.continue_())

    await page.route("**/counter/sales", lose)
    await page.get_by_role("button", name="Show the code").click()
    await expect(page.get_by_text("No connection")).to_be_visible()
    await expect(page.get_by_role("img", name="QR code")).to_be_visible()
    await expect(page.get_by_text("No connection")).to_be_hidden()
    assert len(await asyncio.to_thread(shop.payments)) == 1
    visitors.complaints = [text for text in visitors.complaints if "ERR_FAILED" not in text]


@pytest.mark.parametrize("made", [True, False])
async def test_a_reload_while_a_sale_is_on_its_way_shows_that_sale(
    shop: Shop, service: Service, visitors: Visitors, made: bool
) -> None:
    """Either its answer is lost with the page, or the request before it."""
    page = await paired_page(shop, visitors)
    pressed = asyncio.Event()

    async def hold(route: Any) -> None:
        """Answers the first form never."""
        if pressed.is_set():
            await route.continue_()
            return
        if made:
            await route.fetch(max_redirects=0)
        pressed.set()

    await page.route("**/counter/sales", hold)
    await page.get_by_label("Amount in rufiyaa").fill("20")
    await page.get_by_role("button", name="Show the code").dblclick()
    await pressed.wait()
    assert len(await asyncio.to_thread(shop.payments)) == made
    for _ in range(2):
        await page.reload()
        await expect(page.get_by_role("img", name="QR code")).to_be_visible()
        [row] = await asyncio.to_thread(shop.payments)
        assert (row["amount"], row["status"]) == (2000, "pending")
        await expect(page).to_have_url(f"{service.origin}/counter/sales/pay_{row['id'].hex}")
    # The next sale is another one, and nothing is sent again after it.
    await page.get_by_role("button", name="Cancel this sale").click()
    await page.get_by_label("Amount in rufiyaa").fill("30")
    await page.get_by_role("button", name="Show the code").click()
    await expect(page.get_by_role("img", name="QR code")).to_be_visible()
    await page.goto(f"{service.origin}/counter")
    await expect(page.locator("#latest")).to_be_visible()
    assert await page.evaluate("sessionStorage.length") == 0
    assert [row["amount"] for row in await asyncio.to_thread(shop.payments)] == [2000, 3000]


async def test_a_customer_pays_with_the_static_code(
    shop: Shop, service: Service, visitors: Visitors
) -> None:
    customer = await new_customer(service)
    page = await visitors.page("phone", extra_http_headers=elsewhere())
    await visitors.log_in(page.context, customer)
    await page.goto(f"{service.origin}/till/{shop.token}")
    await page.get_by_label("Amount in rufiyaa").fill("45.50")
    await in_order(page)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.locator(".amount")).to_have_text(f"MVR{NBSP}45.50")
    await in_order(page)
    await page.get_by_role("button", name="Yes, go on to pay").click()
    await page.get_by_role("button", name=re.compile("^Pay MVR")).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Paid")
    [row] = await asyncio.to_thread(shop.payments)
    assert (row["status"], row["terminal_label"]) == ("paid", TILL)
