"""Reusable links: made on the dashboard, paid by many customers, and ended."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from laari.rules.calendar import MALDIVES
from tests.pages.counters import Shop, elsewhere, new_shop, paid_by
from tests.pages.forms import Forms, token_in
from tests.pages.people import Visitors, new_customer, serious_violations, sideways_scroll
from tests.pages.wallets import set_active
from tests.serving import Service

pytestmark = pytest.mark.ci


@pytest.fixture
async def shop(service: Service) -> Shop:
    return await new_shop(service)


def links(shop: Shop) -> list[Any]:
    return shop.service.execute(
        "SELECT l.* FROM reusable_links l JOIN tenants t ON t.id = l.tenant_id "
        "WHERE t.merchant_id = $1 ORDER BY l.id",
        shop.owner.shop.id,
    )


def make(shop: Shop, **fields: str) -> httpx.Response:
    count = str(len([each for each in links(shop) if each["ended_at"] is None]))
    return shop.press("/links/new", **{"title": "Swimming course", "count": count, **fields})


def made(shop: Shop, **fields: str) -> str:
    """The address of a new link."""
    assert make(shop, **fields).status_code == 303
    return f"{shop.service.origin}/link/{links(shop)[-1]['token']}"


def ask(forms: Forms, address: str, amount: str) -> httpx.Response:
    return forms.send(address, {"form_token": forms.token(address), "amount": amount})


def confirm(forms: Forms, page: str, address: str, amount: str) -> httpx.Response:
    found = re.search(r'name="reference" value="(LINK-[0-9A-F]{16})"', page)
    assert found is not None
    fields = {"form_token": token_in(page), "amount": amount, "reference": found[1]}
    return forms.send(f"{address}/pay", fields)


async def test_many_customers_pay_a_fixed_amount(shop: Shop, service: Service) -> None:
    address = made(shop, amount="50")
    for _ in range(2):
        forms = Forms(**elsewhere())
        page = forms.http.get(address).text
        assert "50.00" in page
        # The amount of the link counts, and not the one of the form.
        places = {confirm(forms, page, address, "0.01").headers["location"] for _ in range(2)}
        assert len(places) == 1
    rows = shop.payments()
    assert [(row["amount"], row["title"], row["terminal_label"]) for row in rows] == [
        (5000, "Swimming course", None)
    ] * 2
    await paid_by(shop, await new_customer(service), rows[0])
    assert [row["status"] for row in shop.payments()] == ["paid", "pending"]


async def test_the_customer_types_an_open_amount(shop: Shop) -> None:
    address, forms = made(shop), Forms(**elsewhere())
    assert ask(forms, address, "").status_code == 422
    asked = ask(forms, address, "12.50")
    assert (asked.status_code, "12.50" in asked.text) == (200, True)
    assert shop.payments() == []  # looking at it leaves nothing behind
    assert confirm(forms, asked.text, address, "12.50").status_code == 303
    assert [row["amount"] for row in shop.payments()] == [1250]
    assert forms.http.get(f"{address}/code").headers["content-type"] == "image/png"


async def test_nothing_is_paid_after_the_end(shop: Shop) -> None:
    end = datetime.now(UTC) + timedelta(minutes=5)
    local = end.astimezone(MALDIVES)
    address, forms = made(shop, amount="50", ends_at=f"{local:%Y-%m-%dT%H:%M}"), Forms()
    page = forms.http.get(address).text
    assert confirm(forms, page, address, "").status_code == 303
    [row] = shop.payments()
    assert row["expires_at"] == end.replace(second=0, microsecond=0)
    # Ended by hand: also for the form that is open already.
    [link] = links(shop)
    path = f"/links/link_{link['id'].hex}"
    assert shop.press(f"{path}/end").status_code == 303
    for answer in (
        forms.http.get(address),
        ask(forms, made(shop), ""),  # another link goes on
        confirm(forms, page, address, ""),
    ):
        assert answer.status_code in (410, 422)
    assert len(shop.payments()) == 1
    assert "End the link" not in shop.manager.get(shop.home + path).text


async def test_the_link_of_a_paused_shop_takes_nothing(shop: Shop) -> None:
    address = made(shop, amount="50")
    await set_active(shop.owner.shop, active=False)
    assert httpx.get(address).status_code == 403


async def test_a_form_that_is_sent_twice_makes_one_link(shop: Shop) -> None:
    assert [make(shop, count="0").status_code for _ in range(2)] == [303, 409]
    assert len(links(shop)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"title": ""},
        {"amount": "five"},
        {"amount": "-1"},
        {"ends_at": "tomorrow"},
        {"ends_at": "2020-01-01T00:00"},
    ],
)
async def test_a_form_that_makes_no_link(shop: Shop, fields: dict[str, str]) -> None:
    assert make(shop, **fields).status_code == 400
    assert links(shop) == []


async def test_links_of_another_shop_do_not_exist(shop: Shop, service: Service) -> None:
    made(shop, amount="50")
    other = await new_shop(service)
    path = f"/links/link_{links(shop)[0]['id'].hex}"
    assert other.manager.get(other.home + path).status_code == 404
    assert other.press(f"{path}/end").status_code == 404
    assert links(shop)[0]["ended_at"] is None
    assert "Swimming" not in other.manager.get(f"{other.home}/links").text


@pytest.mark.parametrize("token", ["none", "A" * 24, "%00", "x" * 5000])
async def test_an_address_that_no_link_has(shop: Shop, token: str) -> None:
    assert httpx.get(f"{shop.service.origin}/link/{token}").status_code in (400, 404, 414)


async def test_a_link_is_made_and_paid_on_a_phone(
    shop: Shop, service: Service, visitors: Visitors
) -> None:
    page = await visitors.page("phone")
    await visitors.log_in(page.context, shop.owner.email)
    await page.goto(f"{service.origin}/dashboard{shop.home}/payments")
    await page.get_by_role("link", name="Reusable links").click()
    await page.get_by_label("What for").fill("Swimming course")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_role("button", name="Make the link").click()
    await expect(page.get_by_text("The link is ready")).to_be_visible()
    assert await serious_violations(page) == []
    address = await page.get_by_label("Address").input_value()
    for language in ("en", "dv"):
        guest = await visitors.page("phone", extra_http_headers=elsewhere())
        await visitors.log_in(guest.context, await new_customer(service))
        await guest.goto(f"{address}?lang={language}")
        await guest.locator("#amount").fill("12.50")
        assert await serious_violations(guest) == []
        await guest.locator("main form .button").click()
        await expect(guest.locator(".amount")).to_contain_text("12.50")
        assert await serious_violations(guest) == []
        await guest.locator("main form .button").click()
        await guest.wait_for_url("**/pay/*")
        await expect(guest.get_by_text("Swimming course")).to_be_visible()
