"""The reference at /docs: it shows every operation, asks nobody else, and can be tried out."""

import json
import re
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from laari.edge.merchant.app import OPERATIONS
from laari.rules.events import EVENTS
from tests.pages.people import violations
from tests.serving import Merchant, Service

SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


class Reference:
    """The open page, and everything it complained about or asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.on("requestfailed", lambda request: self.complaints.append(request.url))

    def _heard(self, message) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    async def open(self, origin: str) -> None:
        await self.page.goto(f"{origin}/docs")
        await expect(self.operation("create_payment")).to_be_visible()

    def operation(self, name: str) -> Locator:
        return self.page.locator(f'[id$="-{name}"].opblock')

    async def authorize(self, secret_key: str) -> None:
        await self.page.locator(".auth-wrapper .authorize").click()
        key = self.page.locator(".auth-container form", has_text="ApiKey (apiKey)")
        await key.get_by_role("textbox").fill(secret_key)
        await key.get_by_role("button", name="Authorize").click()
        await key.get_by_role("button", name="Close").click()

    async def unfold(self, name: str) -> Locator:
        operation = self.operation(name)
        await operation.locator(".opblock-summary-control").click()
        return operation

    async def execute(self, operation: Locator, status: int) -> Locator:
        """Presses an operation's button; what was answered, which has to have this status."""
        await operation.locator("button.execute").click()
        answer = operation.locator("table.live-responses-table > tbody")
        await expect(answer.locator(".response-col_status")).to_contain_text(str(status))
        return answer


async def test_shows_everything_and_asks_no_other_host(service: Service, browser: Browser) -> None:
    reference = Reference(await browser.new_page(viewport=SIZES["desktop"]))
    await reference.open(service.origin)
    for operation in OPERATIONS:
        await expect(reference.operation(operation.name)).to_contain_text(operation.summary)
    for name, event in EVENTS.items():
        shown = reference.page.locator(".webhooks .opblock", has_text=name)
        await expect(shown).to_contain_text(event.meaning)
    await reference.unfold("create_payment")
    await expect(reference.page.get_by_text("Authorize").first).to_be_visible()
    for size in SIZES.values():
        await reference.page.set_viewport_size(size)
        await expect(reference.operation("create_payment")).to_be_visible()
        width = await reference.page.evaluate("document.documentElement.scrollWidth")
        assert width <= size["width"], "the page scrolls sideways"
    assert reference.complaints == []
    assert reference.hosts == {urlsplit(service.origin).netloc}


async def test_an_operation_is_refused_without_a_key_and_done_with_one(
    service: Service, shop: Merchant, browser: Browser
) -> None:
    # Another name than the public address, which is what the document gives as the server.
    origin = service.origin.replace("127.0.0.1", "localhost")
    reference = Reference(await browser.new_page(viewport=SIZES["desktop"]))
    await reference.open(origin)
    create = await reference.unfold("create_payment")
    answer = await reference.execute(create, 401)
    await expect(answer).to_contain_text('"code": "unauthorized"')
    # Chromium counts the 401 among them; anything else stays.
    reference.complaints = [said for said in reference.complaints if "status of 401" not in said]

    await reference.authorize(shop.secret_key)
    answer = await reference.execute(create, 201)
    payment = json.loads(await answer.locator(".highlight-code code").first.inner_text())["data"]
    assert shop.get(f"/payments/{payment['id']}").json() == {"data": payment}

    image = await reference.unfold("get_qr")
    await image.get_by_placeholder("id").fill(payment["qr_url"].rsplit("/", 1)[1])
    answer = await reference.execute(image, 200)
    drawn = await answer.locator("img").evaluate(
        "async image => { await image.decode(); return image.naturalWidth }"
    )
    assert drawn > 100

    assert reference.complaints == []
    assert reference.hosts <= {urlsplit(origin).netloc, ""}  # "" is the image drawn from memory


@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        ("light", "phone"),
        pytest.param("dark", "desktop", marks=pytest.mark.campaign),
        pytest.param("light", "desktop", marks=pytest.mark.campaign),
        pytest.param("dark", "phone", marks=pytest.mark.campaign),
    ],
)
async def test_nobody_is_kept_from_using_it(
    service: Service, browser: Browser, scheme: Literal["light", "dark"], size: str
) -> None:
    context = await browser.new_context(viewport=SIZES[size], color_scheme=scheme)
    reference = Reference(await context.new_page())
    await reference.open(service.origin)
    page = reference.page
    background = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = max(map(int, re.findall(r"[0-9]+", background)))
    assert brightness > 200 if scheme == "light" else brightness < 60
    create = await reference.unfold("create_payment")
    await reference.execute(create, 401)
    await reference.unfold("list_payments")
    await page.locator(".webhooks .opblock-summary-control").first.click()
    assert await violations(page) == []
    await page.locator(".auth-wrapper .authorize").first.click()
    await expect(page.locator(".dialog-ux")).to_be_visible()
    assert await violations(page, within=".dialog-ux") == []
    await context.close()


async def test_authorize_opens_at_the_merchants_key(service: Service, browser: Browser) -> None:
    reference = Reference(await browser.new_page(viewport=SIZES["phone"]))
    await reference.open(service.origin)
    page = reference.page
    key = page.locator(".auth-container form", has_text="ApiKey (apiKey)").get_by_role("textbox")
    for _ in range(2):  # the second time too
        await page.locator(".auth-wrapper .authorize").first.click()
        await expect(key).to_be_focused()
        await expect(key).to_be_in_viewport()
        await page.locator(".close-modal").click()
    assert reference.complaints == []
