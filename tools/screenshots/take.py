"""Takes the pictures of the pages: both widths, light and dark.

Run by `make screenshots`. A picture that the documentation shows is replaced in docs/img/pages, the
others go to build/screenshots. A page is a function that brings a browser to it; add it to `SHOTS`.
"""

import asyncio
import io
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from PIL import Image
from playwright.async_api import Page, async_playwright
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from laari.engine.embedded import embedded_server
from laari.store.postgres.migrate import migrate
from tests.pages.conftest import CHROMIUM, OPTIONS
from tests.pages.people import SIZES, Visitors, new_customer
from tests.pages.wallets import set_active
from tests.serving import Merchant, Service, serving
from tools.screenshots import (
    counter_shots,
    dashboard_shots,
    factor_shots,
    operator_shots,
    people_shots,
    wallet_shots,
)

ROOT = Path(__file__).parents[2]
SHOWN = ROOT / "docs/img/pages"
OTHERS = ROOT / "build/screenshots"
IDLE_MS = 5_000
COLOURS = 96  # of a picture in the documentation: pages have few, and the files stay small

# As the pages are used: large movements need a second person, and customers sign up.
SETTINGS = {
    "LAARI_CUSTOMER_SIGNUP": "on",
    "LAARI_PAYOUT_APPROVAL_ABOVE": "1000000",
    "LAARI_SECOND_OPERATOR_ABOVE": "100000",
    "LAARI_SMS_COMMAND": "false",  # so messages to phones wait
    "LAARI_SUPPORT_CONTACT": "support@laari.example or 330 1234",
    "LAARI_TOPUP_ACCOUNT": "7730000012345",
    "LAARI_TOPUP_BANK": "Bank of Maldives",
    "LAARI_TOPUP_HOLDER": "Laari Wallet Pvt Ltd",
    "LAARI_WITHDRAWAL_MINIMUM": "1000",
}
PRINTED = {"till-stand", "dashboard-statement", "dashboard-till-closing", "checkout-paid"}

Shot = Callable[[Visitors, Service, Page], Awaitable[None]]


async def _shop(service: Service, mode: str = "live") -> Merchant:
    return await asyncio.to_thread(service.merchant, mode=mode, name="Seagull Café", fee_bps=150)


ORDER = {
    "reference": "ORDER-2041",
    "title": "Two flat whites and a coconut cake",
    "description": "Table 7, on the terrace. Thank you for visiting us.",
    "bill_number": "B-2041",
    "return_url": "https://seagull.example/orders/2041",
}


