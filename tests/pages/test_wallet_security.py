"""What strangers write or send to the wallet application stays without effect."""

import asyncio

import httpx
from playwright.async_api import expect

from tests.pages.payloads import with_payloads
from tests.pages.people import (
    Visitors,
    new_customer,
)
from tests.pages.wallets import (
    approved,
    ask,
    execute,
    find,
    open_app,
)
from tests.serving import Merchant, Service


@with_payloads
async def test_words_of_others_are_only_words(
    visitors: Visitors, service: Service, payloads: list[str]
) -> None:
    """Any dialog, and anything on the console, fails the test when the visitors leave."""
    hostile = payloads[0]
    shop = await asyncio.to_thread(service.merchant, mode="live", name=hostile)
    customer = await new_customer(service, name=hostile, tier="business")
    page = await open_app(visitors, customer)
    for payload in payloads:
        words = {"title": payload, "description": payload, "reference": payload}
        request = ask(shop, customer, **words)
        authorization = await approved(shop, customer, **words)
        assert shop.charge(authorization, 100, title=payload).status_code == 201
        for path in (f"requests/{request['id']}", f"authorizations/{authorization['id']}"):
            await page.goto(f"{service.origin}/app/{path}")
            await expect(page.get_by_text(payload, exact=True).first).to_be_visible()
    await execute(
        service,
        "INSERT INTO wallet_keys (digest, account, name) "
        "SELECT sha256(convert_to(name, 'UTF8') || $3), $1, name FROM unnest($2::text[]) name",
        customer.account,
        payloads,
        customer.id.bytes,
    )
    for path in ("transactions", "requests", "authorizations", "keys"):
        await page.goto(f"{service.origin}/app/{path}")
        await expect(page.get_by_text(hostile).first).to_be_visible()
        for payload in payloads:  # the list grows as its end comes near
            await page.get_by_role("contentinfo").scroll_into_view_if_needed()
            await expect(page.get_by_text(payload, exact=True).first).to_be_attached()


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
