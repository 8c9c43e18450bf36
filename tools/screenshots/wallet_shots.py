"""The pictures of the wallet application, for tools/screenshots/take.py."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable

from playwright.async_api import Page

from tests.pages.people import Visitors, new_customer
from tests.pages.wallets import busy_wallet, speak_dhivehi
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


def _dhivehi(path: str) -> Shot:
    async def show(visitors: Visitors, service: Service, page: Page) -> None:
        shop = await asyncio.to_thread(service.merchant, mode="live", name="Seagull Café")
        customer = await busy_wallet(shop)
        await speak_dhivehi(service, customer)
        await visitors.log_in(page.context, customer)
        await page.goto(f"{service.origin}{path}")

    return show


async def login(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/app/login")


async def login_dhivehi(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/app/login?lang=dv")


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


async def signup(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/app/signup")
    await page.locator("#name").fill("Aishath Ibrahim")
    await page.locator("#mobile").fill(f"9{secrets.randbelow(10**6):06}")
    await page.locator("#new").fill("short")


async def signup_dhivehi(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/app/signup?lang=dv")


async def signup_wrong(visitors: Visitors, service: Service, page: Page) -> None:
    await signup(visitors, service, page)
    await page.locator("#new").fill("password123")
    await page.locator("button.button").click()


async def signup_code(visitors: Visitors, service: Service, page: Page) -> None:
    await signup(visitors, service, page)
    await page.locator("#new").fill("two flat whites and a cake")
    await page.locator("button.button").click()


async def withdraw(visitors: Visitors, service: Service, page: Page) -> None:
    """With one withdrawal on its way, and another that is refused."""
    customer = await new_customer(service)
    await visitors.log_in(page.context, customer)
    await page.goto(f"{service.origin}/app/withdraw")
    await page.locator("#bank").select_option("BML")
    await page.locator("#number").fill("7730000012345")
    await page.locator("#bank-password").fill(customer.password)
    await page.get_by_role("button", name="Save").click()
    await page.locator("#amount").fill("120.50")
    await page.get_by_role("button", name="Withdraw", exact=True).click()
    await page.get_by_role("status").wait_for()


async def withdraw_wrong(visitors: Visitors, service: Service, page: Page) -> None:
    await withdraw(visitors, service, page)
    await page.locator("#amount").fill("9,999.00")
    await page.get_by_role("button", name="Withdraw", exact=True).click()


async def paid_request(visitors: Visitors, service: Service, page: Page) -> None:
    """With its receipt."""
    await _log_in(visitors, service, page)
    await page.goto(f"{service.origin}/app/transactions")
    await page.goto(f"{service.origin}/app/requests")
    await page.get_by_role("link", name="Lunch for four").click()


def _receipt(*, dhivehi: bool = False) -> Shot:
    """Of a payment, with the form for "This was not me" open."""

    async def show(visitors: Visitors, service: Service, page: Page) -> None:
        await (_dhivehi if dhivehi else _at)("/app/transactions")(visitors, service, page)
        await page.get_by_role("listitem").filter(has_text="Lunch").get_by_role("link").click()
        await page.locator("summary", has_text="…").last.click()

    return show


async def failed(visitors: Visitors, service: Service, page: Page) -> None:
    await _at("/app/transactions")(visitors, service, page)
    await page.get_by_role("listitem").filter(has_text="whole").get_by_role("link").click()


def _account(*, dhivehi: bool = False) -> Shot:
    """With the form for another mobile number open."""

    async def show(visitors: Visitors, service: Service, page: Page) -> None:
        await (_dhivehi if dhivehi else _at)("/app/password")(visitors, service, page)
        await page.locator("section[aria-labelledby=mobile] summary").click()

    return show


async def empty(visitors: Visitors, service: Service, page: Page) -> None:
    await visitors.log_in(page.context, await new_customer(service, balance=0))
    await page.goto(f"{service.origin}/app")


async def forgotten(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/app/forgotten")


SHOTS: dict[str, Shot] = {
    "wallet-login": login,
    "wallet": _at("/app"),
    "wallet-dhivehi": _dhivehi("/app"),
    "wallet-transactions": _at("/app/transactions"),
    "wallet-transactions-dhivehi": _dhivehi("/app/transactions"),
    "wallet-requests-dhivehi": _dhivehi("/app/requests"),
    "wallet-authorizations-dhivehi": _dhivehi("/app/authorizations"),
    "wallet-withdraw-dhivehi": _dhivehi("/app/withdraw"),
    "wallet-password-dhivehi": _account(dhivehi=True),
    "wallet-keys-dhivehi": _dhivehi("/app/keys"),
    "wallet-login-dhivehi": login_dhivehi,
    "wallet-requests": _at("/app/requests"),
    "wallet-request": request,
    "wallet-authorizations": _at("/app/authorizations"),
    "wallet-authorization": authorization,
    "wallet-keys": keys,
    "wallet-password": _account(),
    "wallet-signup": signup,
    "wallet-signup-dhivehi": signup_dhivehi,
    "wallet-signup-wrong": signup_wrong,
    "wallet-signup-code": signup_code,
    "wallet-withdraw-new": _at("/app/withdraw"),
    "wallet-withdraw": withdraw,
    "wallet-withdraw-wrong": withdraw_wrong,
    "wallet-paid-request": paid_request,
    "wallet-receipt": _receipt(),
    "wallet-receipt-dhivehi": _receipt(dhivehi=True),
    "wallet-receipt-failed": failed,
    "wallet-statement": _at("/app/statement"),
    "wallet-statement-dhivehi": _dhivehi("/app/statement"),
    "wallet-empty": empty,
    "wallet-forgotten": forgotten,
    "wallet-must-change": must_change,
    "wallet-sandbox": sandbox,
}
