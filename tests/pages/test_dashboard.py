"""The dashboard in a real browser: entering it, its two modes, and what every page must be."""

import asyncio

import httpx
import pytest
from playwright.async_api import expect

from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.pages.people import Visitors, both_sizes, serious_violations
from tests.serving import Service


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service, name="Seagull Café", fee_bps=150)


@pytest.mark.journey
@both_sizes
async def test_a_merchants_person_logs_in_and_out(
    visitors: Visitors, service: Service, owner: Owner, size: str
) -> None:
    page = await visitors.page(size)
    await page.goto(f"{service.origin}/dashboard/sandbox/payments")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Log in to the dashboard")
    assert await serious_violations(page) == []
    await page.get_by_label("Email address").fill(owner.email.upper())
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page).to_have_url(owner.url("/sandbox/payments"))
    await expect(page.get_by_role("heading", level=1)).to_have_text("Payments")
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Log in to the dashboard")
    await page.goto(f"{service.origin}/dashboard")
    await expect(page.get_by_label("Password")).to_be_visible()


async def test_a_wrong_password_is_told_and_a_foreign_address_not_followed(
    visitors: Visitors, service: Service, owner: Owner
) -> None:
    visitors.expected_statuses = {422}
    page = await visitors.page()
    await page.goto(f"{service.origin}/dashboard/login?next=https://evil.example/")
    await page.get_by_label("Email address").fill(owner.email)
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("alert")).to_contain_text("do not match a login")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page).to_have_url(owner.url("/sandbox"))


async def test_modes_are_apart_and_visible(visitors: Visitors, owner: Owner) -> None:
    owner.shop.payment(reference="in the sandbox")
    page = await owner.open(visitors, "/sandbox/payments")
    await expect(page.locator(".band")).to_contain_text("Sandbox")
    await expect(page.get_by_text("in the sandbox")).to_be_visible()
    await page.get_by_role("navigation", name="Mode").get_by_role("link", name="Live").click()
    await expect(page.locator(".band")).to_contain_text("Live")
    await expect(page.locator(".band")).to_contain_text("Your credentials act in sandbox mode")
    await expect(page.get_by_text("No payments here.")).to_be_visible()
    assert page.url == owner.url("/live/payments")


async def test_the_overview_counts_the_days(visitors: Visitors, owner: Owner) -> None:
    paid = owner.shop.payment(amount=125_050, title="A cake")
    owner.shop.payment(amount=9_900)
    owner.shop.control(f"payments/{paid['id']}/pay")
    page = await owner.open(visitors, "")
    await expect(page).to_have_url(owner.url("/sandbox"))
    tiles = page.locator(".tiles .card")
    await expect(tiles.nth(0)).to_contain_text("1,250.50")
    await expect(tiles.nth(0)).to_contain_text("1 paid")
    await expect(page.get_by_role("img", name="Gross by day")).to_be_visible()
    assert await page.locator("rect.series-1").count() == 2
    assert await page.locator("rect.series-2").count() == 0
    assert "1,250.50" in (await page.locator("rect.series-1 title").first.text_content() or "")
    await page.get_by_text("The same as a table").click()
    rows = page.locator("details table tbody tr")
    await expect(rows).to_have_count(2)  # today, and all days before on which nothing moved
    await expect(rows.nth(1)).to_contain_text("Nothing moved")
    await expect(page.locator("details table tfoot")).to_contain_text("1,250.50")
    await rows.first.get_by_role("link").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Movements")
    await expect(page.get_by_text("A cake")).to_be_visible()


async def test_the_overview_shows_refunds_fees_and_net_apart(
    visitors: Visitors, service: Service
) -> None:
    owner = new_owner(service, fee_bps=100)
    shop = owner.shop
    kept, returned = shop.payment(amount=100_000), shop.payment(amount=50_000)
    for payment in (kept, returned):
        shop.control(f"payments/{payment['id']}/pay")
    await asyncio.to_thread(service.laari, "payment", "refund", returned["id"])
    page = await owner.open(visitors, "/sandbox")
    today = page.locator(".tiles .card").nth(0)
    await expect(today.locator("dt")).to_have_text("Today, net")
    await expect(today.locator(".figure")).to_contain_text("985.00")
    await expect(today).to_contain_text("2 paid, 1 refund")
    for part in ("Gross", "1,500.00", "refunds", "500.00", "fees", "15.00"):
        await expect(today).to_contain_text(part)
    await expect(
        page.get_by_text("Your fee for each payment: 1\N{NO-BREAK SPACE}%.")
    ).to_be_visible()


