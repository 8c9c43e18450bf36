"""People who read only the screens: a first coffee, a shop to its first payout, ten calls."""

import asyncio
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from laari.edge.pages.language import LANGUAGES
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests.cli.test_approval import ANSWERS
from tests.days import today
from tests.pages.finance import HEADER, take
from tests.pages.looks import glance
from tests.pages.operators import desk_of, open_desk
from tests.pages.people import Visitors, new_customer
from tests.pages.test_operator_days import find
from tests.pages.test_permissions import member
from tests.pages.test_sandbox_signup import fill
from tests.pages.test_wallet_signup import PASSWORD, code_to, new_mobile
from tests.pages.wallets import execute, pay
from tests.serving import Service, serving
from tools.screenshots.operator_shots import Day

pytestmark = pytest.mark.ci

# As two days later: the bank account of an application waits.
LATER = """
SET session_replication_role = replica;
UPDATE bank_accounts SET effective_at = created_at
"""
SETTINGS = {
    "LAARI_TRUSTED_PROXIES": "127.0.0.1",
    "LAARI_SANDBOX_SIGNUP": "on",
    "LAARI_CUSTOMER_SIGNUP": "on",
    "LAARI_SMS_COMMAND": "false",
    "LAARI_SMTP_URL": "smtp://127.0.0.1:9",
    "LAARI_MAIL_FROM": "Laari <pay@example.com>",
    "LAARI_SUPPORT_CONTACT": "3300000",
    "LAARI_WITHDRAWAL_MINIMUM": "1000",
    "LAARI_REMEMBERED_DEVICE_DAILY_LIMIT": "20000",
    "LAARI_TOPUP_BANK": "Bank of Maldives",
    "LAARI_TOPUP_ACCOUNT": "7730000099999",
    "LAARI_TOPUP_HOLDER": "Wallet Pvt Ltd",
}


@pytest.fixture
def service(engine: Any, tmp_path: Path) -> Iterator[Service]:
    """Open for everybody. Its messages wait, because nothing takes them."""
    with serving(engine.migrated("walks"), tmp_path, **SETTINGS) as service:
        yield service


async def told(service: Service, kind: str) -> None:
    """Waits until a message of this kind was written."""
    async with asyncio.timeout(30):
        while not await execute(service, "SELECT FROM messages WHERE kind = $1", kind):
            await asyncio.sleep(0.05)


async def press(page: Page, action: str) -> None:
    """The button of the form with this address."""
    await page.locator(f"form[action$='{action}'] button:not([hidden])").first.click()


@pytest.mark.parametrize("code", ["en", "dv"])
async def test_a_customer_from_a_scanned_code_to_a_first_coffee(
    visitors: Visitors, service: Service, code: str
) -> None:
    def words(name: str) -> str:
        return str(LANGUAGES[code].text(name))

    shop = await asyncio.to_thread(service.merchant, mode="live", name="Seagull Café")
    coffee = await asyncio.to_thread(shop.payment, amount=4_500, title="Two flat whites")
    page, mobile = await visitors.page("phone"), new_mobile()
    await page.goto(f"{coffee['payment_url']}?lang={code}")
    await glance(page, f"coffee-{code}-1-scanned")
    await page.get_by_role("link", name=words("login.sign_up")).click()
    await glance(page, f"coffee-{code}-2-sign-up")
    await page.locator("#name").fill("Aishath Ibrahim")
    await page.locator("#mobile").fill(mobile)
    await page.locator("#new").fill(PASSWORD)
    await press(page, "/app/signup")
    await expect(page.locator("#code")).to_be_visible()
    await glance(page, f"coffee-{code}-3-code")
    await page.locator("#code").fill(code_to(service, mobile))
    await press(page, "/app/signup/code")

    # Back at the payment: not enough money, how to put it in, and no button that is known to fail.
    await expect(page.get_by_text(words("topup.how"))).to_be_visible()
    await expect(page.locator("form[action$='/pay']")).to_have_count(0)
    await glance(page, f"coffee-{code}-4-too-low")
    reference = await page.locator("#topup-reference").input_value()
    await page.goto(f"{service.origin}/app")
    await glance(page, f"coffee-{code}-5-new-wallet")

    # The transfer is on the bank's statement, and the customer hears of it.
    finance = await desk_of(service, "finance")
    line = f"{today()},FT{secrets.token_hex(6)},Transfer {reference},,100.00,100.00\n"
    booked = await asyncio.to_thread(finance.send, "/bank/book", "", statement=HEADER + line)
    assert "is imported" in booked.text
    await told(service, "topup")

    await page.goto(coffee["payment_url"])
    await glance(page, f"coffee-{code}-6-enough")
    await press(page, "/pay")
    await expect(page.get_by_role("heading", level=1)).to_have_text(words("checkout.paid"))
    await glance(page, f"coffee-{code}-7-paid")
    await press(page, "/remember")
    await expect(page.get_by_role("status")).to_have_text(words("password.done_device"))
    await glance(page, f"coffee-{code}-8-remembered")
    await page.get_by_role("link", name=words("receipt.in_wallet")).click()
    await glance(page, f"coffee-{code}-9-receipt")
    for name in ("", "/transactions", "/withdraw", "/requests", "/authorizations", "/password"):
        await page.goto(f"{service.origin}/app{name}")
        await glance(page, f"wallet-{code}{name.replace('/', '-')}")

    # The next day nobody is logged in, and the second coffee is one tap.
    await page.context.clear_cookies(name="laari")
    second = await asyncio.to_thread(shop.payment, amount=4_500, title="A flat white")
    await page.goto(second["payment_url"])
    await glance(page, f"coffee-{code}-10-one-tap")
    await press(page, "/device")
    await expect(page.get_by_role("heading", level=1)).to_have_text(words("checkout.paid"))


