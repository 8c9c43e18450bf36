"""What protects the pages: other sites, other people's forms, hostile text, guessed passwords."""

import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from laari.store.postgres.pool import connection_to
from tests.actors import change
from tests.pages.forms import Forms, token_in
from tests.pages.payloads import PAYLOADS
from tests.pages.people import Customer, Visitors, new_customer
from tests.serving import Merchant, Service, serving

pytestmark = pytest.mark.ci


def status_of(shop: Merchant, payment: dict[str, Any]) -> str:
    return shop.get(f"/payments/{payment['id']}").json()["data"]["status"]


def test_forty_different_payloads() -> None:
    assert len(set(PAYLOADS)) == 40


# What the page says, and how many elements are in it that we never write.
LOOK = """[
    document.body.innerText,
    document.querySelectorAll("main :is(script, iframe, object, embed, base)").length,
]"""


async def rename(service: Service, shop: Merchant, customer: Customer, name: str) -> None:
    async with connection_to(service.dsn) as connection:
        await change(connection, "UPDATE merchants SET name = $2 WHERE id = $1", shop.id, name)
        await change(connection, "UPDATE customers SET name = $2 WHERE id = $1", customer.id, name)


async def test_hostile_text_stays_text(
    visitors: Visitors, service: Service, shop: Merchant
) -> None:
    customer = await new_customer(service, mode="sandbox")
    context = await visitors.context("desktop")
    await visitors.log_in(context, customer)
    page = await context.new_page()

    async def show(address: str, payload: str) -> None:
        await page.goto(address)
        text, foreign = await page.evaluate(LOOK)
        assert payload in text
        assert foreign == 0

    for payload in PAYLOADS:
        await rename(service, shop, customer, payload)
        text = {"reference": payload, "title": payload, "description": payload}
        payment = shop.payment(**text, terminal_label=payload[:10].strip())
        await show(payment["payment_url"], payload)
        # Leave first: a page that is still fetching its QR image would not find it once paid.
        await show(shop.authorization(**text)["approval_url"], payload)
        shop.control(f"payments/{payment['id']}/pay")
        await show(payment["payment_url"], payload)
    assert visitors.dialogs == []


async def test_what_comes_back_after_a_mistake_stays_text(
    visitors: Visitors, live_shop: Merchant
) -> None:
    visitors.expected_statuses = {422}
    page = await visitors.page()
    await page.goto(live_shop.payment()["payment_url"])
    for start in range(0, len(PAYLOADS), 5):
        identity = " ".join(PAYLOADS[start : start + 5])[:300]
        await page.get_by_label("Mobile number, email or VPA").fill(identity)
        await page.get_by_label("Password").fill(identity)
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("alert")).to_contain_text("do not match")
        await expect(page.get_by_label("Mobile number, email or VPA")).to_have_value(identity)


async def test_another_site_can_neither_send_our_forms_nor_frame_us(
    visitors: Visitors, service: Service, shop: Merchant
) -> None:
    payment = shop.payment()
    address = payment["payment_url"]
    context = await visitors.context("desktop")
    page = await context.new_page()
    await page.goto(address)  # this browser has its cookies, and the other site its token
    token = token_in(await page.content())
    evil = f"""<!doctype html><form method=post action="{address}/sandbox/pay">
        <input name=form_token value="{token}"><button>win</button></form>
        <iframe src="{address}"></iframe>"""

    async def answer(route) -> None:
        await route.fulfill(body=evil, content_type="text/html")

    await context.route("http://evil.test/", answer)
    await page.goto("http://evil.test/")
    assert all(not frame.url.startswith(service.origin) for frame in page.frames)
    async with page.expect_response(f"{address}/sandbox/pay") as response:
        await page.get_by_role("button", name="win").click()
    assert (await response.value).status == 403
    await expect(page.get_by_role("heading", level=1)).to_have_text("Nothing was done")
    assert status_of(shop, payment) == "pending"
    visitors.complaints.clear()  # the browser complains of the frame and of the 403, as it should


