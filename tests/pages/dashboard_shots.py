"""The dashboard's pictures: a café with a month of trade in its sandbox."""

import asyncio
import random
import secrets
from datetime import timedelta
from typing import Any

from playwright.async_api import Page

from tests.pages.people import Visitors
from tests.serving import Merchant, Service

DAY = 86_400
ORDERS = (
    ("Two flat whites", 9_000),
    ("Coconut cake", 6_500),
    ("Breakfast for four", 48_000),
    ("Iced tea", 4_500),
    ("Lunch: reef fish and rice", 17_500),
)


class Trade:
    """A merchant with a login and a month behind it."""

    def __init__(self, service: Service) -> None:
        self.email = "owner@seagull.example"
        self.shop: Merchant = service.merchant(
            name="Seagull Café",
            fee_bps=150,
            email=self.email,
            webhook_url="https://seagull.mv/hook",
        )
        chance = random.Random(7)
        self.shop.control("wallet", {"balance": 10**12, "tier": "business"})
        self.shop.advance(-29 * DAY)
        for day in range(30):
            for number in range(chance.randint(1, 5)):
                self._sell(chance, f"B-{day + 1:02}{number:02}")
            if day < 29:
                self.shop.advance(DAY)
        self.shop.control("clock", {"reset": True})
        self.refunded = self.shop.payment(reference="ORDER-2041", title="Two flat whites")
        self.shop.control(f"payments/{self.refunded['id']}/pay")
        keyed = {"reference": "ORDER-2042", "amount": 48_000, "title": "Breakfast for four"}
        made = self.shop.post(
            "/payments", {**keyed, "bill_number": "B-2042"}, Idempotency_Key="order-2042"
        )
        self.paid = made.json()["data"]
        for _ in range(2):
            self.shop.post(
                "/payments", {**keyed, "bill_number": "B-2042"}, Idempotency_Key="order-2042"
            )
        self.shop.control(f"payments/{self.paid['id']}/pay")
        self.pending = self.shop.payment(reference="ORDER-2043", title="Iced tea", amount=4_500)
        self.shop.request(reference="TABLE-7", title="The rest of table 7")
        self.authorization = self.shop.approved(
            reference="BOX-77",
            title="Monthly coffee box",
            type="recurring",
            limits={"per_payment": 50_000, "period": {"interval": "month", "amount": 100_000}},
        )
        self.shop.charge(self.authorization, 45_000, "BOX-77-1", title="This month's box")

    def _sell(self, chance: random.Random, bill: str) -> None:
        title, amount = chance.choice(ORDERS)
        payment = self.shop.payment(title=title, amount=amount, bill_number=bill)
        if chance.random() < 0.85:
            self.shop.control(f"payments/{payment['id']}/pay")


async def _open(visitors: Visitors, service: Service, page: Page, path: str) -> Trade:
    trade = await asyncio.to_thread(_trade, service)
    await visitors.log_in(page.context, trade.email)
    path = path.format(
        paid=trade.paid["id"],
        pending=trade.pending["id"],
        authorization=trade.authorization["id"],
    )
    await page.goto(f"{service.origin}/dashboard/{trade.shop.id}{path}")
    return trade


_trades: dict[str, Trade] = {}  # by the service's address: made once for all pictures


def _trade(service: Service) -> Trade:
    if service.origin not in _trades:
        _trades[service.origin] = Trade(service)
    return _trades[service.origin]


def _shot(path: str) -> Any:
    async def shot(visitors: Visitors, service: Service, page: Page) -> None:
        await _open(visitors, service, page, path)

    return shot


async def login(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/dashboard")


async def days(visitors: Visitors, service: Service, page: Page) -> None:
    await _open(visitors, service, page, "/sandbox")
    await page.get_by_text("The same as a table").click()


async def client(visitors: Visitors, service: Service, page: Page) -> None:
    await _open(visitors, service, page, "/sandbox/keys")
    await page.get_by_text("Create a client").click()
    await page.get_by_role("button", name="Create the client").click()


async def new_link(visitors: Visitors, service: Service, page: Page) -> None:
    await _open(visitors, service, page, "/sandbox/payments/new")
    await page.get_by_text("More", exact=True).click()
    await page.get_by_label("Name 1").fill("basket")
    await page.get_by_label("Value 1").fill("b-2041")


async def account(visitors: Visitors, service: Service, page: Page) -> None:
    """With a password that an operator has set."""
    email = f"{secrets.token_hex(4)}@seagull.example"
    await asyncio.to_thread(
        service.merchant, name="Seagull Café", mode="live", email=email, must_change=True
    )
    await visitors.log_in(page.context, email)
    await page.goto(f"{service.origin}/dashboard/live/payments")


async def revoke(visitors: Visitors, service: Service, page: Page) -> None:
    """With a log-in that is no longer recent."""
    trade = await asyncio.to_thread(_trade, service)
    await asyncio.to_thread(trade.shop.client)
    await visitors.log_in(page.context, trade.email, timedelta(minutes=11))
    await page.goto(f"{service.origin}/dashboard/sandbox/keys")
    await page.get_by_role("link", name="Revoke").first.click()


SHOTS = {
    "dashboard-login": login,
    "dashboard-overview": _shot("/sandbox"),
    "dashboard-payments": _shot("/sandbox/payments"),
    "dashboard-payment": _shot("/sandbox/payments/{paid}"),
    "dashboard-code": _shot("/sandbox/payments/{pending}"),
    "dashboard-days": days,
    "dashboard-movements": _shot("/sandbox/payments/movements"),
    "dashboard-refund": _shot("/sandbox/payments/{paid}/refund"),
    "dashboard-new-link": new_link,
    "dashboard-requests": _shot("/sandbox/requests"),
    "dashboard-authorization": _shot("/sandbox/authorizations/{authorization}"),
    "dashboard-webhooks": _shot("/sandbox/webhooks"),
    "dashboard-keys": client,
    "dashboard-sandbox": _shot("/sandbox/sandbox"),
    "dashboard-live": _shot("/live"),
    "dashboard-account": account,
    "dashboard-revoke": revoke,
}
