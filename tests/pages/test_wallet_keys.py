"""API keys in the wallet application: made once, shown once, used and revoked."""

import asyncio

import httpx
import pytest
from playwright.async_api import expect

from laari.store.postgres.pool import connection_to
from tests.pages.people import (
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import (
    LONG_AGO,
    execute,
    open_app,
)
from tests.serving import Service


def read_wallet(service: Service, api_key: str) -> int:
    return httpx.get(f"{service.origin}/wallet/balance", headers={"X-API-Key": api_key}).status_code


@pytest.mark.journey
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


async def test_one_form_makes_one_key_without_script_too(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/keys", java_script_enabled=False)
    await page.get_by_label("Name").fill("Spreadsheet")
    await page.get_by_role("button", name="Create a key").click()
    api_key = await page.locator("#new-key").inner_text()
    visitors.expected_statuses = {409}
    await page.reload()  # sends the form once more
    await expect(page.get_by_role("alert")).to_contain_text("no other key was created")
    await expect(page.get_by_role("listitem").filter(has_text="Spreadsheet")).to_have_count(1)
    assert api_key not in await page.content()
    await page.get_by_label("Name").fill("Another one")  # the page has a new form
    await page.get_by_role("button", name="Create a key").click()
    await expect(page.locator("#new-key")).to_be_visible()


async def test_a_form_sent_many_times_at_once_makes_one_key(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/keys")
    names = ("form_token", "made")
    fields = {name: await page.locator(f"[name={name}]").last.input_value() for name in names}
    answers = await asyncio.gather(
        *(
            page.context.request.post(
                page.url, form={**fields, "name": "k"}, headers={"Sec-Fetch-Site": "same-origin"}
            )
            for _ in range(8)
        )
    )
    assert sorted(answer.status for answer in answers) == [200, *[409] * 7]
    made = "SELECT FROM wallet_keys WHERE account = $1 AND name = 'k'"
    assert len(await execute(service, made, customer.account)) == 1


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


async def test_a_revocation_that_fails_says_so(visitors: Visitors, service: Service) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/keys")
    visitors.expected_statuses = {409, 503}
    async with connection_to(service.dsn) as connection, connection.transaction():
        await connection.execute(
            "SELECT FROM wallets WHERE account = $1 FOR UPDATE", customer.account
        )
        await page.get_by_text("Revoke", exact=True).first.click()
        await page.locator("form[action$='/revoke']").first.get_by_role("button").click()
        await expect(page.get_by_role("alert")).to_be_visible(timeout=15_000)
    (kept,) = await execute(
        service, "SELECT revoked_at FROM wallet_keys WHERE account = $1", customer.account
    )
    assert kept["revoked_at"] is None
