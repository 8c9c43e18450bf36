"""Pictures of tills, the counter and the static code."""

import asyncio
import re

from playwright.async_api import Page

from tests.pages.owners import Owner, new_owner
from tests.pages.people import Visitors, new_customer
from tests.pages.wallets import pay
from tests.serving import Service

TILL = "Terrace"


async def _till(visitors: Visitors, service: Service, page: Page) -> Owner:
    """The page of a new till with a pairing code, opened by the owner."""
    owner = await asyncio.to_thread(new_owner, service, name="Seagull Café", mode="live")
    await visitors.log_in(page.context, owner.email)
    await page.goto(owner.url("/live/tills"))
    await page.get_by_label("Name of a new till").fill(TILL)
    await page.get_by_role("button", name="Add the till").click()
    await page.get_by_role("button", name="Pair a device").click()
    return owner


async def till(visitors: Visitors, service: Service, page: Page) -> None:
    await _till(visitors, service, page)


async def tills(visitors: Visitors, service: Service, page: Page) -> None:
    owner = await _till(visitors, service, page)
    await page.goto(owner.url("/live/tills"))


async def stand(visitors: Visitors, service: Service, page: Page) -> None:
    await _till(visitors, service, page)
    await (
        page.get_by_role("link", name=f"Till {TILL}")
        .or_(page.get_by_role("link", name="Show the code"))
        .last.click()
    )
    await page.wait_for_url("**/stand")


async def _paired(visitors: Visitors, service: Service, page: Page, language: str) -> Owner:
    owner = await _till(visitors, service, page)
    code = await page.get_by_label("Pairing code").inner_text()
    customer = await new_customer(service, name="Fathimath Didi")
    for amount in (8_500, 4_550, 12_000):
        payment = await asyncio.to_thread(
            owner.shop.payment, terminal_label=TILL, amount=amount, reference=f"S-{amount}"
        )
        await pay(owner.shop, customer, payment)
    await page.goto(f"{service.origin}/counter/pair?code={code}&lang={language}")
    await page.locator("main .button").click()
    await page.wait_for_url("**/counter")
    return owner


async def _sell(page: Page) -> None:
    await page.locator("#amount").fill("45.50")
    await page.locator("main form .button").click()
    await page.wait_for_url(re.compile("/counter/sales/"))


async def pairing(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/counter")


async def counter(visitors: Visitors, service: Service, page: Page) -> None:
    await _paired(visitors, service, page, "en")


async def counter_dhivehi(visitors: Visitors, service: Service, page: Page) -> None:
    await _paired(visitors, service, page, "dv")


async def sale(visitors: Visitors, service: Service, page: Page) -> None:
    await _paired(visitors, service, page, "en")
    await _sell(page)


async def _paid(visitors: Visitors, service: Service, page: Page, language: str) -> None:
    owner = await _paired(visitors, service, page, language)
    await _sell(page)
    customer = await new_customer(service, name="Fathimath Didi")
    await pay(owner.shop, customer, {"id": page.url.rpartition("/")[2]})
    await page.wait_for_selector("[data-sale=paid]")


async def paid(visitors: Visitors, service: Service, page: Page) -> None:
    await _paid(visitors, service, page, "en")


async def paid_dhivehi(visitors: Visitors, service: Service, page: Page) -> None:
    await _paid(visitors, service, page, "dv")


async def static_code(visitors: Visitors, service: Service, page: Page) -> None:
    await stand(visitors, service, page)
    await page.goto(await page.locator("main .mono").inner_text())


async def static_code_confirm(visitors: Visitors, service: Service, page: Page) -> None:
    await stand(visitors, service, page)
    await page.goto(await page.locator("main .mono").inner_text() + "?lang=dv")
    await page.locator("#amount").fill("45.50")
    await page.locator("main .button").click()


SHOTS = {
    "till": till,
    "tills": tills,
    "till-stand": stand,
    "counter-pairing": pairing,
    "counter": counter,
    "counter-dhivehi": counter_dhivehi,
    "counter-sale": sale,
    "counter-paid": paid,
    "counter-paid-dhivehi": paid_dhivehi,
    "static-code": static_code,
    "static-code-confirm": static_code_confirm,
}
