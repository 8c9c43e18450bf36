"""Withdrawals in the wallet application and at the desk, by their forms and in a browser."""

import re
from datetime import timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from laari.rules.banking.wallet_controls import FreezeWallet
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.bank_accounts import enter
from tests.logins import opened
from tests.pages.forms import token_in
from tests.pages.operators import desk_of, open_desk
from tests.pages.people import (
    Customer,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import LONG_AGO, execute, heading, open_app, submit
from tests.serving import Service

PAGE = "/app/withdraw"


class Purse:
    """A customer who sends forms without a browser."""

    def __init__(self, service: Service, customer: Customer, token: str) -> None:
        self.customer = customer
        self.http = httpx.Client(
            base_url=service.origin,
            cookies={"laari": token},
            headers={"Sec-Fetch-Site": "same-origin"},
            follow_redirects=True,
            timeout=30,
        )

    def send(self, action: str = "", **fields: str) -> httpx.Response:
        shown = self.http.get(PAGE).text
        last = re.search(r'name="last" value="(\d+)"', shown)
        form = {"form_token": token_in(shown), "last": last[1] if last else "0", **fields}
        return self.http.post(PAGE + action, data=form)

    def enter_bank(self, **fields: str) -> httpx.Response:
        form = {"bank": "BML", "number": "7730 0000 12345", "password": self.customer.password}
        return self.send("/bank", **{**form, **fields})


async def purse_of(service: Service, **given: Any) -> Purse:
    customer = await new_customer(service, **given)
    async with connection_to(service.dsn) as connection:
        token = await opened(connection, customer.id, master=service.master_key)
    return Purse(service, customer, token)


def balance_of(service: Service, purse: Purse) -> int:
    wallet = "SELECT balance FROM wallets WHERE account = $1"
    return int(service.execute(wallet, purse.customer.account)[0]["balance"])


async def test_a_customer_withdraws_and_cancels(service: Service) -> None:
    purse = await purse_of(service)
    assert "Enter your bank account first" in purse.http.get(PAGE).text
    assert "no bank account" in purse.send(amount="100").text
    assert "password" in purse.enter_bank(password="wrong").text.split("notice bad")[1][:90]
    for wrong in ({"bank": "=BML"}, {"number": "12"}, {"number": "x" * 9}):
        assert purse.enter_bank(**wrong).status_code == 422
    saved = purse.enter_bank().text
    assert "The bank account is saved." in saved
    assert "•••••••••2345" in saved
    assert "7730000012345" not in saved
    for amount in ("", "x", "-5", "0", "9.99"):
        assert purse.send(amount=amount).status_code in (409, 422)
    assert "more than your balance" in purse.send(amount="500.01").text
    done = purse.send(amount="120.50")
    assert "The withdrawal is requested." in done.text
    assert balance_of(service, purse) == 50_000 - 12_050
    # The same form again acts once.
    again = purse.send(amount="120.50", last="0")
    assert again.status_code == 409
    assert balance_of(service, purse) == 50_000 - 12_050
    history = purse.http.get("/app/transactions").text
    assert "Withdrawal" in history
    assert "To your bank account" in history
    payout = re.search(r"/app/withdraw/(po_[0-9a-f]{32})/cancel", done.text)
    assert payout is not None
    stranger = await purse_of(service)
    assert stranger.send(f"/{payout[1]}/cancel").status_code == 404
    assert purse.send("/po_x/cancel").status_code == 404
    assert "in your wallet again" in purse.send(f"/{payout[1]}/cancel").text
    assert balance_of(service, purse) == 50_000
    entries = service.execute(
        "SELECT action, actor_kind FROM journal WHERE object_id = $1 ORDER BY id", payout[1]
    )
    assert [tuple(each) for each in entries] == [
        ("withdrawal.request", "customer"),
        ("withdrawal.cancel", "customer"),
    ]


async def test_a_later_bank_account_waits_and_the_password_is_asked_for(service: Service) -> None:
    purse = await purse_of(service)
    purse.enter_bank()
    changed = purse.enter_bank(number="99887766").text
    assert "is used from" in changed
    assert "•••••••••2345" in changed
    service.execute(
        "UPDATE sessions SET authenticated_at = authenticated_at - $2::interval "
        "WHERE customer_id = $1",
        purse.customer.id,
        LONG_AGO,
    )
    assert purse.send(amount="50").status_code == 422
    assert balance_of(service, purse) == 50_000
    assert "requested" in purse.send(amount="50", password=purse.customer.password).text


@pytest.mark.parametrize("silent", [False, True])
async def test_nothing_leaves_a_frozen_wallet(service: Service, silent: bool) -> None:
    purse = await purse_of(service)
    purse.enter_bank()
    await submit(service, FreezeWallet(OPERATOR, purse.customer.account, "Stolen", silent))
    shown = purse.http.get(PAGE).text
    refused = purse.send(amount="50")
    assert refused.status_code == 409
    assert ("blocked" in shown, "blocked" in refused.text) == (not silent, not silent)
    assert "Stolen" not in shown + refused.text
    assert "frozen" not in shown + refused.text
    assert balance_of(service, purse) == 50_000


async def test_a_sandbox_customer_has_no_withdrawals(service: Service) -> None:
    purse = await purse_of(service, mode="sandbox")
    assert purse.http.get(PAGE).status_code == 404
    assert PAGE not in purse.http.get("/app").text


async def test_withdrawals_are_off_unless_the_operator_offers_them(usual_service: Service) -> None:
    purse = await purse_of(usual_service)
    home = purse.http.get("/app").text
    assert PAGE not in home
    assert purse.http.get(PAGE).status_code == 404
    form = {"form_token": token_in(home), "amount": "50", "last": "0"}
    assert purse.http.post(PAGE, data=form).status_code == 404


async def own_account(service: Service, account: int, holder: str) -> None:
    async with connection_to(service.dsn) as connection:
        await enter(connection, account, "7730000000001", holder=holder)


async def test_the_desk_withdraws_for_a_customer(service: Service) -> None:
    customer = await new_customer(service)
    page = f"/customers/cus_{customer.id.hex}"
    money, support = await desk_of(service, "finance"), await desk_of(service, "support")
    assert "Withdraw for the customer" not in money.get(page).text
    bank = {"holder": customer.name, "bank": "BML", "number": "7730000012345"}
    assert support.send(page, "/bank", **bank).status_code == 403
    assert support.send(page, "/withdraw", amount="1", last="0").status_code == 403
    assert money.send(page, "/bank", **{**bank, "number": "1"}).status_code == 400
    await own_account(service, customer.account, customer.name)
    saved = money.send(page, "/bank", **bank).text
    assert "The bank account is saved. It is used after 48 hours." in saved
    assert money.send(page, "/withdraw", amount="x", last="0").status_code == 422
    done = money.send(page, "/withdraw", amount="5", last="0").text
    assert "The next payout run takes it." in done
    assert money.send(page, "/withdraw", amount="5", last="0").status_code == 409
    waiting = money.get("/payouts").text
    assert f"Wallet {customer.account}" in waiting
    assert f"Wallet {customer.account}" in money.get("/payouts/preview").text
    payout = re.search(r"po_[0-9a-f]{32}", waiting.partition(f"Wallet {customer.account}")[2])
    assert payout is not None
    cancelled = money.send(f"/payouts/one/{payout[0]}", "/cancel")
    assert "The payout is cancelled." in cancelled.text
    found = await execute(
        service, "SELECT balance FROM wallets WHERE account = $1", customer.account
    )
    assert found[0]["balance"] == 50_000
    sandbox = await new_customer(service, mode="sandbox")
    theirs = f"/customers/cus_{sandbox.id.hex}"
    assert money.send(theirs, "/bank", **bank).status_code == 409
    assert money.send(theirs, "/withdraw", amount="1", last="0").status_code == 404


@pytest.mark.journey
@both_sizes
async def test_a_withdrawal_in_a_browser(visitors: Visitors, service: Service, size: str) -> None:
    customer = await new_customer(service)
    page = await open_app(visitors, customer, PAGE, size, age=timedelta(minutes=11))
    await page.get_by_label("Bank", exact=True).select_option("BML")
    await page.get_by_label("Account number").fill("7730000012345")
    await page.get_by_label(re.compile("password")).fill(customer.password)
    await page.get_by_role("button", name="Save the bank account").click()
    await expect(page.get_by_role("status")).to_contain_text("saved")
    await page.get_by_label("Amount in rufiyaa").fill("250")
    await page.get_by_role("button", name="Withdraw", exact=True).click()
    await expect(page.get_by_role("status")).to_contain_text("requested")
    line = page.get_by_role("listitem").filter(has_text="250.00")
    await expect(line).to_contain_text("Waiting")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await line.get_by_role("button", name="Cancel").click()
    await expect(line).to_contain_text("Cancelled")
    await page.get_by_role("link", name="Transactions").click()
    await heading(page).to_contain_text("Transactions")
    assert await page.get_by_text("Withdrawal").count() >= 2


@pytest.mark.ci
@both_sizes
async def test_the_desk_in_a_browser(visitors: Visitors, service: Service, size: str) -> None:
    customer = await new_customer(service)
    path = f"/customers/cus_{customer.id.hex}"
    await own_account(service, customer.account, customer.name)
    page = await open_desk(visitors, service, "finance", path, size)
    await page.get_by_text("Withdraw for the customer").click()
    await page.get_by_label("Amount in rufiyaa").fill("5")
    await page.get_by_role("button", name="Withdraw", exact=True).click()
    await expect(page.get_by_role("status").first).to_contain_text("next payout run")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
