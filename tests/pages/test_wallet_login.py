"""Logging in and out of the wallet application, and the password."""

import pytest
from playwright.async_api import expect

from laari.edge.pages.language import DHIVEHI
from tests.pages.people import (
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import (
    busy_wallet,
    execute,
    heading,
    open_app,
)
from tests.serving import Merchant, Service


@pytest.mark.journey
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
        await page.get_by_label("New password again").fill(repeated)
        await page.get_by_role("button", name="Change").click()

    await change("not it", "a better password", "a better password")
    await expect(page.get_by_role("alert")).to_contain_text("That is not your password")
    await change(customer.password, "a better password", "another password")
    await expect(page.get_by_role("alert")).to_contain_text("passwords are different")
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


@pytest.mark.journey
async def test_a_customer_chooses_the_language_of_the_whole_wallet(
    visitors: Visitors, service: Service, live_shop: Merchant
) -> None:
    customer = await busy_wallet(live_shop)
    page = await open_app(visitors, customer, "/app/password")
    await page.locator("#language").select_option("dv")
    await page.get_by_role("region", name="Language").get_by_role("button").click()
    await expect(page.get_by_role("status")).to_have_text(
        str(DHIVEHI.text("password.done_language"))
    )
    for path in ("", "/transactions", "/requests", "/authorizations", "/keys", "/password"):
        await page.goto(f"{service.origin}/app{path}")
        await expect(page.locator("html")).to_have_attribute("dir", "rtl")
        assert await serious_violations(page) == []
        assert await sideways_scroll(page) == 0
    (row,) = await execute(service, "SELECT language FROM customers WHERE id = $1", customer.id)
    assert row["language"] == "dv"
    await page.get_by_role("button", name=str(DHIVEHI.text("menu.log_out"))).first.click()
    await heading(page).to_have_text(str(DHIVEHI.text("login.to_wallet")))
    await page.get_by_role("link", name="English").click()
    await heading(page).to_have_text("Log in to your wallet")


async def test_an_unknown_language_changes_nothing(visitors: Visitors, service: Service) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, "/app/password")
    await page.locator("#language option").first.evaluate("option => { option.value = 'fr' }")
    visitors.expected_statuses = {422}
    await page.get_by_role("region", name="Language").get_by_role("button").click()
    await expect(page.get_by_role("alert")).to_have_text("Choose one of these languages.")
    (row,) = await execute(service, "SELECT language FROM customers WHERE id = $1", customer.id)
    assert row["language"] == "en"
