"""Payments in the dashboard: found, followed, refunded, and made by hand."""

import asyncio
from datetime import timedelta

import pytest
from playwright.async_api import Page, expect

from laari.rules import ids
from laari.rules.actors import Payer
from laari.rules.payments.payments import PayPayment
from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.pages.people import (
    SIZES,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import submit, tenant_of
from tests.serving import Service


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service, fee_bps=150)


async def references(page: Page) -> list[str]:
    return await page.locator("table.list tbody td:first-child a").all_inner_texts()


@both_sizes
async def test_payments_are_filtered_as_on_the_interface(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    shop = owner.shop
    shop.payment(reference="first", bill_number="B-1", terminal_label="T1")
    paid = shop.payment(reference="second", bill_number="B-1")
    shop.control(f"payments/{paid['id']}/pay")
    shop.payment(reference="overdue", expires_at="2100-01-01")
    page = await owner.open(visitors, "/sandbox/payments", size)
    assert await references(page) == ["overdue", "second", "first"]
    await page.get_by_text("Filter", exact=True).click()
    await page.get_by_label("Status").select_option("paid")
    await page.get_by_role("button", name="Apply").click()
    assert await references(page) == ["second"]
    await page.get_by_label("Status").select_option("")
    await page.get_by_label("Bill number", exact=True).fill("B-1")
    await page.get_by_label("Till").fill("T1")
    await page.get_by_role("button", name="Apply").click()
    assert await references(page) == ["first"]
    await page.get_by_role("link", name="Show all").click()
    await page.get_by_text("Filter", exact=True).click()
    await page.get_by_label("Last day").fill("2001-01-01")
    await page.get_by_role("button", name="Apply").click()
    await expect(page.get_by_text("No payments here.")).to_be_visible()


async def test_a_wrong_filter_says_why(visitors: Visitors, owner: Owner) -> None:
    visitors.expected_statuses = {400}
    page = await owner.open(
        visitors, "/sandbox/payments?created_from=2026-02-01&created_to=2026-01-01"
    )
    await expect(page.get_by_role("alert")).to_contain_text("earlier than created_to")
    assert await serious_violations(page) == []


async def test_older_payments_are_on_further_pages(visitors: Visitors, owner: Owner) -> None:
    for number in range(5):
        owner.shop.payment(reference=f"n{number}")
    page = await owner.open(visitors, "/sandbox/payments?limit=2")
    seen = await references(page)
    for _ in range(2):
        await page.get_by_role("link", name="Older").click()
        seen += await references(page)
    assert seen == ["n4", "n3", "n2", "n1", "n0"]
    assert await page.get_by_role("link", name="Older").count() == 0


@both_sizes
async def test_payments_are_found_by_the_beginning_of_a_reference_or_bill_number(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    owner.shop.payment(reference="ORDER-1", bill_number="77/1")
    billed = owner.shop.payment(reference="ORDER-2", bill_number="77/2")
    owner.shop.payment(reference="order-3", bill_number="Hall-9/B")
    owner.shop.request(reference="ORDER-4")
    page = await owner.open(visitors, "/sandbox/payments", size)

    async def search(text: str) -> list[str]:
        await page.get_by_role("searchbox").fill(text)
        await page.get_by_role("button", name="Search").click()
        await expect(page.get_by_role("searchbox")).to_have_value(text)
        return await references(page)

    assert await search("ORDER-") == ["ORDER-1", "ORDER-2", "order-3", "ORDER-4"]
    assert await search("oRdEr-2") == ["ORDER-2"]
    paid = owner.shop.control(f"payments/{billed['id']}/pay")["payment_reference"]
    assert await search(paid) == await search(paid.lower()) == ["ORDER-2"]
    assert await search("hall-9/b") == ["order-3"]
    assert await search("77/2") == ["ORDER-2"]
    assert await search("RDER") == []
    assert await search("%_") == []


@pytest.mark.journey
@both_sizes
async def test_a_payment_tells_its_whole_story_and_is_refunded_once(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    visitors.expected_statuses = {409}
    body = {"reference": "ORDER-7", "amount": 20_000, "metadata": {"basket": "b-7"}}
    payment = owner.shop.post("/payments", body, Idempotency_Key="key-7").json()["data"]
    owner.shop.control(f"payments/{payment['id']}/pay")
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}", size)
    timeline = page.locator(".timeline")
    for told in ("Response 201", "key-7:", "Created", "Event payment.created", "Paid"):
        await expect(timeline).to_contain_text(told)
    await expect(timeline).not_to_contain_text("Repeated")
    for words in ("Repeated once, last", "Repeated 2 times, last"):
        assert owner.shop.post("/payments", body, Idempotency_Key="key-7").status_code == 201
        await page.reload()
        await expect(timeline).to_contain_text(words)
    # The same reference under another key is the same payment, and another one that names this
    # payment's id is not.
    assert owner.shop.post("/payments", body, Idempotency_Key="other-7").status_code == 201
    named = {"reference": "ORDER-8", "amount": 1, "title": payment["id"]}
    assert owner.shop.post("/payments", named, Idempotency_Key="key-8").status_code == 201
    await page.reload()
    await expect(timeline).to_contain_text("other-7")
    await expect(timeline).not_to_contain_text("key-8")
    await expect(timeline).to_contain_text("the payer's wallet → your account")
    await expect(timeline).to_contain_text("your account → service fees")
    await page.get_by_role("link", name="Refund").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("200.00")
    second = await page.context.new_page()
    await second.goto(page.url)
    await page.get_by_role("button", name="Refund the payment").click()
    await expect(page.get_by_role("status")).to_contain_text("Refunded")
    await expect(page.locator(".timeline")).to_contain_text("Money refunded")
    await second.get_by_role("button", name="Refund the payment").click()
    await expect(second.get_by_role("alert")).to_contain_text("refunded already")
    wallet = owner.shop.control("wallet", {})
    assert wallet["balance"] == 10_000_000


async def test_a_refund_wants_a_recent_password(visitors: Visitors, owner: Owner) -> None:
    visitors.expected_statuses = {422}
    payment = owner.shop.payment()
    owner.shop.control(f"payments/{payment['id']}/pay")
    path = f"/sandbox/payments/{payment['id']}/refund"
    page = await owner.open(visitors, path, age=timedelta(minutes=11))
    await page.get_by_label("enter your password").fill("wrong")
    await page.get_by_role("button", name="Refund the payment").click()
    await expect(page.get_by_role("alert")).to_contain_text("not your password")
    await page.get_by_label("enter your password").fill(PASSWORD)
    await page.get_by_role("button", name="Refund the payment").click()
    await expect(page.get_by_role("status")).to_contain_text("Refunded")


async def test_a_live_refund_always_wants_the_password(
    visitors: Visitors, service: Service
) -> None:
    visitors.expected_statuses = {422}
    owner = new_owner(service, mode="live")
    customer = await new_customer(service)
    payment = owner.shop.payment()
    payment_id = ids.read_id(ids.PAYMENT, payment["id"])
    assert payment_id is not None
    payer = Payer(customer.account, "live")
    await submit(service, PayPayment(await tenant_of(owner.shop), payment_id, payer))
    page = await owner.open(visitors, f"/live/payments/{payment['id']}/refund")
    for password, state in (("wrong", "paid"), (PASSWORD, "refunded")):
        await page.get_by_label("enter your password").fill(password)
        await page.get_by_role("button", name="Refund the payment").click()
        await expect(page.get_by_role("alert" if state == "paid" else "status")).to_be_visible()
        assert owner.shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == state


@both_sizes
async def test_the_code_comes_first_and_is_seen_at_once(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    payment = owner.shop.payment(title="Coffee", description="On the terrace")
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}", size)
    code = await page.get_by_alt_text("QR code").bounding_box()
    details = await page.get_by_text("Expires").bounding_box()
    danger = await page.get_by_role("link", name="Cancel this payment").bounding_box()
    assert code is not None
    assert details is not None
    assert danger is not None
    assert (code["width"], code["height"]) == (280, 280)
    assert code["y"] + 280 <= SIZES[size]["height"]
    assert code["y"] + 280 <= min(details["y"], danger["y"])
    assert await sideways_scroll(page) <= 0


async def test_the_page_of_a_payment_waits_for_its_change(visitors: Visitors, owner: Owner) -> None:
    payment = owner.shop.payment()
    page = await visitors.page("desktop")
    await visitors.log_in(page.context, owner.email)
    async with page.expect_request("**/status?status=pending"):
        await page.goto(owner.url(f"/sandbox/payments/{payment['id']}"))
    await asyncio.to_thread(owner.shop.control, f"payments/{payment['id']}/pay")
    await expect(page.locator(".badge", has_text="paid")).to_be_visible(timeout=10_000)


async def test_a_payment_tells_when_it_was_created_paid_and_refunded(
    visitors: Visitors, owner: Owner
) -> None:
    payment = owner.shop.payment()
    owner.shop.control(f"payments/{payment['id']}/pay")
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}/refund")
    await page.get_by_role("button", name="Refund the payment").click()
    for name in ("Created", "Paid", "Refunded"):
        fact = page.locator(".facts div", has=page.locator("dt", has_text=name))
        await expect(fact.locator("time")).to_be_visible()


async def test_print_shows_neither_menu_nor_buttons(visitors: Visitors, owner: Owner) -> None:
    payment = owner.shop.payment()
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}")
    await page.emulate_media(media="print")
    for place in (".band", ".tabs", ".switch", "button", ".button", ".foot"):
        for each in await page.locator(place).all():
            assert not await each.is_visible(), place
    await expect(page.locator(".amount")).to_be_visible()


