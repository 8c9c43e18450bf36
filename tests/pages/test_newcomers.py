"""What newcomers stumbled over on the pages."""

import json

import httpx
import pytest
from playwright.async_api import Page, expect

from laari.edge.pages.dashboard.request import TABS, clock_words
from laari.edge.pages.language import DHIVEHI, ENGLISH
from laari.edge.pages.render import last_moment
from laari.rules.calendar import read_timestamp
from tests.pages.owners import Owner, new_owner
from tests.pages.people import Visitors, serious_violations, sideways_scroll
from tests.serving import Merchant, Service


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service, fee_bps=150)


async def facts(page: Page) -> dict[str, str]:
    found = await page.locator("main dl.facts > div").all()
    return {
        await each.locator("dt").inner_text(): (await each.locator("dd").inner_text()).replace(
            "\N{NO-BREAK SPACE}", " "
        )
        for each in found
    }


async def test_a_refunded_payment_says_what_is_left(visitors: Visitors, owner: Owner) -> None:
    payment = owner.shop.payment(amount=10_000)
    owner.shop.control(f"payments/{payment['id']}/pay")
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}")
    assert (await facts(page))["You receive"] == "MVR 98.50"
    owner.shop.service.laari("payment", "refund", payment["id"])
    await page.reload()
    shown = await facts(page)
    assert "You receive" not in shown
    assert shown["Refunded amount"] == "MVR 100.00"
    assert shown["Your balance effect"] == "\N{MINUS SIGN}MVR 1.50"


def test_a_refund_on_the_command_line_has_the_services_address(
    service: Service, shop: Merchant
) -> None:
    payment = shop.payment()
    shop.control(f"payments/{payment['id']}/pay")
    done = service.laari("payment", "refund", payment["id"], "--json")
    assert json.loads(done.stdout)["payment_url"] == payment["payment_url"]


@pytest.mark.journey
async def test_a_payments_page_follows_what_the_customer_does(
    visitors: Visitors, owner: Owner
) -> None:
    payment = owner.shop.payment()
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}")
    badge = page.locator("main .badge").first
    await expect(badge).to_have_text("pending")
    owner.shop.control(f"payments/{payment['id']}/pay")
    await expect(badge).to_have_text("paid")
    assert await page.locator("body[data-status-url]").count() == 0  # nothing more is to come


async def test_watching_a_page_does_not_keep_the_session_alive(
    visitors: Visitors, owner: Owner, service: Service
) -> None:
    payment = owner.shop.payment()
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}")
    old = "UPDATE sessions SET seen_at = seen_at - interval '10 minutes' RETURNING seen_at"
    before = {row["seen_at"] for row in service.execute(old)}
    cookies = {cookie["name"]: cookie["value"] for cookie in await page.context.cookies()}
    address = owner.url(f"/sandbox/payments/{payment['id']}")
    polled = httpx.get(f"{address}/status", cookies=cookies)
    assert polled.json() == {"status": "pending"}
    seen = {row["seen_at"] for row in service.execute("SELECT seen_at FROM sessions")}
    assert seen == before
    httpx.get(address, cookies=cookies)
    assert {row["seen_at"] for row in service.execute("SELECT seen_at FROM sessions")} != before
    other = new_owner(service).shop.payment()
    stranger = httpx.get(address.replace(payment["id"], other["id"]) + "/status", cookies=cookies)
    assert stranger.json() == {"status": "not_found"}
    assert httpx.get(f"{address}/status").status_code == 303


async def test_the_dashboards_404_speaks_to_the_merchants_people(
    visitors: Visitors, owner: Owner
) -> None:
    visitors.expected_statuses = {404}
    for path in ("/nowhere/at/all", "/sandbox/nothing/here/at-all", "/elsewhere"):
        page = await owner.open(visitors, path)
        await expect(page.get_by_role("heading")).to_have_text("This page does not exist")
        assert "shop" not in (await page.get_by_role("main").inner_text()).lower()
        await page.get_by_role("link", name="Go to the overview").click()
        await page.wait_for_url(owner.url("/sandbox"))


