"""Pictures of the account, of the second factor and of forgotten passwords."""

import asyncio
from datetime import UTC, datetime

import pyotp
from playwright.async_api import Page

from laari.store.postgres.pool import connection_to
from laari.store.reads.people import persons
from tests.logins import password_link
from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.pages.people import Visitors, new_customer
from tests.serving import Service


async def _owner(visitors: Visitors, service: Service, page: Page) -> Owner:
    owner = await asyncio.to_thread(new_owner, service, name="Seagull Café", mode="live")
    await visitors.log_in((await visitors.page("phone")).context, owner.email)
    await visitors.log_in(page.context, owner.email)
    return owner


async def account(visitors: Visitors, service: Service, page: Page) -> None:
    owner = await _owner(visitors, service, page)
    await page.goto(owner.url("/live/account"))


async def set_up(visitors: Visitors, service: Service, page: Page) -> Owner:
    owner = await _owner(visitors, service, page)
    await page.goto(owner.url("/live/account/factor"))
    await page.get_by_role("button", name="Start").click()
    await page.get_by_label("Or type this key").wait_for()
    return owner


async def show_set_up(visitors: Visitors, service: Service, page: Page) -> None:
    await set_up(visitors, service, page)


async def recovery_codes(visitors: Visitors, service: Service, page: Page) -> Owner:
    owner = await set_up(visitors, service, page)
    seed = await page.get_by_label("Or type this key").input_value()
    code = pyotp.TOTP(seed).at(datetime.now(UTC))
    await page.get_by_label("Code of your authenticator app").fill(code)
    await page.get_by_role("button", name="Turn it on").click()
    await page.locator("ol.codes").wait_for()
    return owner


async def show_recovery_codes(visitors: Visitors, service: Service, page: Page) -> None:
    await recovery_codes(visitors, service, page)


async def factor_on(visitors: Visitors, service: Service, page: Page) -> None:
    owner = await recovery_codes(visitors, service, page)
    await page.goto(owner.url("/live/account/factor"))


async def second_step(visitors: Visitors, service: Service, page: Page) -> None:
    owner = await recovery_codes(visitors, service, page)
    await page.get_by_role("button", name="Log out", exact=True).click()
    await page.get_by_label("Email address").fill(owner.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_label("Code of your").wait_for()


async def confirmation(visitors: Visitors, service: Service, page: Page) -> None:
    owner = await recovery_codes(visitors, service, page)
    await page.goto(owner.url("/live/keys/rotate"))


async def forgotten(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/dashboard/forgotten")


async def new_password(visitors: Visitors, service: Service, page: Page) -> None:
    owner = await asyncio.to_thread(new_owner, service, name="Seagull Café")
    async with connection_to(service.dsn) as connection:
        whose = await persons.find(connection, owner.email)
        assert whose is not None
        token = await password_link(connection, whose, datetime.now(UTC), service.master_key)
    await page.goto(f"{service.origin}/dashboard/forgotten/{token}")


async def customer_account(visitors: Visitors, service: Service, page: Page) -> None:
    customer = await new_customer(service)
    await visitors.log_in((await visitors.page("phone")).context, customer)
    await visitors.log_in(page.context, customer)
    await page.goto(f"{service.origin}/app/password")


SHOTS = {
    "account": account,
    "factor-set-up": show_set_up,
    "factor-codes": show_recovery_codes,
    "factor-on": factor_on,
    "factor-login": second_step,
    "factor-confirm": confirmation,
    "forgotten": forgotten,
    "forgotten-new": new_password,
    "wallet-account": customer_account,
}
