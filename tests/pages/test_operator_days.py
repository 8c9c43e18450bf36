"""A support day of ten calls and a finance day, played in a browser."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.days import today, yesterday
from tests.pages.finance import HEADER, balance_of, paid_shop
from tests.pages.looks import look
from tests.pages.operators import COOKIE, new_operator, open_desk, session_of
from tests.pages.people import Visitors, new_customer
from tests.serving import Merchant, Service, serving

pytestmark = pytest.mark.ci


async def find(page: Page, text: str) -> None:
    await page.get_by_role("link", name="Inbox", exact=True).click()
    await page.get_by_role("searchbox").fill(text)
    await page.get_by_role("button", name="Search").click()


async def test_a_support_day_of_ten_calls(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    visitors.expected_statuses = {403, 422}
    caller = await new_customer(service, balance=50_000, tier="basic")
    asked = live_shop.payment(amount=40_000, title="Two flat whites")
    request = live_shop.request(amount=90_000, customer={"type": "mobile", "value": caller.mobile})
    page = await open_desk(visitors, service, "support")
    await look(page, "search")

    # 1. "I am Aisha, with this number": the caller is verified.
    await find(page, caller.mobile)
    await expect(page.get_by_role("heading", level=1)).to_have_text(caller.name)
    await page.get_by_role("button", name="The caller knew them").click()
    await expect(page.get_by_role("status")).to_have_text("The note is added.")
    await expect(page.get_by_text("Caller verified: asked for")).to_be_visible()
    # 2. "Which limits do I have?"
    await expect(page.get_by_text("A single payment can be up to")).to_be_visible()
    # 3. "A shop asked me for money": the request is there.
    await expect(page.get_by_text(request["reference"])).to_be_visible()
    await look(page, "customer")
    # 4. "I lost my phone": the wallet is frozen, and nothing leaves it.
    await page.get_by_text("Freeze the wallet …").click()
    await page.get_by_label("Reason, which only operators read").first.fill("Phone lost")
    await page.get_by_role("button", name="Freeze the wallet").click()
    await expect(page.get_by_text("Frozen since")).to_contain_text("Phone lost")
    await look(page, "customer-frozen")
    # 5. "I found it again."
    await page.get_by_label("Why may money leave again?").fill("Found, caller verified")
    await page.get_by_role("button", name="Unfreeze the wallet").click()
    await expect(page.get_by_text("Frozen since")).to_have_count(0)
    # 6. "I want a higher limit."
    await page.get_by_text("Change the tier …").click()
    await page.get_by_label("Tier", exact=True).select_option("verified")
    await page.get_by_label("Reason", exact=True).fill("Identity card seen")
    await page.get_by_role("button", name="Change the tier").click()
    await expect(page.get_by_text("The tier is changed.")).to_be_visible()
    # 7. "Log me out everywhere."
    async with asyncio.timeout(30):
        await expect(page.get_by_text("The customer has no open sessions.")).to_be_visible()
    # 8. "I paid and the shop says no": the payment by the shop's reference.
    await find(page, asked["reference"])
    await expect(page.get_by_text("Two flat whites")).to_be_visible()
    await look(page, "payment")
    # 9. A name that several customers have.
    other = await new_customer(service)
    await find(page, other.name.split()[0])
    await expect(page.get_by_role("heading", name="Customers")).to_be_visible()
    await look(page, "found")
    # 10. "My shop is paused": support reads the merchant and changes nothing.
    await find(page, live_shop.id)
    await expect(page.get_by_role("heading", name="Fees")).to_be_visible()
    await expect(page.get_by_text("Pause this merchant …")).to_have_count(0)
    await look(page, "merchant")
    await page.goto(f"{service.origin}/operator/money/volume")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Your role cannot do this")
    await page.get_by_role("link", name="Health").click()
    await look(page, "health")


@pytest.fixture
def careful(engine, tmp_path: Path) -> Iterator[Service]:
    """A service whose large movements need a second operator."""
    settings = {"LAARI_SECOND_OPERATOR_ABOVE": "100000"}
    with serving(engine.migrated("finance"), tmp_path, **settings) as service:
        yield service


async def test_a_finance_day(visitors: Visitors, careful: Service) -> None:
    """Top-ups, one that a second person confirms, and the figures of the day."""
    service = visitors.service = careful
    customer = await new_customer(service, balance=0)
    page = await open_desk(visitors, service, "finance", "/money")
    await look(page, "money-empty")

    async def move(kind: str, amount: str, details: str, slip: str = "") -> None:
        await page.get_by_label("Kind").select_option(kind)
        await page.get_by_label("Account number").fill(str(customer.account))
        await page.get_by_label("Amount in rufiyaa").fill(amount)
        await page.get_by_label("Text in the customer's history").fill(details)
        await page.get_by_label("Bank's slip of a top-up").fill(slip)
        await page.get_by_role("button", name="Move the money").click()

    await move("topup", "750.00", "Bank transfer", "BML-1")
    await expect(page.get_by_role("status")).to_have_text("The money is moved.")
    await move("topup", "750.00", "Bank transfer", "BML-1")
    await expect(page.get_by_role("status")).to_contain_text("entered before")
    await move("topup", "1,000.01", "Bank transfer", "BML-2")
    await expect(page.get_by_role("status")).to_contain_text("waits for a second person")
    await expect(page.get_by_text("Another person has to confirm it.")).to_be_visible()
    await look(page, "money")
    second = await session_of(service, await new_operator(service, "finance"))
    await page.context.add_cookies([{"name": COOKIE, "value": second, "url": service.origin}])
    await page.goto(f"{service.origin}/operator/money")
    await page.get_by_role("button", name="Confirm and move the money").click()
    await expect(page.get_by_role("status")).to_have_text("The money is moved.")
    [row] = service.execute("SELECT balance FROM wallets WHERE account = $1", customer.account)
    assert row["balance"] == 175_001
    await expect(page.get_by_role("row", name="Sum")).to_contain_text("1,750.01")
    shop = service.merchant()
    paid = shop.payment(amount=20_000)
    shop.post(f"/sandbox/payments/{paid['id']}/pay")
    await page.get_by_role("link", name="Sales").click()
    await page.get_by_label("Mode").select_option("sandbox")
    for _ in range(100):
        await page.get_by_role("button", name="Show").click()
        if await page.get_by_role("row", name="Total").count():
            break
        await asyncio.sleep(0.1)
    await expect(page.get_by_role("row", name="Total")).to_contain_text("200.00")
    await look(page, "sales")


@pytest.fixture
def banking(engine, tmp_path: Path) -> Iterator[Service]:
    """A service whose large runs need a second person."""
    settings = {"LAARI_PAYOUT_APPROVAL_ABOVE": "1000"}
    with serving(engine.migrated("banking"), tmp_path, **settings) as service:
        yield service


async def test_a_finance_day_at_the_bank(  # noqa: PLR0915  # one day from morning to evening
    visitors: Visitors, banking: Service
) -> None:
    """A run with one return, an import with one unknown line, and the sign-off."""
    service = visitors.service = banking
    visitors.expected_statuses = {400}  # a difference without a note
    first = await paid_shop(service, 30_000, name="First Café", fee_bps=100)
    second = await paid_shop(service, 20_000, name="A rather long name of a guest house, Malé")
    await paid_shop(service, 12_345_678, name="Thulusdhoo Dive Centre and Guest House")
    await paid_shop(service, 5_000, name="Without a bank", with_bank=False)
    customer = await new_customer(service, balance=0)
    page = await open_desk(visitors, service, "finance", "/payouts")
    await look(page, "payouts-empty")

    # The run.
    await page.get_by_role("button", name="Preview").click()
    await expect(page.get_by_text("There is no bank account.")).to_be_visible()
    await look(page, "payouts-preview")
    await page.get_by_role("button", name="Create the run").click()
    await expect(page.get_by_text("another person has to approve")).to_be_visible()
    await expect(page.get_by_role("button", name="Approve the run")).to_have_count(0)
    await look(page, "run-requested")
    other = await session_of(service, await new_operator(service, "finance"))
    await page.context.add_cookies([{"name": COOKIE, "value": other, "url": service.origin}])
    await page.reload()
    await page.get_by_role("button", name="Approve the run").click()
    await expect(page.get_by_role("status")).to_contain_text("The run is approved.")
    await page.get_by_role("button", name="Make the bank's file").click()
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download the bank's file").click()
    content = Path(await (await download.value).path()).read_text()
    assert "297.00" in content
    await look(page, "run-sent")
    orders = {
        row["amount"]: row["reference"]
        for row in service.execute("SELECT amount, reference FROM bank_orders")
    }
    await page.get_by_role("link", name=f"the bank has returned {orders[20_000]}").click()
    await look(page, "run-answer")
    await page.get_by_label("Reason, in the bank's words").fill("Account closed")
    await page.get_by_role("button", name="Yes, the bank has returned it").click()
    await expect(page.get_by_role("status")).to_contain_text("returned money is available")
    await look(page, "run-returned")
    assert (await balance_of(second)).available == 20_000

    # The statement: a payment, a top-up and a line that nobody knows.
    await page.get_by_role("link", name="Bank", exact=True).click()
    await page.get_by_role("textbox", name="Statement").fill(
        f"{HEADER}{today()},FT1,Payout {orders[29_700]},297.00,,703.00\n"
        f"{today()},FT2,Aisha {customer.account},,50.00,753.00\n"
        f"{today()},FT3,No idea,,7.00,760.00\n"
    )
    await page.get_by_role("button", name="Check the statement").click()
    await expect(page.get_by_role("heading", name="3 lines, 3 new")).to_be_visible()
    await look(page, "bank-preview")
    await page.get_by_role("button", name="Book the statement").click()
    await expect(page.get_by_role("status")).to_have_text("The statement is imported.")
    await look(page, "bank")
    await page.get_by_role("radio").check()
    await page.get_by_label("Whose is it?").fill(customer.mobile)
    await page.get_by_role("button", name="Find the wallet").click()
    await expect(page.get_by_text(customer.name)).to_be_visible()
    await look(page, "bank-assign")
    await page.get_by_role("button", name="Assign MVR").click()
    await expect(page.get_by_role("status")).to_have_text("The money is added to the wallet.")
    [row] = service.execute("SELECT balance FROM wallets WHERE account = $1", customer.account)
    assert row["balance"] == 5_700

    # Money that was sent back: the bank's line for it is matched, and a wrong file is not booked.
    await page.get_by_role("textbox", name="Statement").fill(
        f"{HEADER}{today()},FT4,By mistake,,3.00,\n{today()},FT5,Their money,3.00,,\n"
    )
    await page.get_by_role("button", name="Check the statement").click()
    await page.get_by_role("button", name="Book the statement").click()
    await page.get_by_role("radio", name="By mistake").check()
    await page.get_by_role("button", name="Find the wallet").click()
    await page.get_by_text("The bank has sent it back").click()
    await page.get_by_role("button", name="Record that it was sent back").click()
    await page.get_by_role("radio", name="Their money").check()
    await page.get_by_role("radio", name="Receipt FT4").check()
    await look(page, "bank-match")
    await page.get_by_role("button", name="Match with the recorded movement").click()
    await expect(page.get_by_role("status")).to_contain_text("Nothing was booked.")
    await expect(page.get_by_role("radio")).to_have_count(0)
    await page.get_by_role("textbox", name="Statement").fill(
        f"{HEADER}{today()},FT4,By mistake,,4.00,\n"
    )
    await page.get_by_role("button", name="Check the statement").click()
    await expect(page.get_by_text("A line conflicts with the books")).to_be_visible()
    await look(page, "bank-conflict")

    # The sign-off of yesterday.
    await page.get_by_role("link", name="Float", exact=True).click()
    await page.get_by_label("The bank's closing balance").fill("12.34")
    await page.get_by_role("button", name="Sign off").click()
    await expect(page.get_by_role("alert")).to_contain_text("A difference needs a note.")
    await page.get_by_label("Note, which a difference needs").fill("A deposit came late")
    await page.get_by_role("button", name="Sign off").click()
    await expect(page.get_by_role("status")).to_have_text("The day is signed off.")
    await expect(page.get_by_label("Day", exact=True)).to_have_value(str(yesterday()))
    await look(page, "float")

    # A part of the returned money is held.
    await page.goto(f"{service.origin}/operator/merchants/{second.id}")
    await page.get_by_text("Hold, release or correct …").click()
    await page.get_by_label("Amount to move").fill("50")
    await page.get_by_label("Reason of the movement").fill("Account closed")
    await look(page, "merchant-hold")
    await page.get_by_role("button", name="Change the balance").click()
    await expect(page.get_by_role("status")).to_have_text("The balance is changed.")
    assert (await balance_of(second)).held == 5_000
    assert (await balance_of(first)).in_transit == 0
    await page.get_by_text("Change the terms …").click()
    await look(page, "merchant-terms")
    await page.goto(f"{service.origin}/operator/money/volume")
    await expect(page.get_by_role("row", name="Total")).to_contain_text("124,")
    await look(page, "sales-large")
    audited = await asyncio.to_thread(service.laari, "audit")
    assert audited.returncode == 0, audited.stdout