async def front(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(service.origin)


async def front_dhivehi(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/?lang=dv")


async def largest(visitors: Visitors, service: Service, page: Page) -> None:
    """The largest amount, and too much for the wallet."""
    payment = (await _shop(service)).payment(**{**ORDER, "amount": 9_999_999_999})
    await visitors.log_in(page.context, await new_customer(service))
    await page.goto(payment["payment_url"])


async def checkout(visitors: Visitors, service: Service, page: Page) -> None:
    payment = (await _shop(service)).payment(**ORDER)
    await page.goto(payment["payment_url"])


async def checkout_dhivehi(visitors: Visitors, service: Service, page: Page) -> None:
    payment = (await _shop(service)).payment(**ORDER)
    await page.goto(payment["payment_url"] + "?lang=dv")


async def checkout_frozen(visitors: Visitors, service: Service, page: Page) -> None:
    payment = (await _shop(service)).payment(**ORDER)
    customer = await new_customer(service)
    await visitors.log_in(page.context, customer)
    freeze = ("customer", "freeze", str(customer.account), "--reason", "Phone reported stolen")
    await asyncio.to_thread(service.laari, *freeze)
    await page.goto(payment["payment_url"])


async def wallet_frozen(visitors: Visitors, service: Service, page: Page) -> None:
    await checkout_frozen(visitors, service, page)
    await page.goto(f"{service.origin}/app")


async def checkout_reasons(visitors: Visitors, service: Service, page: Page) -> None:
    payment = (await _shop(service)).payment(**{**ORDER, "amount": 1_500_000})
    await visitors.log_in(page.context, await new_customer(service, tier="basic"))
    await page.goto(payment["payment_url"])


async def checkout_confirm(visitors: Visitors, service: Service, page: Page) -> None:
    payment = (await _shop(service)).payment(**ORDER)
    await visitors.log_in(page.context, await new_customer(service))
    await page.goto(payment["payment_url"])


async def checkout_refused(visitors: Visitors, service: Service, page: Page) -> None:
    payment = (await _shop(service)).payment(**ORDER)
    await visitors.log_in(page.context, await new_customer(service, balance=2_000))
    await page.goto(payment["payment_url"])


async def checkout_paid(visitors: Visitors, service: Service, page: Page) -> None:
    await checkout_confirm(visitors, service, page)
    await page.get_by_role("button", name="Pay").click()
    await page.get_by_role("button", name="Stay").click()


async def checkout_sandbox(visitors: Visitors, service: Service, page: Page) -> None:
    payment = (await _shop(service, "sandbox")).payment(**ORDER)
    await page.goto(payment["payment_url"])


async def checkout_processing(visitors: Visitors, service: Service, page: Page) -> None:
    await checkout_sandbox(visitors, service, page)
    await page.get_by_role("button", name="Keep processing").click()


async def checkout_closed(visitors: Visitors, service: Service, page: Page) -> None:
    shop = await _shop(service)
    payment = shop.payment(**ORDER)
    await set_active(shop, False)
    await page.goto(payment["payment_url"])


AGREEMENT = {
    "title": "Daily coffee, paid at the end of the week",
    "description": "We add up what you had and charge it every Saturday.",
    "type": "recurring",
    "limits": {
        "per_payment": 50_000,
        "period": {"interval": "month", "amount": 200_000},
        "max_payments": 60,
    },
    "expires_at": "2027-12-31",
    "return_url": "https://seagull.example/account",
}


async def approval(visitors: Visitors, service: Service, page: Page) -> None:
    asked = (await _shop(service)).authorization(**AGREEMENT)
    await visitors.log_in(page.context, await new_customer(service))
    await page.goto(asked["approval_url"])


async def approval_dhivehi(visitors: Visitors, service: Service, page: Page) -> None:
    asked = (await _shop(service)).authorization(**AGREEMENT)
    await page.goto(asked["approval_url"] + "?lang=dv")


async def approval_approved(visitors: Visitors, service: Service, page: Page) -> None:
    await approval(visitors, service, page)
    await page.get_by_role("button", name="Approve").click()
    await page.get_by_role("button", name="Stay").click()


SHOTS: dict[str, Shot] = {
    **operator_shots.SHOTS,  # first: its runs of payouts take every merchant that was paid
    "front": front,
    "front-dhivehi": front_dhivehi,
    "checkout-largest": largest,
    "checkout": checkout,
    "checkout-dhivehi": checkout_dhivehi,
    "checkout-confirm": checkout_confirm,
    "checkout-refused": checkout_refused,
    "checkout-frozen": checkout_frozen,
    "checkout-reasons": checkout_reasons,
    "wallet-frozen": wallet_frozen,
    "checkout-paid": checkout_paid,
    "checkout-sandbox": checkout_sandbox,
    "checkout-processing": checkout_processing,
    "checkout-closed": checkout_closed,
    "approval": approval,
    "approval-dhivehi": approval_dhivehi,
    "approval-approved": approval_approved,
    **wallet_shots.SHOTS,
    **dashboard_shots.SHOTS,
    **people_shots.SHOTS,
    **factor_shots.SHOTS,
    **counter_shots.SHOTS,
}


async def take(service: Service, names: list[str]) -> None:
    OTHERS.mkdir(parents=True, exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS])
        visitors = Visitors(browser, service)
        visitors.expected_statuses = {400, 402, 403, 404, 409, 422}  # a refusal is a picture too
        for name in names or SHOTS:
            page = await visitors.page("desktop")
            await SHOTS[name](visitors, service, page)
            with suppress(PlaywrightTimeoutError):  # a counter always waits for an answer
                await page.wait_for_load_state("networkidle", timeout=IDLE_MS)
            await page.evaluate("document.fonts.ready")
            for size, viewport in SIZES.items():
                await page.set_viewport_size(viewport)
                for scheme in ("light", "dark"):
                    await page.emulate_media(color_scheme=scheme)
                    await save(page, f"{name}-{size}-{scheme}.png")
            if name in PRINTED:
                await page.emulate_media(media="print", color_scheme="light")
                await save(page, f"{name}-print.png")
            await page.context.close()
            assert visitors.complaints == [], visitors.complaints  # no picture of an error
        await browser.close()


async def save(page: Page, name: str) -> None:
    picture = Image.open(io.BytesIO(await page.screenshot(full_page=True))).convert("RGB")
    file = SHOWN / name
    if file.exists():
        picture.quantize(COLOURS).save(file, optimize=True)
    else:
        file = OTHERS / name
        picture.save(file)
    print(file.relative_to(ROOT), flush=True)


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_server(Path(folder, "data"), durable=False) as dsn,
    ):
        asyncio.run(migrate(dsn))
        with serving(dsn, Path(folder), **SETTINGS) as service:
            asyncio.run(take(service, sys.argv[1:]))


if __name__ == "__main__":
    main()
