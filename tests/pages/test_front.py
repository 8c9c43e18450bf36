"""The first page of the service, and tabs and amounts on a phone."""

import httpx
import pytest
from playwright.async_api import Page, expect

from laari.rules.banking.merchant_money import MoveFunds
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests.actors import OPERATOR
from tests.pages.finance import take
from tests.pages.operators import open_desk
from tests.pages.owners import new_owner
from tests.pages.people import Visitors, new_customer, serious_violations, sideways_scroll
from tests.pages.test_permissions import logged_in
from tests.pages.wallets import open_app, submit
from tests.serving import Service

LARGEST = 9_999_999_999


@pytest.mark.parametrize(("language", "words"), [("en", "Developers"), ("dv", "ޑިވެލޮޕަރުން")])
def test_the_address_of_the_service_has_three_doors(
    service: Service, language: str, words: str
) -> None:
    page = httpx.get(f"{service.origin}/?lang={language}")
    assert page.status_code == 200
    assert words in page.text
    for door in ("/app", "/dashboard", "/docs"):
        assert f'class="button inline" href="{door}"' in page.text
        assert httpx.get(service.origin + door).status_code in (200, 303)
    assert "signup" not in page.text  # it is off here
    assert len(page.content) < 8_000


@pytest.mark.parametrize("size", ["phone", "desktop"])
async def test_the_doors_are_accessible(visitors: Visitors, service: Service, size: str) -> None:
    page = await visitors.page(size)
    for language in ("en", "dv"):
        await page.goto(f"{service.origin}/?lang={language}")
        assert await serious_violations(page) == []


async def test_an_address_with_only_the_merchant_leads_to_its_home(service: Service) -> None:
    owner, other = new_owner(service, mode="live"), new_owner(service)
    client = await logged_in(service, owner.email)
    answer = client.get(f"/{owner.shop.id}")
    home = f"/dashboard/{owner.shop.id}/live"
    assert (answer.status_code, answer.headers["location"]) == (303, home)
    for nobodys in (other.shop.id, "nothing"):
        assert client.get(f"/{nobodys}").status_code == 404
    stranger = httpx.get(f"{service.origin}/dashboard/{owner.shop.id}")
    assert stranger.headers["location"].startswith("/dashboard/login?next=")


async def test_the_tabs_of_a_phone_are_one_row_with_a_menu(
    visitors: Visitors, service: Service
) -> None:
    page = await new_owner(service).open(visitors, "/sandbox/journal", "phone")
    bar = page.locator(".tabbar")
    box = await bar.bounding_box()
    assert box is not None
    assert box["height"] < 50
    await page.get_by_text("Menu", exact=True).click()
    menu = page.get_by_role("navigation", name="Dashboard, menu")
    await expect(menu.get_by_role("link", name="Journal")).to_have_attribute("aria-current", "page")
    assert await serious_violations(page) == []
    await menu.get_by_role("link", name="Webhooks").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Webhooks")
    types = page.get_by_label("Type").locator("option")
    assert "payment_request.paid" in await types.all_text_contents()


async def too_wide(page: Page) -> list[str]:
    """The page if it scrolls sideways, and its amounts that leave their card."""
    found: list[str] = await page.evaluate(
        "() => [...document.querySelectorAll('.money')].filter((amount) => {"
        "const card = amount.closest('.card') ?? document.body;"
        "const inside = card.getBoundingClientRect().right"
        " - parseFloat(getComputedStyle(card).paddingRight);"
        "return amount.checkVisibility() && amount.getBoundingClientRect().right > inside + 0.5;"
        "}).map((amount) => `${location.pathname}: ${amount.textContent}`)"
    )
    return found if await sideways_scroll(page) <= 0 else [page.url, *found]


async def test_the_largest_amount_fits_a_phone(visitors: Visitors, service: Service) -> None:
    owner = new_owner(service, mode="live")
    async with connection_to(service.dsn) as connection:
        tenant = await tenants.of_merchant(connection, owner.shop.id, "live")
    await take(service, tenant, LARGEST)
    payment = owner.shop.payment(amount=LARGEST)
    customer = await new_customer(service, balance=LARGEST, tier="business")
    shop = await owner.open(visitors, "/live", "phone")
    wallet = await open_app(visitors, customer)
    faults = await too_wide(shop) + await too_wide(wallet)
    await wallet.locator(".lines a").first.click()
    faults += await too_wide(wallet)
    for rest in ("transactions", "withdraw", "statement"):
        await wallet.goto(f"{service.origin}/app/{rest}")
        faults += await too_wide(wallet)
    await wallet.goto(payment["payment_url"])
    faults += await too_wide(wallet)
    home = f"/live/payments/{payment['id']}"
    for rest in (home, "/live/payments", "/live/money", "/live/money/statement", "/live/tills"):
        await shop.goto(owner.url(rest))
        faults += await too_wide(shop)
    desk = await open_desk(visitors, service, "admin", f"/customers/cus_{customer.id.hex}", "phone")
    faults += await too_wide(desk)
    for rest in (f"/merchants/{owner.shop.id}", f"/payments/{payment['id']}", "/money"):
        await desk.goto(f"{service.origin}/operator{rest}")
        faults += await too_wide(desk)
    assert faults == []


async def test_the_money_page_shows_why_money_is_held(service: Service) -> None:
    owner = new_owner(service, mode="live")
    async with connection_to(service.dsn) as connection:
        tenant = await tenants.of_merchant(connection, owner.shop.id, "live")
    await take(service, tenant, 10_000)
    reason = "Disputed <b>delivery</b>"
    await submit(service, MoveFunds(tenant.id, OPERATOR, "hold", 5_000, reason))
    client = await logged_in(service, owner.email)
    page = client.get(f"/{owner.shop.id}/live/money").text
    assert page.count("Disputed &lt;b&gt;delivery&lt;/b&gt;") == 2  # the tile and the movement
    file = client.get(f"/{owner.shop.id}/live/money/export.csv").text
    assert "Disputed <b>delivery</b>" in file