async def test_a_moved_clock_is_told_on_every_page(visitors: Visitors, owner: Owner) -> None:
    page = await owner.open(visitors, "/sandbox/payments", "phone")
    band = page.get_by_role("complementary", name="Mode")
    await expect(band).not_to_contain_text("clock")
    owner.shop.advance(3 * 86_400)
    for path in ("", "/keys", "/webhooks", "/sandbox"):
        await page.goto(owner.url(f"/sandbox{path}"))
        await expect(band).to_contain_text("Its clock is 3 days ahead.")
    assert await serious_violations(page) == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (259_200, "3 days ahead"),
        (3_600, "1 hour ahead"),
        (-90_061, "1 day and 1 hour behind"),
        (59, "59 seconds ahead"),
        (365 * 86_400 * 10, "3,650 days ahead"),
    ],
)
def test_a_clock_in_words(seconds: int, words: str) -> None:
    assert clock_words(seconds) == words


async def test_on_a_phone_nothing_is_out_of_sight(visitors: Visitors, owner: Owner) -> None:
    asked = owner.shop.request(reference="TABLE-7")
    page = await owner.open(visitors, "/sandbox/requests", "phone")
    await expect(page.get_by_text(asked["customer"]["value"]).first).to_be_visible()
    await page.get_by_text("Menu", exact=True).click()
    tabs = page.get_by_role("navigation", name="Dashboard, menu").get_by_role("link")
    assert await tabs.count() == len(TABS) - 1  # the counter is for cashiers
    for tab in await tabs.all():
        box = await tab.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert box["height"] >= 24
    await page.goto(owner.url("/sandbox/keys"))
    await page.get_by_text("Create a client").click()
    assert await sideways_scroll(page) <= 0
    for label in await page.locator("label.check").all():
        tick = await label.locator("input").bounding_box()
        text = await label.locator("span").first.bounding_box()
        assert tick is not None
        assert text is not None
        assert text["x"] >= tick["x"] + tick["width"]  # beside the box, also in a second line
        assert abs(text["y"] - tick["y"]) < 12


def test_until_names_the_last_day() -> None:
    midnight, noon = (read_timestamp(f"2026-12-31T{time}:00+05:00") for time in ("00:00", "12:00"))
    assert midnight is not None
    assert noon is not None
    assert ">30 December 2026<" in last_moment(midnight, ENGLISH)
    assert "31 December 2026, <bdi>12:00" in last_moment(noon, ENGLISH)
    assert ">30 " in last_moment(midnight, DHIVEHI)


async def test_nobody_is_sent_away_from_an_old_receipt(
    visitors: Visitors, service: Service, shop: Merchant
) -> None:
    shop.advance(31 * 86_400)
    other = shop.payment(return_url=f"{service.origin}/healthz")
    shop.control(f"payments/{other['id']}/pay")
    page = await visitors.page()
    await page.goto(other["payment_url"])
    assert await page.locator("a[data-return]").count() == 1
    for move in ({"advance_seconds": 60}, {"reset": True}):  # later, and back before it was paid
        shop.control("clock", move)
        await page.goto(other["payment_url"])
        await expect(page.get_by_role("link", name="Return to")).to_be_visible()
        assert await page.locator("a[data-return]").count() == 0


async def test_event_and_payment_lead_to_each_other(visitors: Visitors, owner: Owner) -> None:
    shop = owner.shop
    payment, request = shop.payment(reference="P-1"), shop.request(reference="R-1")
    authorization = shop.authorization(reference="A-1")
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}")
    for section, made in (
        ("payments", payment),
        ("requests", request),
        ("authorizations", authorization),
    ):
        address = f"{shop.service.origin}/dashboard/{shop.id}/sandbox/{section}/{made['id']}"
        await page.goto(address)
        await page.locator("main a[href*='/webhooks/evt_']").first.click()
        await page.locator("dl.facts a").click()
        await page.wait_for_url(address)