async def test_events_tell_what_they_are_about(visitors: Visitors, owner: Owner) -> None:
    owner.shop.payment(reference="ORDER-77", amount=98_700)
    owner.shop.authorization(reference="BOX-77", title="Monthly box")
    page = await owner.open(visitors, "/sandbox/webhooks", "phone")
    rows = page.locator("table.list tbody tr")
    await expect(rows.filter(has_text="payment.created")).to_contain_text("ORDER-77")
    await expect(rows.filter(has_text="payment.created")).to_contain_text("987.00")
    await expect(rows.filter(has_text="authorization.created")).to_contain_text("BOX-77")
    assert await sideways_scroll(page) <= 0


@pytest.mark.journey
@both_sizes
async def test_a_link_is_made_by_hand_and_paid(visitors: Visitors, owner: Owner, size: str) -> None:
    visitors.expected_statuses = {400, 409}
    page = await owner.open(visitors, "/sandbox/payments/new", size)
    await page.get_by_label("Amount in MVR").fill("1,250.5")
    await page.get_by_label("What for").fill("ރަށުގެ ކޮފީ")
    await page.get_by_label("Your reference").fill("BY-HAND")
    await page.get_by_text("More", exact=True).click()
    await page.get_by_label("Bill number").fill("not; allowed")
    await page.get_by_role("button", name="Create the link").click()
    await expect(page.get_by_role("alert")).to_contain_text("The bill number may contain only")
    await page.get_by_label("Bill number").fill("B-9")
    await page.get_by_label("Expires").fill("2090-01-01T10:30")
    await page.get_by_role("button", name="Create the link").click()
    await expect(page.get_by_role("status")).to_contain_text("link is ready")
    await expect(page.get_by_role("img", name="QR code")).to_be_visible()
    link = await page.get_by_label("Payment link for the customer").input_value()
    stored = owner.shop.get("/payments").json()["data"][0]
    assert (stored["payment_url"], stored["amount"]) == (link, 125_050)
    assert stored["expires_at"] == "2090-01-01T10:30:00+05:00"
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(page.locator("main .badge")).to_have_text("paid")
    await page.goto(owner.url("/sandbox/payments/new"))
    await page.get_by_label("Amount in MVR").fill("7")
    await page.get_by_label("Your reference").fill("BY-HAND")
    await page.get_by_role("button", name="Create the link").click()
    await expect(page.get_by_role("alert")).to_contain_text("which has a different amount")
    await page.get_by_label("Amount in MVR").fill("1.234")
    await page.get_by_role("button", name="Create the link").click()
    await expect(page.get_by_role("alert")).to_contain_text("such as 125")