@pytest.fixture
def session(service: Service, owner: Owner) -> httpx.Client:
    """A logged-in client that sends no form token of its own."""
    client = httpx.Client(base_url=f"{service.origin}/dashboard", follow_redirects=False)
    page = client.get("/login").text
    token = page.split('name="form_token" value="')[1].split('"')[0]
    form = {"form_token": token, "identity": owner.email, "password": PASSWORD}
    answer = client.post("/login", data=form, headers={"Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 303
    client.base_url = f"{service.origin}/dashboard/{owner.shop.id}"
    return client


def test_a_form_without_its_token_or_from_another_site_does_nothing(
    session: httpx.Client, owner: Owner
) -> None:
    payment = owner.shop.payment()
    token = session.get("/sandbox/keys").text.split('name="form_token" value="')[1].split('"')[0]
    path = f"/sandbox/payments/{payment['id']}/cancel"
    for form, site in (({"form_token": "x"}, "same-origin"), ({"form_token": token}, "cross-site")):
        answer = session.post(path, data=form, headers={"Sec-Fetch-Site": site})
        assert answer.status_code == 403
    assert owner.shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "pending"
    headers = {"Sec-Fetch-Site": "same-origin"}
    assert session.post(path, data={"form_token": token}, headers=headers).status_code == 303
    assert owner.shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "cancelled"


def test_a_get_changes_nothing(session: httpx.Client, owner: Owner) -> None:
    payment = owner.shop.payment()
    secret = owner.shop.secret_key
    for path in (
        f"/sandbox/payments/{payment['id']}/cancel",
        f"/sandbox/payments/{payment['id']}/sandbox/pay",
        "/sandbox/keys/rotate",
        "/sandbox/keys/end-old",
        "/sandbox/keys/clients",
        "/sandbox/sandbox/clock?reset=yes",
        f"{owner.shop.service.origin}/dashboard/logout",
    ):
        assert session.get(path).status_code in (200, 303)
    assert owner.shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "pending"
    assert owner.shop.secret_key == secret
    assert session.get("/sandbox").status_code == 200


def test_nothing_of_another_merchant_or_mode_is_shown(
    session: httpx.Client, service: Service, owner: Owner
) -> None:
    other = new_owner(service)
    payment = other.shop.payment()
    request = other.shop.request()
    authorization = other.shop.authorization()
    client, _ = other.shop.client()
    event = other.shop.get("/events").json()["data"][0]
    own = owner.shop.payment()
    for path in (
        f"/sandbox/payments/{payment['id']}",
        f"/sandbox/payments/{payment['id']}/refund",
        f"/sandbox/requests/{request['id']}",
        f"/sandbox/authorizations/{authorization['id']}",
        f"/sandbox/keys/clients/{client}",
        f"/sandbox/webhooks/{event['id']}",
        f"/live/payments/{own['id']}",
        "/live/sandbox",
        "/other",
        "/sandbox/payments/nonsense",
    ):
        assert (path, session.get(path).status_code) == (path, 404)
    token = session.get("/sandbox/keys").text.split('name="form_token" value="')[1].split('"')[0]
    for path in (
        f"/sandbox/payments/{payment['id']}/refund",
        f"/sandbox/payments/{payment['id']}/cancel",
        f"/sandbox/payments/{payment['id']}/sandbox/pay",
        f"/sandbox/authorizations/{authorization['id']}/sandbox/approve",
        f"/sandbox/keys/clients/{client}",
        f"/sandbox/webhooks/{event['id']}/resend",
        f"/live/payments/{own['id']}/sandbox/pay",
        "/live/sandbox/clock",
    ):
        answer = session.post(
            path, data={"form_token": token}, headers={"Sec-Fetch-Site": "same-origin"}
        )
        assert (path, answer.status_code) == (path, 404)
    assert other.shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "pending"


def test_an_inactive_merchant_looks_and_changes_nothing(
    session: httpx.Client, service: Service, owner: Owner
) -> None:
    service.execute("UPDATE merchants SET active = false WHERE id = $1", owner.shop.id)
    page = session.get("/sandbox")
    assert page.status_code == 200
    token = page.text.split('name="form_token" value="')[1].split('"')[0]
    answer = session.post(
        "/sandbox/webhooks", data={"form_token": token}, headers={"Sec-Fetch-Site": "same-origin"}
    )
    assert answer.status_code == 403
    assert "not active" in answer.text
    assert session.get("/sandbox/payments").status_code == 200
    for path in ("/sandbox/payments/export.csv", "/sandbox/sandbox"):  # a file, and a key
        answer = session.get(path)
        assert (answer.status_code, "not active" in answer.text) == (403, True)
        assert "csv" not in answer.headers["content-type"]
    assert session.get("/sandbox/account").status_code == 200  # about oneself
    out = session.post(
        "/sandbox/account/logout-everywhere",
        data={"form_token": token},
        headers={"Sec-Fetch-Site": "same-origin"},
    )
    assert out.headers["location"] == "/dashboard/login"
