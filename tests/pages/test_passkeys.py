"""Passkeys in a real browser with a virtual authenticator: added, used to log in and pay, ended."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, CDPSession, Page, expect

from laari.edge.pages.language import DHIVEHI
from tests.pages.passkeys import at
from tests.pages.people import (
    Customer,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import LONG_AGO, execute, heading, open_app, speak_dhivehi
from tests.serving import Merchant, Service

PHONE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def service(named_service: Service) -> Service:
    return named_service


@pytest.fixture
def live_shop(service: Service) -> Merchant:
    return service.merchant(mode="live", name="Seagull Café", fee_bps=150)


@pytest_asyncio.fixture(loop_scope="session")
async def visitors(browser: Browser, service: Service) -> AsyncIterator[Visitors]:
    visitors = Visitors(browser, service)
    yield visitors
    await visitors.leave()


class Lock:
    """The lock of the phone in whose browser a page is."""

    def __init__(self, session: CDPSession, id: str) -> None:
        self.session = session
        self.id = id

    @classmethod
    async def of(cls, page: Page) -> "Lock":
        session = await page.context.new_cdp_session(page)
        await session.send("WebAuthn.enable")
        made = await session.send("WebAuthn.addVirtualAuthenticator", {"options": PHONE})
        return cls(session, made["authenticatorId"])

    async def passkeys(self) -> list[dict[str, Any]]:
        found = await self.session.send("WebAuthn.getCredentials", {"authenticatorId": self.id})
        credentials: list[dict[str, Any]] = found["credentials"]
        return credentials

    async def give(self, passkey: dict[str, Any], **changes: Any) -> None:
        await self.session.send(
            "WebAuthn.addCredential",
            {"authenticatorId": self.id, "credential": {**passkey, **changes}},
        )

    async def knows_the_finger(self, known: bool) -> None:
        await self.session.send(
            "WebAuthn.setUserVerified", {"authenticatorId": self.id, "isUserVerified": known}
        )


async def add(page: Page, customer: Customer, name: str = "My phone") -> None:
    """On the account page."""
    section = page.get_by_role("region", name="Passkeys")
    await section.get_by_label("Name of the passkey").fill(name)
    await section.get_by_label("For your safety").last.fill(customer.password)
    await section.get_by_role("button", name="Add the passkey").click()
    await expect(page.get_by_role("status")).to_have_text("The passkey is added.")


async def with_passkey(visitors: Visitors, customer: Customer) -> tuple[Page, Lock]:
    """A browser in which this customer has a passkey, and is logged out."""
    page = await open_app(visitors, customer, "/app/password")
    lock = await Lock.of(page)
    await add(page, customer)
    await page.get_by_role("button", name="Log out", exact=True).click()
    await heading(page).to_have_text("Log in to your wallet")
    return page, lock


@pytest.mark.journey
@both_sizes
async def test_a_passkey_is_added_used_listed_and_ended(
    visitors: Visitors, service: Service, size: str
) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/password", size)
    lock = await Lock.of(page)
    section = page.get_by_role("region", name="Passkeys")
    await expect(section).to_contain_text("You have no passkeys.")
    await add(page, customer)
    line = section.get_by_role("listitem").filter(has_text="My phone")
    await expect(line).to_contain_text("Never used")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    [passkey] = await lock.passkeys()
    assert (passkey["rpId"], passkey["isResidentCredential"]) == ("localhost", True)

    await page.get_by_role("button", name="Log out", exact=True).click()
    assert await serious_violations(page) == []
    await page.get_by_role("button", name="Log in with a passkey").click()
    await expect(page.get_by_role("heading", name="Balance")).to_be_visible()

    await page.goto(f"{service.origin}/app/password")
    await expect(line).to_contain_text("Last used")
    await line.get_by_text("End", exact=True).click()
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await line.get_by_label("For your safety").fill(customer.password)
    await line.get_by_role("button", name="now").click()
    await expect(page.get_by_role("status")).to_have_text(
        "The passkey is ended. All your other sessions are ended."
    )
    await expect(section).to_contain_text("You have no passkeys.")

    visitors.expected_statuses = {422}
    await page.get_by_role("button", name="Log out", exact=True).click()
    await page.get_by_role("button", name="Log in with a passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("does not open a wallet here")


@pytest.mark.journey
async def test_a_payment_takes_one_tap_and_the_finger(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    page, _ = await with_passkey(visitors, customer)
    payment = await asyncio.to_thread(live_shop.payment)
    await page.goto(at(service, payment["payment_url"]))
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_role("button", name="with a passkey").click()  # the only tap
    await heading(page).to_have_text("Paid")
    paid = await asyncio.to_thread(live_shop.get, f"/payments/{payment['id']}")
    assert paid.json()["data"]["status"] == "paid"


async def test_an_approval_is_read_before_it_is_given(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    """The passkey logs in; the limits are approved by a press of their own."""
    customer = await new_customer(service)
    page, _ = await with_passkey(visitors, customer)
    asked = await asyncio.to_thread(live_shop.authorization)
    await page.goto(at(service, asked["approval_url"]))
    await page.get_by_role("button", name="Log in with a passkey").click()
    await expect(page.get_by_text(customer.name)).to_be_visible()
    await page.get_by_role("button", name="Approve").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("pproved")


async def test_a_passkey_confirms_where_the_password_would(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    """A log-in of more than ten minutes ago needs the password or a passkey again."""
    customer = await new_customer(service)
    page, _ = await with_passkey(visitors, customer)
    await visitors.log_in(page.context, customer, LONG_AGO)
    payment = await asyncio.to_thread(live_shop.payment)
    await page.goto(at(service, payment["payment_url"]))
    await expect(page.get_by_label("For your safety")).to_be_visible()
    await page.get_by_role("button", name="with a passkey").click()
    await heading(page).to_have_text("Paid")


async def test_a_wrong_password_adds_nothing_anywhere(visitors: Visitors, service: Service) -> None:
    customer = await new_customer(service)
    visitors.expected_statuses = {422}
    page = await open_app(visitors, customer, "/app/password")
    lock = await Lock.of(page)
    section = page.get_by_role("region", name="Passkeys")
    await section.get_by_label("For your safety").fill("not it")
    await section.get_by_role("button", name="Add the passkey").click()
    await expect(section.get_by_role("alert")).to_contain_text("That is not your password")
    assert await lock.passkeys() == []
    await section.get_by_label("For your safety").fill(customer.password)
    await section.get_by_role("button", name="Add the passkey").click()
    await expect(page.get_by_role("status")).to_have_text("The passkey is added.")


async def test_an_unknown_finger_changes_nothing(visitors: Visitors, service: Service) -> None:
    page, lock = await with_passkey(visitors, await new_customer(service))
    await lock.knows_the_finger(False)
    await page.get_by_role("button", name="Log in with a passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("Nothing was done")
    await lock.knows_the_finger(True)
    await page.get_by_role("button", name="Log in with a passkey").click()
    await expect(page.get_by_role("heading", name="Balance")).to_be_visible()


async def test_a_copy_of_the_phone_is_refused(visitors: Visitors, service: Service) -> None:
    """Both count, so one of them falls behind."""
    page, lock = await with_passkey(visitors, await new_customer(service))
    [passkey] = await lock.passkeys()
    for _ in range(2):
        await page.get_by_role("button", name="Log in with a passkey").click()
        await expect(page.get_by_role("heading", name="Balance")).to_be_visible()
        await page.get_by_role("button", name="Log out", exact=True).click()
    visitors.expected_statuses = {422}
    thief = await visitors.page()
    copy = await Lock.of(thief)
    await copy.give(passkey)
    await thief.goto(f"{service.origin}/app/login")
    await thief.get_by_role("button", name="Log in with a passkey").click()
    await expect(thief.get_by_role("alert")).to_contain_text("does not open a wallet here")


async def test_a_second_passkey_of_the_same_phone_is_refused_by_it(
    visitors: Visitors, service: Service
) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/password")
    lock = await Lock.of(page)
    await add(page, customer)
    section = page.get_by_role("region", name="Passkeys")
    await section.get_by_label("For your safety").last.fill(customer.password)
    await section.get_by_role("button", name="Add the passkey").click()
    await expect(section.get_by_role("alert")).to_contain_text("could not be added")
    assert len(await lock.passkeys()) == 1


@pytest.mark.parametrize("options", [{"java_script_enabled": False}, {}], ids=["no script", "old"])
async def test_a_browser_without_passkeys_sees_no_button(
    visitors: Visitors, service: Service, live_shop: Merchant, options: dict[str, Any]
) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/password", **options)
    await page.add_init_script("delete window.PublicKeyCredential")
    await page.reload()
    section = page.get_by_role("region", name="Passkeys")
    await expect(section).to_contain_text("This browser has no passkeys.")
    await expect(section.get_by_role("button", name="Add the passkey")).to_be_hidden()
    payment = await asyncio.to_thread(live_shop.payment)
    await page.context.clear_cookies()
    for path in ("/app/login", at(service, payment["payment_url"])):
        await page.goto(path if "://" in path else service.origin + path)
        await expect(page.get_by_role("button", name="passkey")).to_be_hidden()
        await expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()


async def test_passkeys_in_dhivehi(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    await speak_dhivehi(service, customer)
    page = await open_app(visitors, customer, "/app/password")
    await Lock.of(page)
    section = page.get_by_role("region", name=str(DHIVEHI.text("passkeys.title")))
    await section.locator("[type=password]").fill(customer.password)
    await section.get_by_role("button", name=str(DHIVEHI.text("passkeys.submit"))).click()
    added = str(DHIVEHI.text("password.done_passkey"))
    await expect(page.get_by_role("status")).to_have_text(added)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) == 0
    await page.get_by_role("button", name=str(DHIVEHI.text("menu.log_out"))).first.click()
    payment = await asyncio.to_thread(live_shop.payment)
    await page.goto(f"{at(service, payment['payment_url'])}?lang=dv")
    assert await sideways_scroll(page) == 0
    await page.locator("[data-passkey] button").click()
    await heading(page).to_have_text(str(DHIVEHI.text("checkout.paid")))
    (row,) = await execute(
        service, "SELECT used_at FROM passkeys WHERE customer_id = $1", customer.id
    )
    assert row["used_at"] is not None