async def test_the_sandbox_customer_reserves_releases_and_declines(
    visitors: Visitors, owner: Owner
) -> None:
    visitors.expected_statuses = {402, 409}
    payment = owner.shop.payment()
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}")
    badge = page.locator("main .badge")
    await page.get_by_role("button", name="Keep processing").click()
    await expect(badge).to_have_text("processing")
    await page.get_by_role("button", name="Release the attempt").click()
    await expect(badge).to_have_text("pending")
    owner.shop.control("wallet", {"balance": 1})
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("balance is too low")
    await page.get_by_role("button", name="Decline").click()
    await expect(badge).to_have_text("declined")
    assert await page.get_by_role("button", name="Cancel").count() == 0


@both_sizes
async def test_metadata_is_written_by_hand_without_script(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    visitors.expected_statuses = {400}
    page = await visitors.page(size, java_script_enabled=False)
    await visitors.log_in(page.context, owner.email)
    await page.goto(owner.url("/sandbox/payments/new"))
    await page.get_by_label("Amount in MVR").fill("12.50")
    await page.get_by_text("More", exact=True).click()
    await page.get_by_label("Name 1").fill("basket")
    await page.get_by_label("Value 1").fill(" b-77 ")
    await page.get_by_label("Value 3").fill("nameless")
    await page.get_by_role("button", name="Create the link").click()
    await expect(page.get_by_role("alert")).to_contain_text("needs a name")
    await page.get_by_label("Name 3").fill("basket")
    await page.get_by_role("button", name="Create the link").click()
    await expect(page.get_by_role("alert")).to_contain_text("only once")
    await expect(page.get_by_label("Value 1")).to_have_value(" b-77 ")
    await page.get_by_label("Name 3").fill("ގެ")
    await page.get_by_role("button", name="Create the link").click()
    await expect(page.get_by_role("status")).to_contain_text("The payment link is ready")
    (payment,) = owner.shop.get("/payments").json()["data"]
    assert payment["metadata"] == {"basket": " b-77 ", "ގެ": "nameless"}


async def test_a_pending_payment_is_cancelled_and_an_overdue_one_left_alone(
    visitors: Visitors, owner: Owner
) -> None:
    payment, overdue = owner.shop.payment(), owner.shop.payment()
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}")
    await page.get_by_role("link", name="Cancel this payment").click()
    await page.get_by_role("link", name="No, go back").click()
    await expect(page.locator("main .badge")).to_have_text("pending")
    await page.get_by_role("link", name="Cancel this payment").click()
    await expect(page.get_by_text("the payment link and its QR code stop working")).to_be_visible()
    await page.get_by_role("button", name="Yes, cancel it").click()
    await expect(page.locator("main .badge")).to_have_text("cancelled")
    owner.shop.advance(25 * 3600)
    await page.goto(owner.url(f"/sandbox/payments/{overdue['id']}"))
    await expect(page.locator("main .badge")).to_have_text("expired")
    assert "payment.expired" not in [
        event["type"] for event in owner.shop.get("/events").json()["data"]
    ]