async def apply(page: Page, email: str) -> None:
    """A stranger signs a shop up and applies to go live."""
    await glance(page, "shop-01-sign-up")
    await fill(page, Name="Bodu Boat", Email=email, Password="three grey herons")
    await glance(page, "shop-02-first-page")
    await page.get_by_role("link", name="The application to go live").click()
    await glance(page, "shop-03-application")
    for name, value in {**ANSWERS, "monthly_volume": "250,000"}.items():
        if name == "bank_name":
            await page.locator(f"#{name}").select_option(str(value))
        else:
            await page.locator(f"#{name}").fill(str(value))
    await page.get_by_role("button", name="Send the application").click()
    await expect(page.get_by_text("Expect an answer within 5 working days")).to_be_visible()
    await glance(page, "shop-04-sent")


async def approve(desk: Page) -> None:
    """An admin of the operator finds the application in the inbox."""
    await glance(desk, "shop-05-inbox")
    await desk.get_by_role("link", name=re.compile("^Applications?$")).click()
    await desk.get_by_role("link", name="Bodu Boat").first.click()
    await desk.get_by_label("Fee in percent of each payment").fill("1.5")
    await glance(desk, "shop-06-decide")
    await desk.get_by_role("button", name="Approve for live mode").click()
    await expect(desk.get_by_text("approved for live").first).to_be_visible()


async def pay_out(desk: Page) -> None:
    await desk.get_by_role("button", name="Preview").click()
    await glance(desk, "shop-08-preview")
    await desk.get_by_role("button", name="Create the run").click()
    await desk.get_by_role("button", name="Approve the run").click()
    await desk.get_by_role("button", name="Make the bank's file").click()
    await glance(desk, "shop-09-sent")
    await desk.get_by_role("link", name="The bank has paid all open orders").click()
    await glance(desk, "shop-10-answer")
    await desk.get_by_role("button", name="Yes, the bank has paid it").click()
    await expect(desk.get_by_text("answered").first).to_be_visible()


async def test_a_shop_from_sign_up_to_its_first_payout(
    visitors: Visitors, service: Service
) -> None:
    owner, email = await visitors.page("desktop"), f"{secrets.token_hex(4)}@boat.mv"
    await owner.goto(f"{service.origin}/dashboard/signup")
    await apply(owner, email)
    await approve(await open_desk(visitors, service, "admin"))
    await told(service, "application_approved")
    await owner.goto(f"{service.origin}/dashboard")
    await owner.get_by_role("link", name="Live", exact=True).click()
    await expect(owner.get_by_role("heading", level=1)).to_have_text("Overview")
    await glance(owner, "shop-07-live")

    # It sold something yesterday.
    [shop] = await execute(service, "SELECT id FROM merchants WHERE name = 'Bodu Boat'")
    async with connection_to(service.dsn) as connection:
        tenant = await tenants.of_merchant(connection, shop["id"], "live")
        await connection.execute(LATER)
    await take(service, tenant, 100_000)
    await pay_out(await open_desk(visitors, service, "finance", "/payouts"))
    await told(service, "payout_sent")

    # The accountant finds one line for each payment, and the reference that the bank knows.
    [order] = await execute(service, "SELECT reference FROM bank_orders")
    page, home = await visitors.page("desktop"), f"{service.origin}/dashboard/{shop['id']}/live"
    await visitors.log_in(page.context, await member(service, shop["id"], "accountant"))
    await page.goto(f"{home}/money")
    await expect(page.locator(".band")).to_have_text("Live Real money.")  # no credentials
    await glance(page, "shop-11-money")
    await page.goto(f"{home}/money/payouts")
    await glance(page, "shop-12-payouts")
    await page.locator("main table a").first.click()
    await expect(page.get_by_text(order["reference"])).to_be_visible()
    await expect(page.get_by_text("••••2345")).to_be_visible()
    await expect(page.get_by_role("row").filter(has_text="1,000.00")).to_have_count(1)
    await glance(page, "shop-13-payout")
    await page.goto(f"{home}/money/statement")
    await page.get_by_role("link", name="This month").click()
    await glance(page, "shop-14-statement")


