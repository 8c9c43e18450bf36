"""The wallet application in a real browser: every flow, happy and unhappy."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from laari.rules.payment_requests import PayRequest, ReserveRequest
from tests.pages.people import (
    SIZES,
    Customer,
    Visitors,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import answer, approved, ask, busy_wallet
from tests.serving import Merchant, Service

both_sizes = pytest.mark.parametrize("size", SIZES)
with_and_without_scripts = pytest.mark.parametrize("scripts", [True, False])

LONG_AGO = timedelta(minutes=11)
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "{{ 7 * 7 }}<svg onload=alert(1)>",
    "javascript:alert(1)//\u202egnp",
)


async def open_app(
    visitors: Visitors, customer: Customer, path: str = "/app", size: str = "phone", **options: Any
) -> Page:
    """The application at this path, as a customer who has just logged in."""
    age = options.pop("age", timedelta(0))
    page = await visitors.page(size, **options)
    await visitors.log_in(page.context, customer, age)
    await page.goto(visitors.service.origin + path)
    return page


def heading(page: Page) -> Any:
    return expect(page.get_by_role("heading", level=1))


async def execute(service: Service, statement: str, *values: Any) -> Any:
    return await asyncio.to_thread(service.execute, statement, *values)


async def find(shop: Merchant, resource: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = shop.get(f"/{kind}/{resource['id']}").json()["data"]
    return found


# Logging in and out.


@both_sizes
async def test_logging_in_leads_where_one_wanted_to_go_and_out_again(
    visitors: Visitors, service: Service, size: str
) -> None:
    customer = await new_customer(service, name="Aishath <b>Ibrahim</b>")
    page = await visitors.page(size)
    await page.goto(f"{service.origin}/app/requests")
    await heading(page).to_have_text("Log in to your wallet")
    assert await serious_violations(page) == []
    await page.get_by_label("Mobile number").fill(customer.vpa)
    await page.get_by_label("Password").fill(customer.password)
    await page.get_by_role("button", name="Log in").click()
    await heading(page).to_have_text("Payment requests")
    await expect(page.get_by_text("Aishath <b>Ibrahim</b>")).to_be_visible()
    await page.get_by_role("button", name="Log out").click()
    await heading(page).to_have_text("Log in to your wallet")
    await page.goto(f"{service.origin}/app")
    await heading(page).to_have_text("Log in to your wallet")


async def test_a_wrong_password_and_a_foreign_destination_lead_nowhere(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service)
    visitors.expected_statuses = {422}
    page = await visitors.page()
    await page.goto(f"{service.origin}/app/login?next=//evil.example/app")
    await page.get_by_label("Mobile number").fill(customer.email)
    await page.get_by_label("Password").fill("not it")
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("alert")).to_contain_text("do not match a wallet")
    assert await page.get_by_label("Mobile number").input_value() == customer.email
    await page.get_by_label("Password").fill(customer.password)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", name="Balance")).to_be_visible()
    assert page.url == f"{service.origin}/app"


async def test_a_sandbox_wallet_has_its_own_log_in_and_a_band(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service, mode="sandbox")
    page = await visitors.page()
    await page.goto(f"{service.origin}/app/login")
    await page.get_by_role("link", name="sandbox wallet").click()
    await page.get_by_label("Mobile number").fill(customer.mobile)
    await page.get_by_label("Password").fill(customer.password)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", name="Balance")).to_be_visible()
    await expect(page.locator(".band")).to_contain_text("No real money moves")
    assert await serious_violations(page) == []


# Balance, limits, history.


@both_sizes
async def test_the_first_page_shows_balance_limits_and_what_waits(
    visitors: Visitors, live_shop: Merchant, size: str
) -> None:
    page = await open_app(visitors, await busy_wallet(live_shop), size=size)
    await expect(page.locator(".amount")).to_have_text("MVR\N{NO-BREAK SPACE}2,235.00")
    limits = page.get_by_role("region", name="Limits")
    await expect(limits).to_contain_text(re.compile(r"MVR.1,265\.00 of MVR.10,000\.00 spent"))
    await expect(limits).to_contain_text(re.compile(r"MVR.28,735\.00 left until .*, 00:00"))
    await expect(limits).to_contain_text(re.compile(r"single payment can be up to MVR.5,000\.00"))
    widths = [await bar.get_attribute("width") for bar in await limits.locator("rect").all()]
    assert widths == ["12%", "4%", "2%"]
    await expect(page.get_by_role("region", name="Waiting").get_by_role("listitem")).to_have_count(
        2
    )
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


async def test_a_wallet_without_limits_and_without_history(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service, tier="business", balance=0)
    page = await open_app(visitors, customer)
    await expect(page.get_by_text("no limit")).to_have_count(3)
    await expect(page.get_by_text("Nothing has happened")).to_be_visible()
    await page.get_by_role("link", name="Transactions", exact=True).click()
    await expect(page.get_by_text("Nothing has happened")).to_be_visible()


@both_sizes
async def test_failed_transactions_are_told_apart(
    visitors: Visitors, live_shop: Merchant, size: str
) -> None:
    customer = await busy_wallet(live_shop)
    page = await open_app(visitors, customer, "/app/transactions", size)
    failed = page.get_by_role("listitem").filter(has_text="whole café")
    await expect(failed).to_contain_text("Failed")
    await expect(failed).to_contain_text("No money moved")
    assert await failed.locator("s").inner_text() == "\N{MINUS SIGN}MVR\N{NO-BREAK SPACE}5,000.00"
    paid = page.get_by_role("listitem").filter(has_text="Lunch for four")
    await expect(paid).not_to_contain_text("Failed")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


async def _top_ups(service: Service, customer: Customer, count: int) -> None:
    await execute(
        service,
        "INSERT INTO transactions (tid, account, time, type, name, details, amount, status) "
        "SELECT upper(substr(md5(random()::text), 1, 16)), $1, now(), 'topup', 'Top-up', "
        "'Number ' || lpad(n::text, 3, '0'), 100, 'success' FROM generate_series(1, $2) n",
        customer.account,
        count,
    )


@with_and_without_scripts
async def test_the_history_is_read_to_its_end(
    visitors: Visitors, service: Service, scripts: bool
) -> None:
    """By scrolling where there are scripts, by links where there are none; nothing twice."""
    customer = await new_customer(service, balance=0)
    await _top_ups(service, customer, 65)
    page = await open_app(visitors, customer, "/app/transactions", java_script_enabled=scripts)
    seen: list[str] = []
    details = page.get_by_text(re.compile(r"^Number \d+$"))
    if scripts:
        for reached in (40, 60, 65):
            await page.get_by_role("contentinfo").scroll_into_view_if_needed()
            await expect(details.nth(reached - 1)).to_be_attached()
        await expect(page.get_by_role("link", name="Show older")).to_have_count(0)
        seen = await details.all_inner_texts()
    else:
        while True:
            seen += await details.all_inner_texts()
            link = page.get_by_role("link", name="Show older")
            if not await link.count():
                break
            await link.click()
            await heading(page).to_have_text("Older transactions")
            await expect(page.get_by_text(seen[-1])).to_have_count(0)
    assert seen == [f"Number {n:03}" for n in range(65, 0, -1)]


async def test_a_cursor_of_somebody_else_shows_nothing(
    visitors: Visitors, service: Service
) -> None:
    other, customer = await new_customer(service), await new_customer(service)
    (row,) = await execute(
        service, "SELECT tid FROM transactions WHERE account = $1", other.account
    )
    visitors.expected_statuses = {404}
    page = await open_app(visitors, customer, f"/app/transactions?before={row['tid']}")
    await heading(page).to_have_text("This page does not exist")


# Payment requests.


@both_sizes
@with_and_without_scripts
async def test_a_request_is_paid(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str, scripts: bool
) -> None:
    customer = await new_customer(service, balance=50_000)
    request = ask(live_shop, customer, title="Two coffees", bill_number="B-17")
    page = await open_app(visitors, customer, "/app/requests", size, java_script_enabled=scripts)
    await page.get_by_role("link", name="Two coffees").click()
    await heading(page).to_have_text("Seagull Café asks you to pay")
    await expect(page.locator(".facts .total")).to_contain_text("375.00")
    if scripts:
        assert await serious_violations(page) == []
        assert await sideways_scroll(page) <= 0
    await page.get_by_role("button", name="Pay MVR").click()
    await heading(page).to_have_text("Paid")
    stored = await find(live_shop, request, "payment-requests")
    assert stored["status"] == "paid"
    await expect(page.get_by_text(stored["payment_reference"])).to_be_visible()
    if scripts:
        assert await serious_violations(page) == []
    await page.get_by_role("link", name="Overview").click()
    await expect(page.locator(".amount")).to_contain_text("375.00")


@with_and_without_scripts
async def test_a_request_is_rejected_without_a_password(
    visitors: Visitors, service: Service, live_shop: Merchant, scripts: bool
) -> None:
    customer = await new_customer(service)
    request = ask(live_shop, customer)
    path = f"/app/requests/{request['id']}"
    page = await open_app(visitors, customer, path, age=LONG_AGO, java_script_enabled=scripts)
    await page.get_by_role("button", name="Reject").click()
    await heading(page).to_have_text("Rejected")
    assert (await find(live_shop, request, "payment-requests"))["status"] == "rejected"


async def test_paying_long_after_the_log_in_asks_for_the_password(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    request = ask(live_shop, customer)
    visitors.expected_statuses = {422}
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}", age=LONG_AGO)
    password = page.get_by_label("For your safety")
    await password.fill("not it")
    await page.get_by_role("button", name="Pay").click()
    await expect(page.get_by_role("alert")).to_contain_text("That is not your password")
    assert (await find(live_shop, request, "payment-requests"))["status"] == "pending"
    await password.fill(customer.password)
    await page.get_by_role("button", name="Pay").click()
    await heading(page).to_have_text("Paid")


@both_sizes
async def test_a_balance_too_low_says_so_and_takes_nothing(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str
) -> None:
    customer = await new_customer(service, balance=10_000)
    request = ask(live_shop, customer, amount=12_500)
    visitors.expected_statuses = {402}
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}", size)
    await expect(page.get_by_role("status")).to_contain_text(re.compile(r"MVR.25\.00 too low"))
    await page.get_by_role("button", name="Pay").click()
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text(re.compile(r"MVR.25\.00 too low. Top up your wallet"))
    await expect(alert).to_contain_text("Nothing has been taken")
    assert await serious_violations(page) == []
    assert (await find(live_shop, request, "payment-requests"))["status"] == "pending"
    await page.get_by_role("link", name="Transactions").click()
    await expect(page.get_by_role("listitem").first).to_contain_text("Failed")


async def test_a_limit_of_the_wallet_says_how_much_is_left(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service, balance=2_000_000, tier="basic")
    for _ in range(2):
        await answer(live_shop, customer, ask(live_shop, customer, amount=450_000), PayRequest)
    request = ask(live_shop, customer, amount=200_000)
    visitors.expected_statuses = {422}
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}")
    await page.get_by_role("button", name="Pay").click()
    await expect(page.get_by_role("alert")).to_contain_text(
        re.compile(r"today: MVR.1,000\.00 of MVR.10,000\.00 is left. You can pay after midnight")
    )


async def test_two_tabs_pay_once(visitors: Visitors, service: Service, live_shop: Merchant) -> None:
    customer = await new_customer(service, balance=50_000)
    request = ask(live_shop, customer)
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}")
    other = await page.context.new_page()
    await other.goto(page.url)
    for tab in (page, other):
        await tab.get_by_role("button", name="Pay").click()
        await heading(tab).to_have_text("Paid")
    (row,) = await execute(
        service, "SELECT balance FROM wallets WHERE account = $1", customer.account
    )
    assert row["balance"] == 37_500


async def test_a_request_that_ends_meanwhile_changes_on_the_page(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    request = ask(live_shop, customer)
    page = await open_app(visitors, customer, f"/app/requests/{request['id']}")
    await expect(page.get_by_role("button", name="Pay")).to_be_visible()
    assert live_shop.post(f"/payment-requests/{request['id']}/cancel").status_code == 200
    await heading(page).to_have_text("Cancelled")


async def test_states_that_only_show(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    held, late = ask(live_shop, customer, title="Held"), ask(live_shop, customer, title="Late")
    await answer(live_shop, customer, held, ReserveRequest)
    await execute(
        service,
        "UPDATE payment_requests SET expires_at = now() - interval '1 second' WHERE id = $1::uuid",
        late["id"].removeprefix("prq_"),
    )
    page = await open_app(visitors, customer, f"/app/requests/{held['id']}")
    await expect(page.get_by_text("Payment is being processed")).to_be_visible()
    await expect(page.get_by_role("button", name="Pay")).to_have_count(0)
    await page.goto(f"{service.origin}/app/requests/{late['id']}")
    await heading(page).to_have_text("Expired")
    await expect(page.get_by_role("button", name="Pay")).to_have_count(0)


@with_and_without_scripts
async def test_requests_that_wait_come_before_those_that_ended(
    visitors: Visitors, service: Service, live_shop: Merchant, scripts: bool
) -> None:
    customer = await new_customer(service, balance=100_000, tier="business")
    first = ask(live_shop, customer, amount=100, title="Oldest, waits")
    for number in range(24):
        request = ask(live_shop, customer, amount=100, title=f"Number {number:02}")
        if number < 22:
            await answer(live_shop, customer, request, PayRequest)
    page = await open_app(visitors, customer, "/app/requests", java_script_enabled=scripts)
    lines = page.get_by_role("main").get_by_role("listitem").get_by_role("link")
    if scripts:
        await page.get_by_role("contentinfo").scroll_into_view_if_needed()
        await expect(lines).to_have_count(25)
        titles = await lines.all_inner_texts()
        assert await serious_violations(page) == []
    else:
        titles = await lines.all_inner_texts()
        await page.get_by_role("link", name="Show older").click()
        await heading(page).to_have_text("Older payment requests")
        titles += await lines.all_inner_texts()
    assert titles[:3] == ["Number 23", "Number 22", first["title"]]
    assert titles[3:] == [f"Number {number:02}" for number in range(21, -1, -1)]


async def test_a_request_to_somebody_else_does_not_exist(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    request = ask(live_shop, await new_customer(service))
    visitors.expected_statuses = {404}
    page = await open_app(visitors, await new_customer(service), f"/app/requests/{request['id']}")
    await heading(page).to_have_text("This page does not exist")
    for path in ("requests/prq_1", "authorizations/auth_x", "nothing"):
        await page.goto(f"{service.origin}/app/{path}")
        await heading(page).to_have_text("This page does not exist")


# Authorizations.


@both_sizes
async def test_an_authorization_shows_its_limits_and_is_paused_resumed_and_revoked(
    visitors: Visitors, live_shop: Merchant, size: str
) -> None:
    customer = await busy_wallet(live_shop)
    page = await open_app(visitors, customer, "/app/authorizations", size)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_role("link", name="Coffee beans").click()
    await heading(page).to_have_text("Coffee beans every month")
    main = page.get_by_role("main")
    for words in (r"Up to MVR.500\.00 per payment", r"At most MVR.1,200\.00 a month", "Until 31 D"):
        await expect(main).to_contain_text(re.compile(words))
    used = page.get_by_role("region", name="Used so far")
    await expect(used).to_contain_text(
        re.compile(r"MVR.805\.00 of MVR.1,200\.00 · starts anew on 1")
    )
    assert [await bar.get_attribute("width") for bar in await used.locator("rect").all()] == [
        "67%",
        "8%",
    ]
    await expect(used).to_contain_text("Beans, with filters")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0

    authorization = {"id": page.url.rsplit("/", 1)[1]}
    await page.get_by_role("button", name="Pause").click()
    await expect(main).to_contain_text("Paused")
    assert live_shop.charge(authorization, 100).json()["error"]["code"] == "authorization_inactive"
    assert await serious_violations(page) == []
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert live_shop.charge(authorization, 100).status_code == 201
    await page.get_by_text("Revoke for good").click()
    await page.get_by_role("button", name="Revoke").click()
    await expect(main).to_contain_text("Revoked")
    await expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    assert (await find(live_shop, authorization, "authorizations"))["status"] == "revoked"


async def test_resuming_long_after_the_log_in_asks_for_the_password(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    authorization = await approved(live_shop, customer, limits={"per_payment": 100})
    visitors.expected_statuses = {422}
    page = await open_app(
        visitors, customer, f"/app/authorizations/{authorization['id']}", age=LONG_AGO
    )
    await page.get_by_role("button", name="Pause").click()
    await page.get_by_label("For your safety").fill("not it")
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("alert")).to_contain_text("That is not your password")
    await page.get_by_label("For your safety").fill(customer.password)
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()


async def test_what_the_merchant_ended_first_is_shown_as_it_is(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    authorization = await approved(live_shop, customer)
    page = await open_app(visitors, customer, f"/app/authorizations/{authorization['id']}")
    await expect(page.get_by_role("status")).to_contain_text("No limit on the amount is set")
    live_shop.post(f"/authorizations/{authorization['id']}/cancel")
    visitors.expected_statuses = {409}
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("alert")).to_contain_text("is already revoked")
    await expect(page.get_by_role("main")).to_contain_text("This was ended")
    await expect(page.get_by_role("button", name="Pause")).to_have_count(0)


# Keys and the password.


def read_wallet(service: Service, api_key: str) -> int:
    return httpx.get(f"{service.origin}/wallet/balance", headers={"X-API-Key": api_key}).status_code


@both_sizes
async def test_a_key_is_shown_once_used_and_revoked(
    visitors: Visitors, service: Service, size: str
) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/keys", size)
    await page.get_by_label("Name").fill("Spreadsheet")
    await page.get_by_role("button", name="Create a key").click()
    api_key = await page.locator("#new-key").inner_text()
    assert api_key.startswith("wk_")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0

    line = page.get_by_role("listitem").filter(has_text="Spreadsheet")
    await expect(line).to_contain_text("Never used")
    assert read_wallet(service, api_key) == 200
    await page.reload()
    await expect(line).to_have_count(1)  # a reload makes no second one
    await expect(line).to_contain_text("Last used")
    assert api_key not in await page.content()
    await line.get_by_text("Revoke", exact=True).click()
    await line.get_by_role("button", name="Revoke").click()
    await expect(line).to_have_count(0)
    assert read_wallet(service, api_key) == 401


async def test_the_last_use_is_written_once_a_minute(service: Service, visitors: Visitors) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/keys")
    await page.get_by_label("Name").fill("k")
    await page.get_by_role("button", name="Create a key").click()
    api_key = await page.locator("#new-key").inner_text()
    stored = "SELECT last_used_at FROM wallet_keys WHERE account = $1 AND name = 'k'"
    read_wallet(service, api_key)
    ((first,),) = await execute(service, stored, customer.account)
    read_wallet(service, api_key)
    assert await execute(service, stored, customer.account) == [(first,)]
    await execute(
        service,
        "UPDATE wallet_keys SET last_used_at = now() - interval '61 seconds' WHERE account = $1",
        customer.account,
    )
    read_wallet(service, api_key)
    ((again,),) = await execute(service, stored, customer.account)
    assert again > first


async def test_keys_that_cannot_be_made_or_are_not_ones_own(
    visitors: Visitors, service: Service
) -> None:
    customer, other = await new_customer(service), await new_customer(service)
    await execute(
        service,
        "INSERT INTO wallet_keys (digest, account, name) "
        "SELECT sha256(n::text::bytea || $2), $1, 'old ' || n FROM generate_series(1, 19) n",
        customer.account,
        customer.id.bytes,
    )
    visitors.expected_statuses = {422}
    page = await open_app(visitors, customer, "/app/keys", age=LONG_AGO)
    await page.get_by_label("Name").fill("one too many")
    await page.get_by_label("For your safety").fill("not it")
    await page.get_by_role("button", name="Create a key").click()
    await expect(page.get_by_role("alert")).to_contain_text("That is not your password")
    assert await page.get_by_label("Name").input_value() == "one too many"
    await page.get_by_label("For your safety").fill(customer.password)
    await page.get_by_role("button", name="Create a key").click()
    await expect(page.get_by_role("alert")).to_contain_text("Revoke one first")

    (theirs,) = await execute(
        service, "SELECT digest FROM wallet_keys WHERE account = $1", other.account
    )
    await page.get_by_text("Revoke", exact=True).first.click()
    form = page.locator("form[action$='/revoke']").first
    await form.evaluate(
        "(form, digest) => { form.action = `/app/keys/${digest}/revoke` }", theirs["digest"].hex()
    )
    await form.get_by_role("button").click()
    await expect(page.get_by_role("alert")).to_have_count(0)
    (kept,) = await execute(
        service, "SELECT revoked_at FROM wallet_keys WHERE account = $1", other.account
    )
    assert kept["revoked_at"] is None


@both_sizes
async def test_a_new_password_logs_everybody_else_out(
    visitors: Visitors, service: Service, size: str
) -> None:
    customer = await new_customer(service)
    elsewhere = await open_app(visitors, customer)
    page = await open_app(visitors, customer, "/app/password", size)
    assert await serious_violations(page) == []
    visitors.expected_statuses = {422}

    async def change(current: str, new: str, repeated: str) -> None:
        await page.get_by_label("Current password").fill(current)
        await page.get_by_label("New password, at").fill(new)
        await page.get_by_label("New password once").fill(repeated)
        await page.get_by_role("button", name="Change").click()

    await change("not it", "a better password", "a better password")
    await expect(page.get_by_role("alert")).to_contain_text("That is not your password")
    await change(customer.password, "a better password", "another password")
    await expect(page.get_by_role("alert")).to_contain_text("are not the same")
    await change(customer.password, "a better password", "a better password")
    await expect(page.get_by_role("status")).to_contain_text("Your password is changed")
    await elsewhere.reload()
    await heading(elsewhere).to_have_text("Log in to your wallet")
    await elsewhere.get_by_label("Mobile number").fill(customer.mobile)
    await elsewhere.get_by_label("Password").fill("a better password")
    await elsewhere.get_by_role("button", name="Log in").click()
    await expect(elsewhere.get_by_role("heading", name="Balance")).to_be_visible()
    await page.get_by_role("link", name="Overview").click()
    await expect(page.get_by_role("heading", name="Balance")).to_be_visible()


# What strangers write.


async def test_words_of_others_are_only_words(visitors: Visitors, service: Service) -> None:
    """Any dialog, and anything on the console, fails the test when the visitors leave."""
    for payload in PAYLOADS:
        shop = await asyncio.to_thread(service.merchant, mode="live", name=payload)
        customer = await new_customer(service, name=payload)
        words = {"title": payload, "description": payload}
        request = ask(shop, customer, reference=payload, **words)
        authorization = await approved(shop, customer, reference=payload, **words)
        assert shop.charge(authorization, 100, title=payload).status_code == 201
        page = await open_app(visitors, customer, "/app/keys")
        await page.get_by_label("Name").fill(payload)
        await page.get_by_role("button", name="Create a key").click()
        await expect(page.get_by_text(payload).first).to_be_visible()
        paths = ("", "/transactions", "/requests", "/authorizations", "/keys")
        one = (f"/requests/{request['id']}", f"/authorizations/{authorization['id']}")
        for path in (*paths, *one):
            await page.goto(f"{service.origin}/app{path}")
            await expect(page.get_by_text(payload).first).to_be_visible()
        await page.context.close()
        visitors.contexts.remove(page.context)


async def test_a_form_from_elsewhere_does_nothing(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    request = ask(live_shop, customer)
    page = await open_app(visitors, customer)
    address = f"{service.origin}/app/requests/{request['id']}/pay"
    cookies = {cookie["name"]: cookie["value"] for cookie in await page.context.cookies()}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "same-origin"}):
        refused = httpx.post(address, data={"form_token": "x"}, headers=headers, cookies=cookies)
        assert refused.status_code == 403
    assert (await find(live_shop, request, "payment-requests"))["status"] == "pending"
