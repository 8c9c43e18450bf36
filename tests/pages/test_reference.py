"""The reference at /docs: it shows every operation, asks nobody else, and can be tried out."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from laari.edge.merchant.app import OPERATIONS
from laari.rules.shapes import EVENTS
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
        await key.get_by_role("button", name="Apply credentials").click()
        await key.get_by_role("button", name="Close").click()

    async def execute(self, name: str, **fields: str) -> tuple[int, Locator]:
        """Opens an operation, fills its fields in and presses its button."""
        operation = self.operation(name)
        await operation.locator(".opblock-summary-control").click()
        for placeholder, value in fields.items():
            await operation.get_by_placeholder(placeholder).fill(value)
        await operation.get_by_role("button", name="Execute").click()
        answer = operation.locator("table.live-responses-table > tbody")
        status = await answer.locator(".response-col_status").inner_text()
        return int(status.split()[0]), answer


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
async def test_shows_everything_and_asks_no_other_host(
    service: Service, browser: Browser, size
) -> None:
    reference = Reference(await browser.new_page(viewport=size))
    await reference.open(service.origin)
    for operation in OPERATIONS:
        await expect(reference.operation(operation.name)).to_contain_text(operation.summary)
    for name, event in EVENTS.items():
        shown = reference.page.locator(".webhooks .opblock", has_text=name)
        await expect(shown).to_contain_text(event.meaning)
    await reference.operation("create_payment").locator(".opblock-summary-control").click()
    await expect(reference.page.get_by_text("Authorize").first).to_be_visible()
    width = await reference.page.evaluate("document.documentElement.scrollWidth")
    assert width <= size["width"], "the page scrolls sideways"
    assert reference.complaints == []
    assert reference.hosts == {urlsplit(service.origin).netloc}


async def test_an_operation_can_be_tried(
    service: Service, shop: Merchant, browser: Browser
) -> None:
    # Another name than the public address, which is what the document gives as the server.
    origin = service.origin.replace("127.0.0.1", "localhost")
    reference = Reference(await browser.new_page(viewport=SIZES["desktop"]))
    await reference.open(origin)
    await reference.authorize(shop.secret_key)

    status, answer = await reference.execute("create_payment")
    assert status == 201
    payment = json.loads(await answer.locator(".highlight-code code").first.inner_text())["data"]
    assert shop.get(f"/payments/{payment['id']}").json() == {"data": payment}

    status, answer = await reference.execute("get_qr", id=payment["qr_url"].rsplit("/", 1)[1])
    assert status == 200
    drawn = await answer.locator("img").evaluate(
        "async image => { await image.decode(); return image.naturalWidth }"
    )
    assert drawn > 100

    assert reference.complaints == []
    assert reference.hosts <= {urlsplit(origin).netloc, ""}  # "" is the image drawn from memory


async def test_without_a_key_the_refusal_is_shown(service: Service, browser: Browser) -> None:
    reference = Reference(await browser.new_page(viewport=SIZES["desktop"]))
    await reference.open(service.origin)
    status, answer = await reference.execute("create_payment")
    assert status == 401
    await expect(answer).to_contain_text('"code": "unauthorized"')