async def test_ten_calls_without_a_shell(  # noqa: PLR0915  # one morning at the desk
    visitors: Visitors, service: Service
) -> None:
    day = Day(service)
    await day.reach("book")
    shop = day.shops[0]
    caller = await new_customer(service, balance=50_000, tier="basic")
    payment = await asyncio.to_thread(shop.payment, amount=12_000, title="Breakfast")
    await pay(shop, caller, payment)
    refund = await asyncio.to_thread(
        shop.post, f"/payments/{payment['id']}/refunds", {"amount": 5_000, "note": "Cold"}
    )
    assert refund.status_code == 201, refund.text
    to = {"type": "mobile", "value": caller.mobile}
    asked = await asyncio.to_thread(shop.request, amount=900_000, customer=to)
    page = await open_desk(visitors, service, "admin")
    heading = page.get_by_role("heading", level=1)

    # 1. "My number is 771 2345", in any spelling.
    number = caller.mobile
    for spelling in (number, f"+960 {number}", f"{number[:3]}-{number[3:]}"):
        await find(page, spelling)
        await expect(heading).to_have_text(caller.name)
    await glance(page, "call-1-caller")
    # 2. "A shop asked me for too much": the request is there, with its state.
    await expect(page.get_by_text(asked["reference"])).to_be_visible()
    # 3. "My phone is stolen": frozen, and the note says by whom.
    await page.get_by_text("Freeze the wallet …").click()
    await page.get_by_label("Reason, which only operators read").first.fill("Phone stolen")
    await page.get_by_role("button", name="Freeze the wallet").click()
    await expect(page.get_by_text("Frozen since")).to_contain_text("Phone stolen")
    await glance(page, "call-3-frozen")
    await told(service, "wallet_frozen")
    # 4. "I have a new SIM": the lost one gets no link.
    await page.get_by_text("Change mobile or email …").click()
    contact = page.locator("form[action$='/contact']")
    await contact.get_by_label("New mobile number or email address").fill(new_mobile())
    await contact.get_by_label("Reason, which only operators read").fill("New SIM, card seen")
    await contact.get_by_label("The current one is lost").check()
    await glance(page, "call-4-new-sim")
    await page.get_by_role("button", name="Request the change").click()
    await expect(page.get_by_label("Code that the caller reads out")).to_be_visible()
    # 5. "I forgot my password": a link.
    await page.get_by_role("button", name="Make a link that sets a new password").click()
    await glance(page, "call-5-password")
    # 6. "I paid, here is the receipt number."
    [line] = await execute(
        service,
        "SELECT tid FROM transactions WHERE account = $1 AND type = 'payment'",
        caller.account,
    )
    await find(page, line["tid"])
    await page.get_by_role("link", name=payment["reference"]).first.click()
    await expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    # 7. "They promised me a refund": it is there, in part.
    await expect(page.get_by_text("partly refunded").first).to_be_visible()
    await expect(page.get_by_text("Cold").first).to_be_visible()
    await glance(page, "call-7-refund")
    # 8. "I own a shop, where is my payout?": by the owner's email, the order and the payout.
    [owner] = await execute(
        service,
        "SELECT p.email FROM persons p JOIN memberships b ON b.person_id = p.id "
        "WHERE b.merchant_id = $1 AND b.role = 'owner'",
        shop.id,
    )
    await find(page, owner["email"])
    await expect(page.get_by_role("heading", name="Last payouts in live mode")).to_be_visible()
    await glance(page, "call-8-shop")
    await find(page, day.orders[0])
    await expect(page.get_by_role("heading", name="Payouts", exact=True)).to_be_visible()
    await glance(page, "call-8-order")
    # 9. "I sent money yesterday": the bank's reference.
    await find(page, "FT26322003")
    await expect(page.get_by_text("CASH DEPOSIT MALE MAIN")).to_be_visible()
    await glance(page, "call-9-bank-reference")
    await page.get_by_role("link", name="Assign it").click()
    await expect(page.get_by_role("button", name="Find the wallet")).to_be_visible()
    # 10. "Your webhooks do not arrive."
    await execute(
        service,
        "UPDATE merchants SET webhook_url = 'https://x.example/hook' WHERE id = $1",
        shop.id,
    )
    await find(page, shop.id)
    await expect(page.get_by_text("https://x.example/hook")).to_be_visible()
    await glance(page, "call-10-webhooks")
