"""Webhooks, keys and the sandbox in the dashboard."""

import asyncio
import json
from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import expect

from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.pages.people import Visitors, both_sizes, serious_violations
from tests.serving import Service, ask_for_token, serving
from tests.webhooks.test_service import Hook

pytestmark = pytest.mark.ci


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service)


@pytest.fixture(scope="module")
def open_service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that may send webhooks to this machine."""
    folder = tmp_path_factory.mktemp("hooked")
    settings = {"LAARI_WEBHOOK_ALLOW_PRIVATE": "on", "LAARI_WEBHOOK_RETRY_SECONDS": "600"}
    with serving(engine.migrated("hooked"), folder, **settings) as service:
        yield service


@pytest.fixture
def hooked(open_service: Service) -> Owner:
    return new_owner(open_service)


@pytest.fixture
def hook() -> Iterator[Hook]:
    hook = Hook()
    yield hook
    hook.close()


@both_sizes
async def test_a_webhook_is_set_tried_and_sent_again(
    visitors: Visitors, hooked: Owner, hook: Hook, size: str
) -> None:
    visitors.service = hooked.shop.service
    page = await hooked.open(visitors, "/sandbox/webhooks", size)
    assert await page.get_by_role("button", name="Send a sample event").count() == 0
    await page.get_by_label("URL for both modes").fill(hook.url)
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status")).to_contain_text("saved")
    await page.get_by_role("button", name="Send a sample event").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("webhook.test")
    attempts = page.locator(".timeline li")
    for _ in range(100):
        if await attempts.count():
            break
        await asyncio.sleep(0.1)
        await page.reload()
    await expect(attempts).to_contain_text("Status 200")
    assert json.loads(hook.received[0][1])["type"] == "webhook.test"
    assert await serious_violations(page) == []
    hook.status = 500
    await page.get_by_role("button", name="Send it again").click()
    for _ in range(100):
        if await attempts.count() == 2:
            break
        await asyncio.sleep(0.1)
        await page.reload()
    await expect(attempts.nth(1)).to_contain_text("500")
    payment = hooked.shop.payment()
    await page.goto(hooked.url(f"/sandbox/payments/{payment['id']}"))
    for _ in range(100):
        if await page.locator(".timeline .failed").count():
            break
        await asyncio.sleep(0.1)
        await page.reload()
    await expect(page.locator(".timeline .failed")).to_contain_text("Delivery of payment.created")


async def test_a_webhook_goes_to_public_addresses_only_and_is_switched_off(
    visitors: Visitors, owner: Owner
) -> None:
    visitors.expected_statuses = {400}
    page = await owner.open(visitors, "/live/webhooks")
    for url in ("http://shop.mv/hook", "https://127.0.0.1/", "https://u:p@shop.mv/", "nonsense"):
        await page.get_by_label("URL for both modes").fill(url)
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("alert")).to_contain_text("The URL must")
        await expect(page.get_by_label("URL for both modes")).to_have_value(url)
    await page.get_by_label("URL for both modes").fill("https://shop.mv/hook")
    await page.get_by_label("Send events").uncheck()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status")).to_contain_text("saved")
    await expect(page.get_by_label("Send events")).not_to_be_checked()
    await expect(page.get_by_label("URL for both modes")).to_have_value("https://shop.mv/hook")
    await page.get_by_label("URL for both modes").fill("")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_label("URL for both modes")).to_have_value("")


@both_sizes
async def test_the_secret_key_is_rotated_after_a_confirmation_and_shown_once(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    visitors.expected_statuses = {409, 422}
    page = await owner.open(visitors, "/sandbox/keys", size)  # however recent the log-in
    assert owner.shop.secret_key not in await page.content()
    await page.get_by_role("link", name="Rotate the key").click()
    await page.get_by_label("enter your password").fill("wrong")
    await page.get_by_role("button", name="Rotate the key").click()
    await expect(page.get_by_role("alert")).to_contain_text("not your password")
    assert owner.shop.get("/payments").status_code == 200
    await page.get_by_label("enter your password").fill(PASSWORD)
    await page.get_by_role("button", name="Rotate the key").click()
    new = await page.locator("#secret_key").input_value()
    assert await serious_violations(page) == []
    assert owner.shop.get("/payments").status_code == 401
    base = f"{owner.shop.service.origin}/merchant"
    assert httpx.get(f"{base}/payments", headers={"X-API-Key": new}).status_code == 200
    await page.reload()  # sends the form once more
    await expect(page.get_by_role("alert")).to_contain_text("has changed since")
    assert httpx.get(f"{base}/payments", headers={"X-API-Key": new}).status_code == 200
    await page.goto(owner.url("/sandbox/keys"))
    assert new not in await page.content()


@both_sizes
async def test_the_old_key_works_until_the_chosen_moment_or_until_it_is_ended(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    visitors.expected_statuses = {422}
    page = await owner.open(visitors, "/sandbox/keys/rotate", size)
    await page.get_by_label("The old key ends").select_option("in 24 hours")
    await page.get_by_label("enter your password").fill("wrong")
    await page.get_by_role("button", name="Rotate the key").click()
    await expect(page.get_by_label("The old key ends")).to_have_value("in 24 hours")
    await page.get_by_label("enter your password").fill(PASSWORD)
    await page.get_by_role("button", name="Rotate the key").click()
    new = await page.locator("#secret_key").input_value()
    assert await serious_violations(page) == []
    await expect(page.get_by_role("status")).to_contain_text("The old key also works")
    await expect(page.get_by_text("The old key works until")).to_be_visible()
    base = f"{owner.shop.service.origin}/merchant"

    def statuses() -> list[int]:
        keys = ({"X-API-Key": key} for key in (owner.shop.secret_key, new))
        return [httpx.get(f"{base}/payments", headers=key).status_code for key in keys]

    assert statuses() == [200, 200]
    await page.get_by_role("link", name="Rotate the key").click()
    assert await page.get_by_label("The old key ends").locator("option").all_inner_texts() == [
        "Now"
    ]
    await page.get_by_role("link", name="End only the old key").click()
    assert await serious_violations(page) == []
    await page.get_by_label("enter your password").fill("wrong")  # however recent the log-in
    await page.get_by_role("button", name="End the old key").click()
    await expect(page.get_by_role("alert")).to_contain_text("not your password")
    assert statuses() == [200, 200]
    await page.get_by_label("enter your password").fill(PASSWORD)
    await page.get_by_role("button", name="End the old key").click()
    await expect(page.get_by_role("status")).to_contain_text("no longer works")
    assert statuses() == [401, 200]
    assert await page.get_by_text("The old key works until").count() == 0


async def test_a_second_overlap_is_refused_by_the_page(visitors: Visitors, owner: Owner) -> None:
    page = await owner.open(visitors, "/sandbox/keys/rotate")
    rotated = owner.shop.service.laari("merchant", "rotate-key", owner.shop.id, "--overlap", "1")
    assert rotated.returncode == 0, rotated.stderr
    await page.reload()
    form = page.locator("form[action$='/keys/rotate']")
    fields = {
        name: await form.locator(f"[name={name}]").input_value() for name in ("form_token", "mark")
    }
    for overlap, status, words in (
        ("in 1 hour", 409, "The old key still works"),
        ("in 1 year", 400, ""),
        ("now", 200, "your new secret key"),
    ):
        response = await page.context.request.post(
            page.url,
            form={**fields, "password": PASSWORD, "overlap": overlap},
            headers={"Sec-Fetch-Site": "same-origin"},
        )
        assert response.status == status
        assert words in await response.text()


async def test_a_client_has_a_name_an_expiry_and_a_last_use(
    visitors: Visitors, owner: Owner
) -> None:
    visitors.expected_statuses = {422}
    page = await owner.open(visitors, "/sandbox/keys")
    await page.get_by_text("Create a client").click()
    await page.get_by_label("Name").evaluate("field => field.removeAttribute('maxlength')")
    await page.get_by_label("Name").fill("n" * 81)
    await page.get_by_label("Expires").select_option("in 90 days")
    await page.get_by_role("button", name="Create the client").click()
    await expect(page.get_by_role("alert")).to_contain_text("1 to 80 printable characters")
    await expect(page.get_by_label("Expires")).to_have_value("in 90 days")
    await page.get_by_label("Name").fill("Till <1>")
    await page.get_by_role("button", name="Create the client").click()
    client_id = await page.get_by_label("Client id").input_value()
    secret = await page.get_by_label("Client secret").input_value()
    listed = page.get_by_role("listitem").filter(has_text=client_id)
    await expect(listed).to_contain_text("Till <1>")
    await expect(listed).to_contain_text("Expires")
    await expect(listed).to_contain_text("Never used")
    service = owner.shop.service
    assert ask_for_token(service, auth=(client_id, secret)).status_code == 200
    service.execute("UPDATE oauth_clients SET last_used_at = now() WHERE id = $1", client_id)
    await page.goto(f"{service.origin}/dashboard/sandbox/keys")
    await expect(listed).to_contain_text("Last used")
    assert await serious_violations(page) == []
    await listed.get_by_role("link", name="Revoke").click()
    await expect(page.get_by_text("Till <1>")).to_be_visible()
    await page.get_by_role("link", name="No, go back").click()
    service.execute(
        "UPDATE oauth_clients SET created_at = now() - interval '1 day', expires_at = now() "
        "WHERE id = $1",
        client_id,
    )
    await page.reload()
    await expect(listed).to_contain_text("expired")


@both_sizes
async def test_a_client_is_made_with_chosen_scopes_and_revoked(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    visitors.expected_statuses = {409, 422}
    page = await owner.open(visitors, "/sandbox/keys", size)
    await page.get_by_text("Create a client").click()
    for box in await page.get_by_role("checkbox").all():
        await box.uncheck()
    await page.get_by_role("button", name="Create the client").click()
    await expect(page.get_by_role("alert")).to_contain_text("at least one scope")
    for box in await page.get_by_role("checkbox").all():
        await box.uncheck()
    await page.locator("[name='payments:read']").check()
    await page.get_by_role("button", name="Create the client").click()
    client_id = await page.get_by_label("Client id").input_value()
    secret = await page.get_by_label("Client secret").input_value()
    service = owner.shop.service
    token = ask_for_token(service, auth=(client_id, secret)).json()
    assert token["scope"] == "payments:read"
    await page.reload()
    await expect(page.get_by_role("alert")).to_contain_text("has changed since")
    assert await page.get_by_role("link", name="Revoke").count() == 1
    await page.get_by_role("link", name="Revoke").click()
    await page.get_by_role("button", name="Revoke the client").click()
    await expect(page.get_by_role("status")).to_contain_text("revoked")
    assert ask_for_token(service, auth=(client_id, secret)).status_code == 401


@pytest.mark.parametrize(
    ("page_path", "form_path", "mark", "further"),
    [
        ("/keys", "/keys/clients", "clients", {"payments:read": "on"}),
        ("/keys/rotate", "/keys/rotate", "mark", {"password": PASSWORD}),
    ],
)
async def test_a_form_sent_many_times_at_once_makes_one_secret(
    visitors: Visitors,
    owner: Owner,
    page_path: str,
    form_path: str,
    mark: str,
    further: dict[str, str],
) -> None:
    page = await owner.open(visitors, f"/sandbox{page_path}")
    form = page.locator(f"form[action$='{form_path}']")
    fields = {
        name: await form.locator(f"[name={name}]").input_value() for name in ("form_token", mark)
    }
    address = owner.url(f"/sandbox{form_path}")
    answers = await asyncio.gather(
        *(
            page.context.request.post(
                address, form={**fields, **further}, headers={"Sec-Fetch-Site": "same-origin"}
            )
            for _ in range(8)
        )
    )
    assert sorted(answer.status for answer in answers) == [200, *[409] * 7]


async def test_the_mode_of_the_credentials_is_changed_after_a_confirmation(
    visitors: Visitors, owner: Owner
) -> None:
    visitors.expected_statuses = {422}
    payment = owner.shop.payment()
    page = await owner.open(visitors, "/sandbox/keys")
    await page.get_by_role("link", name="Change it").click()
    for password in ("wrong", PASSWORD):  # however recent the log-in
        assert owner.shop.get(f"/payments/{payment['id']}").status_code == 200
        await page.get_by_label("enter your password").fill(password)
        await page.get_by_role("button", name="Change to live mode").click()
    await expect(page.locator(".band")).to_contain_text("Your credentials act in live mode")
    assert owner.shop.get(f"/payments/{payment['id']}").status_code == 404
    await page.goto(f"{owner.shop.service.origin}/dashboard")
    await expect(page.locator(".band")).to_contain_text("Live")


@both_sizes
async def test_the_sandboxs_wallet_and_clock_are_set(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    visitors.expected_statuses = {400}
    page = await owner.open(visitors, "/sandbox/sandbox", size)
    await page.get_by_label("Set the balance").fill("12.5")
    await page.get_by_label("Tier").select_option("basic")
    await page.get_by_role("button", name="Set the wallet").click()
    await expect(page.get_by_role("status")).to_contain_text("wallet is set")
    wallet = owner.shop.control("wallet", {})
    assert (wallet["balance"], wallet["tier"]) == (1_250, "basic")
    await expect(page.get_by_label("Its key")).to_have_value(wallet["api_key"])
    await page.get_by_label("Set the balance").fill("much")
    await page.get_by_role("button", name="Set the wallet").click()
    await expect(page.get_by_role("alert")).to_contain_text("must be a number")
    await page.get_by_label("Move it forward by").fill("2")
    await page.get_by_label("Unit").select_option("hours")
    await page.get_by_role("button", name="Move the clock").click()
    await expect(page.locator("dd", has_text="2 hours ahead")).to_be_visible()
    assert owner.shop.advance(0)["offset_seconds"] == 7_200
    await page.get_by_label("Move it forward by").fill("soon")
    await page.get_by_role("button", name="Move the clock").click()
    await expect(page.get_by_role("alert")).to_contain_text("whole number")
    await page.get_by_role("button", name="Back to real time").click()
    await expect(page.get_by_text("not moved")).to_be_visible()
    assert owner.shop.advance(0)["offset_seconds"] == 0
