"""Signing up for a sandbox on the dashboard, in a browser."""

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page, expect

from laari.store.batch.loaders.advisory_locks import lock_number
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import memberships
from tests import people
from tests.actors import OPERATOR
from tests.pages.forms import token_in
from tests.pages.owners import new_owner
from tests.pages.people import Visitors, both_sizes, serious_violations
from tests.pages.test_permissions import logged_in
from tests.serving import Merchant, Service, serving

pytestmark = pytest.mark.ci

PASSWORD = "three grey herons"
MOST = 3  # merchants of the service that becomes full


@pytest.fixture(scope="module")
def open_service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("signup")
    with serving(engine.migrated("signup_pages"), folder, LAARI_SANDBOX_SIGNUP="on") as service:
        yield service


@pytest.fixture
def small_service(engine, tmp_path: Path) -> Iterator[Service]:
    settings = {"LAARI_SANDBOX_SIGNUP": "on", "LAARI_SANDBOX_MERCHANTS": str(MOST)}
    with serving(engine.migrated("signup_small"), tmp_path, **settings) as service:
        yield service


async def opened(visitors: Visitors, service: Service, path: str, size: str = "phone") -> Page:
    visitors.service = service
    page = await visitors.page(size)
    await page.goto(service.origin + path)
    return page


async def fill(page: Page, **fields: str) -> None:
    for label, value in fields.items():
        await page.get_by_label(label).fill(value)
    await page.get_by_role("button", name="Create the merchant").click()


@both_sizes
async def test_signing_up_opens_the_overview_with_the_key(
    visitors: Visitors, open_service: Service, size: str
) -> None:
    page = await opened(visitors, open_service, "/dashboard/login", size)
    await page.get_by_role("link", name="Sign up your shop").click()
    assert await serious_violations(page) == []
    email = f"{secrets.token_hex(4)}@boat.mv"
    await fill(page, Name="Bodu <b>Boat", Email=email, Password=PASSWORD)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    assert await serious_violations(page) == []
    key = await page.get_by_label("Secret key").input_value()
    assert Merchant(open_service, "", key).payment()["status"] == "pending"
    # It is shown once, the log-in lasts, and there is no way to live mode.
    await page.get_by_role("link", name="Overview").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    assert key not in await page.content()
    assert await page.get_by_role("link", name="Live", exact=True).count() == 0
    home = page.url
    for path in ("/dashboard/live", "/dashboard/live/payments/new", "/dashboard/live/keys"):
        await page.goto(open_service.origin + path)
        assert page.url == home
    await page.goto(f"{open_service.origin}/dashboard/sandbox/keys")
    assert await page.get_by_text("Mode of your credentials").count() == 0
    await page.get_by_role("button", name="Log out").click()
    await page.get_by_label("Email address").fill(email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


async def test_the_page_that_shows_the_key_has_working_forms(
    visitors: Visitors, open_service: Service
) -> None:
    page = await opened(visitors, open_service, "/dashboard/signup")
    await fill(page, Name="Shop", Email=f"{secrets.token_hex(4)}@shop.mv", Password=PASSWORD)
    await expect(page.get_by_label("Secret key")).to_be_visible()
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Log in to the dashboard")


async def test_the_mode_form_is_refused_even_where_it_is_sent(
    visitors: Visitors, open_service: Service
) -> None:
    visitors.expected_statuses.add(409)
    page = await opened(visitors, open_service, "/dashboard/signup")
    await fill(page, Name="Shop", Email=f"{secrets.token_hex(4)}@shop.mv", Password=PASSWORD)
    await expect(page.get_by_label("Secret key")).to_be_visible()
    await page.goto(f"{open_service.origin}/dashboard/sandbox/keys/mode")
    await page.get_by_label("enter your password").fill(PASSWORD)
    await page.get_by_role("button").filter(has_text="live").first.click()
    await expect(page.get_by_role("alert")).to_contain_text("not approved for live mode")
    assert open_service.execute("SELECT count(*) FROM merchants WHERE mode = 'live'")[0][0] == 0


async def test_a_person_who_is_logged_in_adds_a_shop_under_the_own_name(
    open_service: Service,
) -> None:
    person = new_owner(open_service)
    client = await logged_in(open_service, person.email)
    fields = {"form_token": token_in(client.get("/signup").text), "name": "Second Boat"}
    assert client.post("/signup", data=fields).status_code == 200
    entries = open_service.execute(
        "SELECT j.actor_kind, j.actor_name, j.actor_role, j.address, j.action FROM journal j "
        "JOIN merchants m ON m.id = j.merchant_id WHERE m.name = 'Second Boat'"
    )
    assert {tuple(entry)[:4] for entry in entries} == {
        ("person", person.email, "owner", "127.0.0.1")
    }
    assert "merchant.create" in {entry["action"] for entry in entries}


async def test_a_person_who_is_removed_at_that_moment_adds_no_shop(open_service: Service) -> None:
    person = new_owner(open_service)
    client = await logged_in(open_service, person.email)
    fields = {"form_token": token_in(client.get("/signup").text), "name": "Third Boat"}
    async with connection_to(open_service.dsn) as lock, connection_to(open_service.dsn) as other:
        member = await memberships.find_member(other, person.shop.id, person.email)
        async with lock.transaction():  # the sign-up waits, after it has found the person
            await lock.execute(
                "SELECT pg_advisory_xact_lock($1)", lock_number((0, "sign-up", "merchants"))
            )
            sent = asyncio.create_task(asyncio.to_thread(client.post, "/signup", data=fields))
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while not await other.fetchval(waiting):
                await asyncio.sleep(0.02)
            shop = person.shop.id
            await people.remove(other, OPERATOR, shop, member.person_id, may_be_last=True)
    answer = await sent
    assert (answer.status_code, "was just removed" in answer.text) == (409, True)
    made = open_service.execute("SELECT count(*) FROM merchants WHERE name = 'Third Boat'")
    assert made[0][0] == 0


async def test_what_is_wrong_is_said_and_nothing_is_made(
    visitors: Visitors, small_service: Service
) -> None:
    visitors.expected_statuses |= {400, 422, 503}
    page = await opened(visitors, small_service, "/dashboard/signup")
    taken = f"{secrets.token_hex(4)}@taken.mv"
    small_service.merchant(email=taken, password=PASSWORD)
    before = small_service.execute("SELECT count(*) FROM merchants")[0][0]
    await fill(page, Name="Shop", Email="new@shop.mv", Password="password123")
    await expect(page.get_by_role("alert")).to_contain_text("too common")
    assert await page.get_by_label("Email").input_value() == "new@shop.mv"
    await fill(page, Name="Shop", Email=taken, Password=PASSWORD)
    await expect(page.get_by_role("alert")).to_contain_text("cannot be used to sign up")
    assert small_service.execute("SELECT count(*) FROM merchants")[0][0] == before
    for _ in range(MOST - before):
        assert httpx.post(f"{small_service.origin}/sandbox/merchants").status_code == 201
    await fill(page, Name="Shop", Email="new@shop.mv", Password=PASSWORD)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Sign-up is closed")
    await expect(page.get_by_text("maximum number")).to_be_visible()
    assert small_service.execute("SELECT count(*) FROM merchants")[0][0] == MOST


async def test_a_closed_sign_up_says_so_before_its_form(
    visitors: Visitors, service: Service
) -> None:
    visitors.expected_statuses |= {404, 503}
    page = await opened(visitors, service, "/dashboard/signup")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Sign-up is closed")
    assert await page.locator("form, input").count() == 0
    assert await serious_violations(page) == []