@both_sizes
async def test_requests_and_authorizations_are_followed_and_ended(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    shop = owner.shop
    request = shop.request(reference="ASKED")
    page = await owner.open(visitors, "/sandbox/requests", size)
    await page.get_by_role("link", name="ASKED").click()
    badge = page.locator(".row.apart .badge").first
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(badge).to_have_text("paid")
    await page.get_by_role("link", name="Show it").click()
    await expect(page.locator(".timeline")).to_contain_text("Created from a payment request")
    other = shop.request()
    await page.goto(f"{shop.service.origin}/dashboard/{shop.id}/sandbox/requests/{other['id']}")
    await page.get_by_role("link", name="Cancel this request").click()
    await page.get_by_role("button", name="Yes, cancel it").click()
    await expect(badge).to_have_text("cancelled")
    assert shop.get(f"/payment-requests/{request['id']}").json()["data"]["status"] == "paid"

    shop.authorization(reference="LEAVE", limits={"total": 50_000})
    await page.goto(f"{shop.service.origin}/dashboard/{shop.id}/sandbox/authorizations")
    await page.get_by_role("link", name="LEAVE").click()
    await page.get_by_role("button", name="Approve").click()
    await expect(badge).to_have_text("active")
    await page.get_by_role("button", name="Pause").click()
    await expect(badge).to_have_text("paused")
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_text("Left in total")).to_be_visible()
    await page.get_by_text("Revoke this authorization").click()
    await page.get_by_role("button", name="Yes, revoke it").click()
    await expect(badge).to_have_text("revoked")
