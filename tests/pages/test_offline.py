"""A sale while the till has no connection: the customer and the till see the same digits."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from playwright.async_api import Page, expect

from laari.rules.limits.tills import (
    OFFLINE_DIGITS_SHOWN,
    OFFLINE_MINUTES,
    OFFLINE_TRIES,
    OFFLINE_TRIES_WITHIN,
)
from laari.rules.merchants.offline import digits_of, minute_of
from tests.pages.counters import Device, Shop, elsewhere, new_shop, paid_by
from tests.pages.forms import Forms, token_in
from tests.pages.people import Visitors, new_customer, serious_violations, sideways_scroll
from tests.pages.test_permissions import TILL, logged_in, member
from tests.serving import Service

VECTORS = Path(__file__, "../../rules/offline_digits.json").resolve()
SECRET = "A" * 43
BOUNDS = {
    "minutes": OFFLINE_MINUTES,
    "tries": OFFLINE_TRIES,
    "within": OFFLINE_TRIES_WITHIN.seconds,
}
CUT = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}


@pytest.fixture
async def shop(service: Service) -> Shop:
    return await new_shop(service)


def secret_of(html: str) -> str | None:
    found = re.search(r'data-secret="([^"]+)"', html)
    return found and found[1]


async def scanned(shop: Shop, amount: str) -> Any:
    """A payment with the static code, paid."""
    forms, address = Forms(**elsewhere()), f"{shop.service.origin}/till/{shop.token}"
    page = forms.send(address, {"form_token": forms.token(address), "amount": amount}).text
    found = re.search(r'name="reference" value="([^"]+)"', page)
    assert found is not None
    fields = {"form_token": token_in(page), "amount": amount, "reference": found[1]}
    assert forms.send(f"{address}/pay", fields).status_code == 303
    made = shop.payments()[-1]
    await paid_by(shop, await new_customer(shop.service, name="Fathimath Didi"), made)
    return shop.payments()[-1]


def shown_to_the_customer(shop: Shop, payment: Any) -> str | None:
    page = Forms().http.get(f"{shop.service.origin}/pay/{payment['token']}").text
    assert 'id="state"' in page  # it is paid
    found = re.search(r"data-digits>(\d{3}) (\d{3})<", page)
    return found and found[1] + found[2]


async def test_the_page_of_the_customer_shows_the_digits_of_the_till(shop: Shop) -> None:
    device = Device(shop)
    secret = secret_of(device.get().text)
    assert secret is not None
    paid = await scanned(shop, "45.50")
    digits = digits_of(secret, 4550, minute_of(paid["paid_at"]))
    assert shown_to_the_customer(shop, paid) == digits
    # The device is lost: what it knows is worth nothing from now on.
    await asyncio.to_thread(shop.end_all)
    assert shown_to_the_customer(shop, paid) != digits
    again = secret_of(Device(shop).get().text)
    assert again not in (None, secret)
    # An old page shows none.
    shop.service.execute(
        "UPDATE payments SET paid_at = paid_at - $2::interval WHERE id = $1",
        paid["id"],
        OFFLINE_DIGITS_SHOWN,
    )
    assert shown_to_the_customer(shop, paid) is None


async def test_only_a_payment_by_the_static_code_has_digits(shop: Shop) -> None:
    """A customer who pays an order of the web shop must not take goods at the till for it too."""
    customer = await new_customer(shop.service)
    Device(shop).sell("10")
    shop.owner.shop.payment(terminal_label=TILL, amount=1000)
    for row in shop.payments():
        await paid_by(shop, customer, row)
    assert [shown_to_the_customer(shop, row) for row in shop.payments()] == [None, None]


async def test_a_cashier_gets_no_secret(shop: Shop, service: Service) -> None:
    """A log-in that ends must leave nothing behind in the browser."""
    cashier = await logged_in(service, await member(service, shop.owner.shop.id, "cashier"))
    page = cashier.get(f"{shop.home}/counter").text
    assert (TILL in page, secret_of(page), "data-check" in page) == (True, None, False)


async def paired_page(shop: Shop, visitors: Visitors, language: str = "en") -> Page:
    page = await visitors.page("phone", extra_http_headers=elsewhere())
    code = await asyncio.to_thread(shop.code)
    await page.goto(f"{shop.service.origin}/counter/pair?code={code}&lang={language}")
    await page.locator("main .button").click()
    await expect(page.locator("#latest")).to_be_visible()
    return page


async def checked(page: Page, amount: str, digits: str) -> str:
    said: str = await page.evaluate(
        "([amount, digits, bounds]) => laariOffline.check(amount, digits, bounds)",
        [amount, digits, BOUNDS],
    )
    return said


async def test_the_page_computes_as_the_server_and_bounds_guesses(
    shop: Shop, visitors: Visitors
) -> None:
    # Near the clock of the service, which a page that is loaded again follows.
    noon = datetime.now(UTC).replace(second=30, microsecond=0)
    page = await paired_page(shop, visitors)
    for vector in json.decode(VECTORS.read_bytes()):
        wanted = vector.pop("digits")
        made = await page.evaluate(
            "({ secret, amount, minute }) => laariOffline.digitsOf(secret, amount, minute)", vector
        )
        assert made == wanted, vector

    async def begin(ahead: timedelta = timedelta()) -> None:
        await page.clock.set_fixed_time(noon - ahead)
        clock = noon.timestamp() * 1000
        await page.evaluate(
            "([secret, clock]) => { laariOffline.forget(); laariOffline.keep(secret, clock); }",
            [SECRET, clock],
        )

    def digits(amount: int, minutes: int = 0, secret: str = SECRET) -> str:
        return digits_of(secret, amount, minute_of(noon) + minutes)

    # The present minute and those before it, once each.
    await begin()
    for number in range(OFFLINE_MINUTES):
        assert await checked(page, "45.50", digits(4550, -number)) == "good"
        assert await checked(page, "45.50", digits(4550, -number)) == "used"
    assert await checked(page, "1,045.5", digits(104550)) == "good"
    for unread in ("", "45.505", "-1", "0", "1e3"):
        assert await checked(page, unread, digits(4550)) == "unread"
    assert await checked(page, "45.50", "12345") == "unread"
    # Another minute, amount or till; then too many attempts, also for the right digits.
    wrong = (digits(4550, 1), digits(4550, -OFFLINE_MINUTES), digits(4551))
    await begin()
    for attempt in (*wrong, digits(4550, secret="B" * 43), "000000"):
        assert await checked(page, "45.50", attempt) == "bad"
    assert await checked(page, "45.50", digits(4550)) == "wait"
    await page.clock.set_fixed_time(noon + OFFLINE_TRIES_WITHIN - timedelta(seconds=1))
    later = digits(4550, OFFLINE_TRIES_WITHIN.seconds // 60)
    assert await checked(page, "45.50", "000000") == "wait"
    await page.clock.set_fixed_time(noon + OFFLINE_TRIES_WITHIN)
    assert await checked(page, "45.50", later) == "good"
    # Many at once, and a reload, do not get around it. A new secret neither.
    await begin()
    said = await page.evaluate(
        "(bounds) => Promise.all(Array.from({ length: 9 }, "
        "() => laariOffline.check('45.50', '000000', bounds)))",
        BOUNDS,
    )
    assert (said.count("bad"), said.count("wait")) == (5, 4)
    await page.reload()
    await expect(page.locator("#latest")).to_be_visible()
    assert await checked(page, "45.50", "000000") == "wait"
    # The right digits twice at once, among wrong ones: accepted once, and the others count.
    await begin()
    said = await page.evaluate(
        "([right, bounds]) => Promise.all([right, '000000', '000001', right, '000002']"
        ".map((digits) => laariOffline.check('45.50', digits, bounds)))",
        [digits(4550), BOUNDS],
    )
    assert sorted(said) == ["bad", "bad", "bad", "good", "used"]
    assert [await checked(page, "45.50", "000003") for _ in range(3)] == ["bad", "bad", "wait"]
    # A device whose clock is wrong follows the clock of the service.
    await begin(ahead=timedelta(hours=3))
    assert await checked(page, "45.50", digits(4550)) == "good"


@pytest.mark.parametrize("language", ["en", "dv"])
async def test_a_sale_while_the_network_is_cut(
    shop: Shop, visitors: Visitors, language: str
) -> None:
    page = await paired_page(shop, visitors, language)
    control = await page.context.new_cdp_session(page)
    await control.send("Network.enable")
    await control.send("Network.emulateNetworkConditions", CUT)
    await expect(page.locator("[data-offline]")).to_be_visible()
    paid = await scanned(shop, "45.50")
    digits = await asyncio.to_thread(shown_to_the_customer, shop, paid)
    assert digits is not None
    await page.locator("[data-check-open]").click()
    await page.locator("#check-amount").fill("46.50")
    await page.locator("#check-digits").fill(digits)
    for amount, said in (("46.50", "bad"), ("45.50", "good"), ("45.50", "used")):
        await page.locator("#check-amount").fill(amount)
        await page.locator("dialog form .button").first.click()
        await expect(page.locator(f"[data-says={said}]")).to_be_visible()
        assert await page.locator("[data-says]:visible").count() == 1
    assert await sideways_scroll(page) <= 0
    await control.send("Network.emulateNetworkConditions", {**CUT, "offline": False})
    # The connection is back: the sale is there, once.
    await page.locator("[data-check-close]").click()
    await expect(page.locator("[data-offline]")).to_be_hidden()
    await expect(page.locator("#latest li")).to_have_count(1)
    assert len(await asyncio.to_thread(shop.payments)) == 1
    await page.evaluate("document.querySelector('[data-check]').showModal()")
    assert await serious_violations(page) == []
    visitors.complaints = [text for text in visitors.complaints if "ERR_INTERNET" not in text]
