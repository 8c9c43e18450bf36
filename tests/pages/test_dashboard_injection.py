"""What strangers and colleagues type is shown as text, on every page of the dashboard."""

from urllib.parse import urlencode

import pytest
from playwright.async_api import Page

from tests.pages.owners import Owner, new_owner
from tests.pages.payloads import PAYLOADS, with_payloads
from tests.pages.people import Visitors
from tests.serving import Service


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service, name="<script>alert('shop')</script>")


async def test_stored_texts_stay_texts(visitors: Visitors, owner: Owner) -> None:
    shop = owner.shop
    for number, payload in enumerate(PAYLOADS):
        named = {"reference": f"{payload} {number}"[:100], "title": payload, "description": payload}
        made = shop.payment(**named, terminal_label=payload[:10], metadata={"k": payload})
        shop.request(**{**named, "reference": f"r{named['reference']}"[:100]})
        shop.authorization(**named)
    page = await owner.open(visitors, "/sandbox")
    origin = f"{shop.service.origin}/dashboard/{shop.id}/sandbox"
    request = shop.get("/payment-requests").json()["data"][0]
    authorization = shop.get("/authorizations").json()["data"][0]
    event = shop.get("/events").json()["data"][0]
    for path in (
        "",
        "/payments?limit=100",
        "/requests?limit=100",
        "/authorizations?limit=100",
        "/webhooks?limit=100",
        f"/payments/{made['id']}",
        f"/payments/{made['id']}/refund",
        f"/requests/{request['id']}",
        f"/authorizations/{authorization['id']}",
        f"/webhooks/{event['id']}",
    ):
        await page.goto(origin + path)
        assert (
            await page.locator("main script, main iframe, main [onload], main [onerror]").count()
            == 0
        )
    await page.goto(f"{origin}/payments?limit=100")
    assert await page.locator("tbody tr").count() == len(PAYLOADS)


FIELDS = (
    "amount",
    "title",
    "reference",
    "description",
    "bill_number",
    "return_url",
    "metadata_name_1",
    "metadata_value_1",
)


async def send_everywhere(page: Page, names: tuple[str, ...], text: str) -> None:
    """Puts the text into each of the fields, past what the browser would refuse, and sends them."""
    async with page.expect_navigation():
        await page.locator(f"[name={names[0]}]").evaluate(
            """(first, [names, text]) => {
                const form = first.form
                form.noValidate = true
                for (const name of names) {
                    const field = form.elements[name]
                    field.removeAttribute('maxlength')
                    if (field.tagName === 'INPUT') field.type = 'text'
                    field.value = text
                }
                form.requestSubmit()
            }""",
            [names, text],
        )


async def shown_in(page: Page, names: tuple[str, ...]) -> list[str]:
    fields = "names => names.map(name => document.querySelector(`[name=${name}]`).value)"
    return await page.evaluate(fields, list(names))


@with_payloads
async def test_every_field_gives_back_text(
    visitors: Visitors, owner: Owner, payloads: list[str]
) -> None:
    """Each payload in each field at once; what the form refuses is shown in its field again."""
    visitors.expected_statuses = {400, 402, 409, 422, 429}
    page = await owner.open(visitors, "/sandbox/payments/new")
    for payload in payloads:  # each into the form that came back with the one before
        await send_everywhere(page, FIELDS, payload)
        assert await page.get_by_role("alert").is_visible()
        assert await shown_in(page, FIELDS) == [payload] * len(FIELDS)
    await page.goto(owner.url("/sandbox/webhooks"))
    for payload in payloads:
        await send_everywhere(page, ("webhook_url",), payload)
        assert await shown_in(page, ("webhook_url",)) == [payload]


@with_payloads
async def test_addresses_carry_no_script(
    visitors: Visitors, owner: Owner, payloads: list[str]
) -> None:
    visitors.expected_statuses = {400}
    page = await owner.open(visitors, "/sandbox/payments")
    origin = f"{owner.shop.service.origin}/dashboard"
    for payload in payloads:
        await page.goto(f"{origin}/sandbox/payments?{urlencode({'q': payload, 'done': payload})}")
        assert await shown_in(page, ("q",)) == [payload]
        filters = dict.fromkeys(("bill_number", "created_from", "status", "after"), payload)
        await page.goto(f"{origin}/sandbox/payments?{urlencode(filters)}")
        assert await page.get_by_role("alert").is_visible()
        await page.goto(f"{origin}/login?{urlencode({'next': payload})}")
        assert await shown_in(page, ("next",)) == ["/dashboard"]
    # Chromium says on its console that such a text is no date.
    visitors.complaints = [c for c in visitors.complaints if "yyyy-MM-dd" not in c]
