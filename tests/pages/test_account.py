"""One's own account: the password and its rule, the end of all sessions, and what asks for it."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from laari.store.postgres.pool import connection_to
from laari.store.reads.people import logins
from tests.actors import change
from tests.logins import whose
from tests.pages.forms import token_in
from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.pages.people import (
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import LONG_AGO, heading, open_app
from tests.serving import Merchant, Service, ask_for_token

BETTER = "two flat whites and a cake"


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service)


async def client_of(visitors: Visitors, owner: Owner, age: timedelta) -> httpx.Client:
    """A client with the session of somebody who logged in some time ago."""
    context = await visitors.context()
    await visitors.log_in(context, owner.email, age)
    cookies = {cookie["name"]: cookie["value"] for cookie in await context.cookies()}
    return httpx.Client(
        base_url=owner.url("/sandbox"),
        cookies=cookies,
        headers={"Sec-Fetch-Site": "same-origin"},
        timeout=30,
    )


def send(client: httpx.Client, page: str, action: str, **fields: Any) -> httpx.Response:
    token = token_in(client.get(page).text)
    return client.post(action, data={"form_token": token, **fields})


@both_sizes
async def test_a_merchants_person_changes_the_password(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    visitors.expected_statuses = {422}
    elsewhere = await owner.open(visitors, "/sandbox")
    page = await owner.open(visitors, "/sandbox", size)
    await page.get_by_role("link", name="Your account").click()
    await heading(page).to_have_text("Your account")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0

    async def change(current: str, new: str, repeated: str) -> None:
        await page.get_by_label("Current password").fill(current)
        await page.get_by_label("New password, at").fill(new)
        await page.get_by_label("New password again").fill(repeated)
        await page.get_by_role("button", name="Change the password").click()

    for current, new, repeated, told in (
        ("not it", BETTER, BETTER, "not your password"),
        (PASSWORD, "Password123", "Password123", "too common"),
        (PASSWORD, BETTER, "two flat whites and cake", "passwords are different"),
        (PASSWORD, PASSWORD, PASSWORD, "same as the current one"),
    ):
        await change(current, new, repeated)
        await expect(page.get_by_role("alert")).to_contain_text(told)
    await change(PASSWORD, BETTER, BETTER)
    await expect(page.get_by_role("status")).to_contain_text("Your password is changed")
    await elsewhere.reload()
    await heading(elsewhere).to_have_text("Log in to the dashboard")
    await elsewhere.get_by_label("Email address").fill(owner.email)
    await elsewhere.get_by_label("Password").fill(BETTER)
    await elsewhere.get_by_role("button", name="Log in").click()
    await expect(elsewhere.get_by_role("navigation", name="Dashboard")).to_be_visible()


async def test_logging_out_everywhere_ends_every_session_of_one_person(
    visitors: Visitors, service: Service, owner: Owner
) -> None:
    customer, other = await new_customer(service), new_owner(service)
    pages = [
        (await open_app(visitors, customer), await open_app(visitors, customer, "/app/password")),
        (await owner.open(visitors, ""), await owner.open(visitors, "/sandbox/account")),
    ]
    apart = await other.open(visitors, "/sandbox")
    for elsewhere, page in pages:
        await page.get_by_role("button", name="Log out everywhere").click()
        await heading(page).to_contain_text("Log in to")
        await elsewhere.reload()
        await heading(elsewhere).to_contain_text("Log in to")
    await apart.reload()
    await expect(apart.get_by_role("navigation", name="Dashboard")).to_be_visible()


# Passwords that an operator set.


@both_sizes
async def test_a_customer_changes_an_operators_password_first(
    visitors: Visitors, service: Service, live_shop: Merchant, size: str
) -> None:
    customer = await new_customer(service, must_change=True)
    payment = live_shop.payment()["payment_url"]
    page = await open_app(visitors, customer, payment.removeprefix(service.origin), size)
    await expect(
        page.get_by_role("button", name="Pay MVR")
    ).to_be_visible()  # paying is not held up
    for path in ("/app", "/app/keys", "/app/transactions"):
        await page.goto(service.origin + path)
        await expect(page).to_have_url(f"{service.origin}/app/password")
        await expect(page.get_by_role("status")).to_contain_text("set by somebody else")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_label("Current password").fill(customer.password)
    await page.get_by_label("New password, at").fill(BETTER)
    await page.get_by_label("New password again").fill(BETTER)
    await page.get_by_role("button", name="Change the password").click()
    await expect(page.get_by_role("status")).to_contain_text("Your password is changed")
    await page.goto(f"{service.origin}/app")
    await expect(page.get_by_role("heading", name="Balance")).to_be_visible()


async def test_a_merchants_person_changes_an_operators_password_first(
    visitors: Visitors, service: Service
) -> None:
    owner = await asyncio.to_thread(new_owner, service, mode="live", must_change=True)
    page = await owner.open(visitors, "")
    for path in ("", "/live/payments", "/sandbox/keys", "/live/payments/export.csv"):
        await page.goto(f"{service.origin}/dashboard{path}")
        await heading(page).to_have_text("Your account")
        await expect(page.get_by_role("status")).to_contain_text("set by somebody else")
    assert await serious_violations(page) == []
    cookies = {cookie["name"]: cookie["value"] for cookie in await page.context.cookies()}
    with httpx.Client(cookies=cookies, headers={"Sec-Fetch-Site": "same-origin"}) as client:
        client.base_url = owner.url("/live")
        form = send(client, "/account", "/webhooks", webhook_url="https://shop.mv/hook")
        assert form.headers["location"].endswith("/live/account")  # nor is anything done
    await page.get_by_label("Current password").fill(PASSWORD)
    await page.get_by_label("New password, at").fill(BETTER)
    await page.get_by_label("New password again").fill(BETTER)
    await page.get_by_role("button", name="Change the password").click()
    await expect(page.get_by_role("status")).to_contain_text("Your password is changed")
    await page.goto(f"{service.origin}/dashboard/live/payments")
    await heading(page).to_have_text("Payments")


async def test_the_first_password_leads_to_its_change_and_holds_nothing_up(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service, first_password=True)
    owner = await asyncio.to_thread(new_owner, service, mode="live", first_password=True)
    for _ in range(2):  # at every log-in, until it is changed
        page = await visitors.page()
        await page.goto(f"{service.origin}/app/requests")
        await page.get_by_label("Mobile number").fill(customer.vpa)
        await page.get_by_label("Password").fill(customer.password)
        await page.get_by_role("button", name="Log in").click()
        await expect(page).to_have_url(f"{service.origin}/app/password?first=1")
        await expect(page.get_by_role("status")).to_contain_text("set by somebody else")
        await page.goto(f"{service.origin}/app/requests")
        await expect(page).to_have_url(f"{service.origin}/app/requests")
    page = await visitors.page()
    await page.goto(f"{service.origin}/dashboard/live/payments")
    await page.get_by_label("Email").fill(owner.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await heading(page).to_have_text("Your account")
    await expect(page.get_by_role("status")).to_contain_text("set by somebody else")
    await page.goto(f"{service.origin}/dashboard/live/payments")
    await heading(page).to_have_text("Payments")
    await page.goto(f"{service.origin}/dashboard/live/account")
    await page.get_by_label("Current password").fill(PASSWORD)
    await page.get_by_label("New password, at").fill(BETTER)
    await page.get_by_label("New password again").fill(BETTER)
    await page.get_by_role("button", name="Change the password").click()
    await expect(page.get_by_role("status")).to_contain_text("Your password is changed")
    rows = await asyncio.to_thread(
        service.execute, "SELECT password_first FROM persons WHERE email = $1", owner.email
    )
    assert [row["password_first"] for row in rows] == [False]


# What asks for the password again.


async def test_a_client_is_made_and_revoked_with_a_recent_password(
    visitors: Visitors, owner: Owner
) -> None:
    client_id, secret = owner.shop.client()
    old = await client_of(visitors, owner, LONG_AGO)
    make = {"clients": "1", "payments:read": "on"}
    for password in ({}, {"password": "wrong"}):
        refused = send(old, "/keys", "/keys/clients", **make, **password)
        assert (refused.status_code, "not your password" in refused.text) == (422, True)
        assert 'name="payments:read" checked' in refused.text
        assert 'name="payments:create" checked' not in refused.text
        revoked = send(old, f"/keys/clients/{client_id}", f"/keys/clients/{client_id}", **password)
        assert (revoked.status_code, "not your password" in revoked.text) == (422, True)
    service = owner.shop.service
    assert ask_for_token(service, auth=(client_id, secret)).status_code == 200
    nothing = send(old, "/keys", "/keys/clients", clients="1", password=PASSWORD)
    assert (nothing.status_code, "must name at least one scope" in nothing.text) == (422, True)
    made = send(old, "/keys", "/keys/clients", **make, password=PASSWORD)
    assert (made.status_code, "Client secret" in made.text) == (200, True)
    # Given once, it is recent again.
    done = send(old, f"/keys/clients/{client_id}", f"/keys/clients/{client_id}")
    assert done.status_code == 303
    assert ask_for_token(service, auth=(client_id, secret)).status_code == 401


async def test_the_webhook_url_is_changed_with_a_recent_password(
    visitors: Visitors, owner: Owner
) -> None:
    old = await client_of(visitors, owner, LONG_AGO)
    fields = {"webhook_url": "https://shop.mv/hook", "webhooks": "on"}
    refused = send(old, "/webhooks", "/webhooks", **fields)
    assert refused.status_code == 422
    assert "https://shop.mv/hook" in refused.text  # what was typed stays
    rows = owner.shop.service.execute(
        "SELECT webhook_url FROM merchants WHERE id = $1", owner.shop.id
    )
    assert rows[0]["webhook_url"] is None
    assert send(old, "/webhooks", "/webhooks", **fields, password=PASSWORD).status_code == 303


async def test_a_wallet_key_is_made_with_a_recent_password(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service)
    context = await visitors.context()
    await visitors.log_in(context, customer, LONG_AGO)
    cookies = {cookie["name"]: cookie["value"] for cookie in await context.cookies()}
    with httpx.Client(
        base_url=f"{service.origin}/app",
        cookies=cookies,
        headers={"Sec-Fetch-Site": "same-origin"},
        timeout=30,
    ) as old:
        fields = {"name": "Budget", "made": "1"}
        assert send(old, "/keys", "/keys", **fields).status_code == 422
        made = send(old, "/keys", "/keys", **fields, password=customer.password)
        assert (made.status_code, "Your new key" in made.text) == (200, True)


async def test_a_confirmation_is_of_the_password_that_is_stored(
    visitors: Visitors, owner: Owner
) -> None:
    """Changed while it is verified: the confirmation waits for the change, and counts no more."""
    service = owner.shop.service
    old = await client_of(visitors, owner, LONG_AGO)
    token = token_in(old.get("/webhooks").text)
    form = {"form_token": token, "webhook_url": "https://shop.mv/h", "password": PASSWORD}
    async with connection_to(service.dsn) as connection:
        transaction = connection.transaction()
        await transaction.start()
        await change(
            connection,
            "UPDATE persons SET password_hash = $2 WHERE email = $1",
            owner.email,
            "new",
        )
        answer = asyncio.create_task(asyncio.to_thread(old.post, "/webhooks", data=form))
        await asyncio.sleep(1)
        assert not answer.done()
        await transaction.commit()
        assert (await answer).status_code == 422
        person = await whose(connection, owner.email)
        assert await logins.password_hash_of(connection, person) == "new"
