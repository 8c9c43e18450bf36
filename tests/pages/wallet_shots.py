"""The pictures of the wallet application, for tests/pages/screenshots.py."""

import asyncio
from collections.abc import Awaitable, Callable

from playwright.async_api import Page

from tests.pages.people import Visitors, new_customer
from tests.pages.wallets import busy_wallet
from tests.serving import Service

Shot = Callable[[Visitors, Service, Page], Awaitable[None]]


async def _log_in(visitors: Visitors, service: Service, page: Page) -> None:
    shop = await asyncio.to_thread(service.merchant, mode="live", name="Seagull Café")
    await visitors.log_in(page.context, await busy_wallet(shop))


def _at(path: str) -> Shot:
    async def show(visitors: Visitors, service: Service, page: Page) -> None:
        await _log_in(visitors, service, page)
        await page.goto(f"{service.origin}{path}")

    return show


async def login(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/app/login")


async def request(visitors: Visitors, service: Service, page: Page) -> None:
    await _log_in(visitors, service, page)
    await page.goto(f"{service.origin}/app/requests")
    await page.get_by_role("link", name="Deposit").click()


async def authorization(visitors: Visitors, service: Service, page: Page) -> None:
    await _log_in(visitors, service, page)
    await page.goto(f"{service.origin}/app/authorizations")
    await page.get_by_role("link", name="Coffee beans").click()


async def keys(visitors: Visitors, service: Service, page: Page) -> None:
    await _log_in(visitors, service, page)
    await page.goto(f"{service.origin}/app/keys")
    await page.get_by_label("Name").fill("Budget spreadsheet")
    await page.get_by_role("button", name="Create a key").click()
    await page.get_by_text("Your new key").wait_for()


async def sandbox(visitors: Visitors, service: Service, page: Page) -> None:
    await visitors.log_in(page.context, await new_customer(service, mode="sandbox"))
    await page.goto(f"{service.origin}/app")


async def must_change(visitors: Visitors, service: Service, page: Page) -> None:
    customer = await new_customer(service, must_change=True)
    await visitors.log_in(page.context, customer)
    await page.goto(f"{service.origin}/app")


SHOTS: dict[str, Shot] = {
    "wallet-login": login,
    "wallet": _at("/app"),
    "wallet-transactions": _at("/app/transactions"),
    "wallet-requests": _at("/app/requests"),
    "wallet-request": request,
    "wallet-authorizations": _at("/app/authorizations"),
    "wallet-authorization": authorization,
    "wallet-keys": keys,
    "wallet-password": _at("/app/password"),
    "wallet-must-change": must_change,
    "wallet-sandbox": sandbox,
}