def test_a_form_needs_its_own_browsers_token_and_our_origin(
    service: Service, shop: Merchant
) -> None:
    payment = shop.payment()
    address = payment["payment_url"]
    action = f"{address}/sandbox/decline"
    browser, other = Forms(), Forms()
    token = browser.token(address)
    refused = [
        browser.send(action, {"other": "field"}),
        browser.send(action, {"form_token": "0" * 64}),
        browser.send(action, {"form_token": other.token(address)}),
        browser.send(action, {"form_token": token}, Sec_Fetch_Site="cross-site"),
        browser.send(action, {"form_token": token}, Sec_Fetch_Site="same-site"),
        browser.send(action, {"form_token": token}, Origin="https://evil.test"),
        Forms().send(action, {"form_token": token}),
    ]
    assert [response.status_code for response in refused] == [403] * len(refused)
    spoofed = {"Host": "evil.test", "Origin": "http://evil.test"}
    assert browser.send(action, {"form_token": token}, **spoofed).status_code == 403
    elsewhere = browser.send(action, {"form_token": token}, Origin="http://localhost:1")
    assert elsewhere.status_code == 403
    assert "Open this page at its own address" in elsewhere.text
    assert f'href="{address}"' in elsewhere.text
    assert browser.http.post(action, json={"form_token": token}).status_code == 400
    assert browser.http.get(action).headers["location"] == f"/pay/{address.rpartition('/')[2]}"
    assert status_of(shop, payment) == "pending"
    done = browser.send(action, {"form_token": token}, Origin=service.origin)
    assert done.status_code == 303
    assert status_of(shop, payment) == "rejected"


def test_every_answer_carries_the_headers(service: Service, shop: Merchant) -> None:
    address = shop.payment()["payment_url"]
    for path in (address, f"{address}/status", f"{service.origin}/pay/none"):
        headers = httpx.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
    style = re.search(r'href="(/static/[^"]+css)"', httpx.get(address).text)
    assert style is not None
    assert "immutable" in httpx.get(service.origin + style[1]).headers["cache-control"]


async def test_the_session_cookie_is_out_of_reach(service: Service, live_shop: Merchant) -> None:
    customer = await new_customer(service)
    address = live_shop.payment()["payment_url"]
    for scheme, name in (("http", "laari-page-"), ("https", "__Host-laari-page-")):
        browser = Forms(**{"X-Forwarded-Proto": scheme})
        first = browser.http.get(address)
        # httpx keeps a Secure cookie from plain http, which the test's own connection is.
        held = {"Cookie": first.headers["set-cookie"].partition(";")[0]}
        fields = {
            "form_token": token_in(first.text),
            "identity": customer.mobile,
            "password": customer.password,
        }
        browser.http.cookies.clear()
        answer = browser.send(f"{address}/login", fields, **held)
        cookies = answer.headers.get_list("set-cookie")
        assert cookies[0].startswith(name)
        assert len(cookies) == 2  # the session, and that this browser is known
        for cookie in cookies:
            parts = {part.strip().lower() for part in cookie.split(";")[1:]}
            assert {"httponly", "path=/", "samesite=lax"} <= parts
            assert ("secure" in parts) == (scheme == "https")
            assert not any(part.startswith("domain") for part in parts)


async def test_guessing_a_password_is_throttled(service: Service, live_shop: Merchant) -> None:
    customer = await new_customer(service)
    address = live_shop.payment()["payment_url"]
    browser = Forms()
    fields = {"form_token": browser.token(address), "identity": customer.mobile, "password": "no"}
    answers = [browser.send(f"{address}/login", fields).status_code for _ in range(11)]
    assert answers == [422] * 10 + [429]
    right = browser.send(f"{address}/login", {**fields, "password": customer.password})
    assert right.status_code == 429
    assert "Too many attempts" in right.text
    other = {**fields, "identity": (await new_customer(service)).mobile}
    assert browser.send(f"{address}/login", other).status_code == 422


@pytest.mark.parametrize("path", ["/app", "/app/login", "/dashboard", "/pay/none", "/approve/none"])
def test_a_cookie_of_any_form_holds_nobody_up(service: Service, path: str) -> None:
    hostile = {"Cookie": 'a="' + 24_000 * r"\\" + '"'}
    with httpx.Client(base_url=service.origin, timeout=30) as client:
        client.get("/healthz")
        began = time.monotonic()
        assert client.get(path, headers=hostile).status_code in (200, 303, 404)
        assert time.monotonic() - began < 2


def test_a_return_address_is_only_ever_the_stored_one(shop: Merchant) -> None:
    payment = shop.payment(return_url="https://shop.example/done")
    shop.control(f"payments/{payment['id']}/pay")
    html = httpx.get(payment["payment_url"] + "?return_url=https://evil.test/").text
    assert "https://shop.example/done" in html
    assert "evil.test" not in html


async def test_plain_http_is_refused_where_https_is_required(dsn: str, tmp_path: Path) -> None:
    settings = {"LAARI_REQUIRE_HTTPS": "on", "LAARI_TRUSTED_PROXIES": "127.0.0.1"}
    with serving(dsn, tmp_path, **settings) as service:
        for path in ("/pay/none", "/approve/none"):
            assert httpx.get(service.origin + path).status_code == 403
            proxied = httpx.get(service.origin + path, headers={"X-Forwarded-Proto": "https"})
            assert proxied.status_code == 404
