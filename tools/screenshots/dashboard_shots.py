"""The dashboard's pictures: a café with a month of trade in its sandbox."""

import asyncio
import random
import secrets
from datetime import timedelta
from typing import Any

from playwright.async_api import Page

from laari.rules.merchants.applications import SubmitApplication
from laari.rules.records.merchants import ApplicationAnswers
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads import tenants
from tests.actors import OPERATOR
from tests.bank_accounts import enter
from tests.cli.test_approval import ANSWERS
from tests.logins import opened
from tests.making import sign_up
from tests.pages.owners import Owner
from tests.pages.people import Visitors
from tests.pages.test_journal import client_of
from tests.pages.test_tills import close
from tests.people import decided
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
        service.database.run(self._enter_bank)
        chance = random.Random(7)
        self.shop.control("wallet", {"balance": 10**12, "tier": "business"})
        self.shop.advance(-29 * DAY)
        for day in range(30):
            for number in range(chance.randint(1, 5)):
                self._sell(chance, f"B-{day + 1:02}{number:02}")
            if day in (10, 20, 27):
                self._pay_out("return" if day == 20 else "settle")
            if day == 14:
                self._close("Bar", "Counted twice. One note of MVR 20.00 was missing.")
            if day < 29:
                self.shop.advance(DAY)
        self.shop.control("clock", {"reset": True})
        self._close("Bar", "")
        self.shop.post("/sandbox/payouts")
        self.refunded = self.shop.payment(reference="ORDER-2041", title="Two flat whites")
        self.shop.control(f"payments/{self.refunded['id']}/pay")
        for fields in ({"amount": 3_000, "reason": "requested_by_customer", "note": "Cold"}, {}):
            self.shop.post(f"/payments/{self.refunded['id']}/refunds", {"amount": 2_000, **fields})
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

    def _pay_out(self, answer: str) -> None:
        made = self.shop.post("/sandbox/payouts").json()["data"]
        self.shop.post(f"/sandbox/payouts/{made['id']}/{answer}")
        self.payout = made["id"]

    def _close(self, till: str, note: str) -> None:
        with client_of(Owner(self.shop, self.email)) as client:
            self.closing = str(close(client, till, note=note).url).rsplit("/", 1)[1]

    async def _enter_bank(self, connection: Connection) -> None:
        tenant = await tenants.of_merchant(connection, self.shop.id, "sandbox")
        for number in ("7730000012345", "7730000099999"):
            bank = "BML"
            await enter(connection, tenant.id, number, holder="Seagull Café", bank=bank)

    def _sell(self, chance: random.Random, bill: str) -> None:
        title, amount = chance.choice(ORDERS)
        payment = self.shop.payment(
            title=title,
            amount=amount,
            bill_number=bill,
            terminal_label=chance.choice(("Bar", "Terrace")),
        )
        if chance.random() < 0.85:
            self.shop.control(f"payments/{payment['id']}/pay")


async def _open(visitors: Visitors, service: Service, page: Page, path: str) -> Trade:
    trade = await asyncio.to_thread(_trade, service)
    await visitors.log_in(page.context, trade.email)
    path = path.format(
        paid=trade.paid["id"],
        pending=trade.pending["id"],
        refunded=trade.refunded["id"],
        payout=trade.payout,
        closing=trade.closing,
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


async def refund_wrong(visitors: Visitors, service: Service, page: Page) -> None:
    await _open(visitors, service, page, "/sandbox/payments/{paid}/refund")
    await page.get_by_label("Amount in MVR").fill("1,000.00")
    await page.get_by_label("Note").fill("Two plates came late")
    await page.get_by_role("button", name="Refund the payment").click()


async def bank_wrong(visitors: Visitors, service: Service, page: Page) -> None:
    await _open(visitors, service, page, "/sandbox/money/bank")
    await page.get_by_label("Account holder").fill("Seagull Café")
    await page.get_by_label("Bank", exact=True).select_option("BML")
    await page.get_by_label("Account number").fill("12x4")
    await page.get_by_label("password").fill("wrong password")
    await page.get_by_role("button", name="Save").click()


async def _newcomer(
    visitors: Visitors, service: Service, page: Page, path: str, sent: bool
) -> None:
    """A shop that signed up, and perhaps has applied to go live."""
    email = f"{secrets.token_hex(4)}@coral.example"
    async with connection_to(service.dsn) as connection:
        async with connection.transaction():
            given = {"name": "Coral Books", "email": email}
            made = await sign_up(connection, OPERATOR, service.master_key, 10**6, **given)
        assert made is not None
        if sent:
            answers = ApplicationAnswers(**ANSWERS)
            await decided(connection, SubmitApplication(OPERATOR, made.merchant.id, answers))
        token = await opened(connection, email, master=service.master_key)
    cookie = {"name": "laari-dashboard", "value": token, "url": service.origin}
    await page.context.add_cookies([cookie])  # type: ignore[list-item]
    await page.goto(f"{service.origin}/dashboard/{made.merchant.id}/sandbox{path}")


def _new(path: str, *, sent: bool = False) -> Any:
    async def shot(visitors: Visitors, service: Service, page: Page) -> None:
        await _newcomer(visitors, service, page, path, sent)

    return shot


async def menu(visitors: Visitors, service: Service, page: Page) -> None:
    """The tabs of a phone, opened."""
    await page.set_viewport_size({"width": 390, "height": 844})
    await _newcomer(visitors, service, page, "", False)
    await page.get_by_text("Menu", exact=True).click()


async def application_wrong(visitors: Visitors, service: Service, page: Page) -> None:
    await _newcomer(visitors, service, page, "/application", False)
    for label in ("Legal", "Registration", "Address", "Holder", "Number of", "Contact"):
        await page.get_by_label(label).first.fill("Coral Books")
    await page.get_by_label("Bank", exact=True).select_option("BML")
    await page.get_by_label("Expected sales").fill("much")
    await page.get_by_role("button", name="Send").click()


SHOTS = {
    "dashboard-login": login,
    "dashboard-overview": _shot("/sandbox"),
    "dashboard-payments": _shot("/sandbox/payments"),
    "dashboard-payment": _shot("/sandbox/payments/{paid}"),
    "dashboard-code": _shot("/sandbox/payments/{pending}"),
    "dashboard-days": days,
    "dashboard-movements": _shot("/sandbox/payments/movements"),
    "dashboard-refund": _shot("/sandbox/payments/{paid}/refund"),
    "dashboard-refund-wrong": refund_wrong,
    "dashboard-refunded": _shot("/sandbox/payments/{refunded}"),
    "dashboard-money": _shot("/sandbox/money"),
    "dashboard-payouts": _shot("/sandbox/money/payouts"),
    "dashboard-payout": _shot("/sandbox/money/payouts/{payout}"),
    "dashboard-bank": _shot("/sandbox/money/bank"),
    "dashboard-bank-wrong": bank_wrong,
    "dashboard-statement": _shot("/sandbox/money/statement?preset=this_month"),
    "dashboard-tills": _shot("/sandbox/tills"),
    "dashboard-close-till": _shot("/sandbox/tills/close?till=Terrace"),
    "dashboard-till-closing": _shot("/sandbox/tills/closings/{closing}"),
    "dashboard-journal": _shot("/sandbox/journal"),
    "dashboard-search-nothing": _shot("/sandbox/payments?q=nothing"),
    "dashboard-authorizations": _shot("/sandbox/authorizations"),
    "dashboard-empty": _new(""),
    "dashboard-empty-payments": _new("/payments"),
    "dashboard-empty-money": _new("/money"),
    "dashboard-empty-payouts": _new("/money/payouts"),
    "dashboard-empty-tills": _new("/tills"),
    "dashboard-menu": menu,
    "dashboard-application": _new("/application"),
    "dashboard-application-wrong": application_wrong,
    "dashboard-application-sent": _new("/application", sent=True),
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
