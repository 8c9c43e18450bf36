"""Pictures of the operator's desk: a support call and a finance day, each told once."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Page

from laari.rules.merchants.applications import SubmitApplication
from laari.rules.records.merchants import ApplicationAnswers
from laari.rules.records.people import OperatorRole
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.bank_accounts import enter
from tests.cli.test_approval import ANSWERS
from tests.days import today, yesterday
from tests.making import sign_up
from tests.pages.finance import HEADER, paid_shop, seen_in
from tests.pages.operators import COOKIE, PASSWORD, Desk, desk_of, new_operator, session_of
from tests.pages.people import Customer, Visitors, new_customer
from tests.pages.wallets import busy_wallet, reported
from tests.people import decided
from tests.serving import Merchant, Service

Shot = Callable[[Visitors, Service, Page], Awaitable[None]]

IDENTITY = {
    "document": "national_id",
    "number": "A123456",
    "born": "1990-12-31",
    "address": "H. Kokaa, Malé",
    "reason": "Card seen at the counter",
}


class Day:
    """One day at the desk; a picture needs the steps up to its own."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.steps = [self.open, self.call, self.preview, self.create, self.send, self.book]
        self.steps += [self.sign_off]
        self.done = 0
        self.shops: list[Merchant] = []
        self.customer: Customer
        self.applicant = ""
        self.desks: list[Desk] = []

    async def reach(self, step: str) -> None:
        names = [each.__name__ for each in self.steps]
        for each in self.steps[self.done : names.index(step) + 1]:
            await each()
            self.done += 1

    async def _must(self, desk: Desk, page: str, action: str = "", **fields: Any) -> str:
        answer = await asyncio.to_thread(desk.send, page, action, **fields)
        assert answer.status_code < 400, (page, action, answer.text)
        return answer.text

    async def open(self) -> None:
        self.desks = [await desk_of(self.service, "admin") for _ in range(2)]
        for name, laari, bank in (
            ("Seagull Café", 1_284_550, True),
            ("Heron Guest House and Dive Centre, Thulusdhoo", 21_500_000, True),
            ("Bodu Boat", 87_500, False),
        ):
            email = f"owner-{secrets.token_hex(2)}@{name.split()[0].lower()}.example"
            given = {"name": name, "email": email, "fee_bps": 150}
            self.shops.append(await paid_shop(self.service, laari, with_bank=bank, **given))
        self.customer = await busy_wallet(self.shops[0])
        async with connection_to(self.service.dsn) as connection:
            async with connection.transaction():
                made = await sign_up(
                    connection,
                    OPERATOR,
                    bytes(32),
                    10**6,
                    name="Coral Books",
                    email=f"{secrets.token_hex(4)}@coral.example",
                )
            assert made is not None
            self.applicant = made.merchant.id
            answers = {**ANSWERS, "legal_name": "Coral Books Pvt Ltd"}
            fields = ApplicationAnswers(**answers)
            await decided(connection, SubmitApplication(OPERATOR, self.applicant, fields))

    @property
    def customer_page(self) -> str:
        return f"/customers/cus_{self.customer.id.hex}"

    async def call(self) -> None:
        """The customer has called before, and has money to withdraw."""
        here, desk = self.customer_page, self.desks[0]
        async with connection_to(self.service.dsn) as connection:
            await enter(connection, self.customer.account)
        await self._must(desk, here, "/withdraw", amount="250.00", last="0")
        await self._must(desk, here, "/note", note="Called about a payment at the Seagull Café.")
        await self._must(desk, here, "/identity", **IDENTITY)
        changed = {"contact": "mobile", "value": "9990001", "reason": "New SIM, caller verified"}
        await self._must(desk, here, "/contact", **changed)
        for amount, slip in (("750.00", "BML-20231"), ("20,000.00", "BML-20232")):
            moved = {"kind": "topup", "details": "Bank transfer", "slip": slip}
            account = self.customer.account
            await self._must(desk, "/money", account=account, amount=amount, **moved)

    async def preview(self) -> None:
        """Nothing to do: the page itself shows it."""

    async def create(self) -> None:
        await self._must(self.desks[0], "/payouts/preview", day=yesterday())

    async def send(self) -> None:
        fields = seen_in(self.desks[1].get("/payouts/1").text)
        await self._must(self.desks[1], "/payouts/1", "/approve", **fields)
        await self._must(self.desks[1], "/payouts/1", "/send")
        [largest, *_] = self.orders
        await self._must(
            self.desks[1], "/payouts/1", "/returned", order=largest, reason="Account closed"
        )

    @property
    def orders(self) -> list[str]:
        found = self.service.execute("SELECT reference FROM bank_orders ORDER BY amount DESC")
        return [row["reference"] for row in found]

    @property
    def statement(self) -> str:
        [(paid, reference), *_] = self.service.execute(
            "SELECT amount, reference FROM bank_orders WHERE status = 'sent' ORDER BY amount DESC"
        )
        return (
            f"{HEADER}{today()},FT26322001,Payout {reference},{paid / 100:.2f},,250000.00\n"
            f"{today()},FT26322002,Aishath {self.customer.account},,500.00,250500.00\n"
            f"{today()},FT26322003,CASH DEPOSIT MALE MAIN,,1250.00,251750.00\n"
            f"{today()},FT26322004,MONTHLY ACCOUNT CHARGE,35.00,,251715.00\n"
        )

    async def book(self) -> None:
        await self._must(self.desks[1], "/bank/book", statement=self.statement)

    async def sign_off(self) -> None:
        signed = {"day": str(yesterday()), "bank_closing": "228,720.50"}
        await self._must(self.desks[1], "/float", note="A deposit came after closing", **signed)


_days: dict[str, Day] = {}  # by the service's address


async def _day(service: Service, step: str) -> Day:
    day = _days.setdefault(service.origin, Day(service))
    await day.reach(step)
    return day


async def _log_in(service: Service, page: Page, role: OperatorRole) -> None:
    token = await session_of(service, await new_operator(service, role))
    await page.context.add_cookies([{"name": COOKIE, "value": token, "url": service.origin}])


def _at(step: str, path: str | Callable[[Day], str], role: OperatorRole = "admin") -> Shot:
    async def shot(visitors: Visitors, service: Service, page: Page) -> None:
        day = await _day(service, step)
        await _log_in(service, page, role)
        rest = path if isinstance(path, str) else path(day)
        await page.goto(f"{service.origin}/operator{rest}")

    return shot


def _opened(shot: Shot, *summaries: str) -> Shot:
    """With these folded forms open."""

    async def opened(visitors: Visitors, service: Service, page: Page) -> None:
        await shot(visitors, service, page)
        for summary in summaries:
            await page.get_by_text(f"{summary} …").click()

    return opened


async def login(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/operator/login")
    await page.get_by_label("Email address").fill("aisha@operator.example")
    await page.get_by_label("Password").fill("wrong password")
    await page.get_by_role("button", name="Log in").click()


async def first_login(visitors: Visitors, service: Service, page: Page) -> None:
    email = await new_operator(service, "support")
    await page.goto(f"{service.origin}/operator/login")
    await page.get_by_label("Email address").fill(email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()


async def wrong_movement(visitors: Visitors, service: Service, page: Page) -> None:
    await _at("call", "/money", "finance")(visitors, service, page)
    await page.get_by_label("Account number").fill("12345")
    await page.get_by_label("Amount in rufiyaa").fill("1,000,000.00")
    await page.get_by_label("Text in the customer's history").fill("Bank transfer")
    await page.get_by_role("button", name="Move the money", exact=True).click()


async def frozen(visitors: Visitors, service: Service, page: Page) -> None:
    day = await _day(service, "call")
    other = await new_customer(service, name="Hassan Ali")
    here = f"/customers/cus_{other.id.hex}"
    await asyncio.to_thread(day.desks[0].send, here, "/freeze", reason="Phone reported stolen")
    await _log_in(service, page, "support")
    await page.goto(f"{service.origin}/operator{here}")


async def password_link(visitors: Visitors, service: Service, page: Page) -> None:
    await _at("call", lambda day: f"/merchants/{day.shops[0].id}")(visitors, service, page)
    await page.get_by_role("button", name="Password link").first.click()


async def bank_preview(visitors: Visitors, service: Service, page: Page) -> None:
    day = await _day(service, "send")
    await _log_in(service, page, "finance")
    await page.goto(f"{service.origin}/operator/bank")
    await page.get_by_role("textbox", name="Statement").fill(day.statement)
    await page.get_by_role("button", name="Check the statement").click()


async def bank_wrong(visitors: Visitors, service: Service, page: Page) -> None:
    await _log_in(service, page, "finance")
    await page.goto(f"{service.origin}/operator/bank")
    await page.get_by_role("textbox", name="Statement").fill("date,reference\n2026-01-01,FT1")
    await page.get_by_role("button", name="Check the statement").click()


async def payment(visitors: Visitors, service: Service, page: Page) -> None:
    day = await _day(service, "call")
    made = day.shops[0].payment(amount=48_000, title="Breakfast for four", bill_number="B-2042")
    await _log_in(service, page, "support")
    await page.goto(f"{service.origin}/operator/payments/{made['id']}")


async def case(visitors: Visitors, service: Service, page: Page) -> None:
    found = await reported(service, "I was at sea on Friday, and my phone was at home.")
    await _at("open", f"/cases/case_{found.id.hex}", "support")(visitors, service, page)


def _customer(day: Day) -> str:
    return day.customer_page


def _shop(day: Day) -> str:
    return f"/merchants/{day.shops[0].id}"


def _open_order(day: Day) -> str:
    return f"/payouts/1/returned?order={day.orders[-1]}"


MOVED = "Hold, release or correct", "Change the terms", "Change the fees", "Change the limit"
ACTIONS = "Freeze the wallet", "Change the tier", "Change mobile or email", "View the identity data"

SHOTS: dict[str, Shot] = {
    "operator-login": login,
    "operator-first-login": first_login,
    "operator-payouts-empty": _at("open", "/payouts", "finance"),
    "operator-money-empty": _at("open", "/money?day=2026-01-01", "finance"),
    "operator-bank-empty": _at("open", "/bank", "finance"),
    "operator-bank-wrong": bank_wrong,
    "operator-search": _at("call", "", "support"),
    "operator-inbox": _at("call", ""),
    "operator-journal": _at("call", "/journal"),
    "operator-messages": _at("call", "/messages", "support"),
    "operator-settings": _opened(_at("call", "/settings"), "Add a person"),
    "operator-found": _at("call", "?q=Aishath", "support"),
    "operator-found-nothing": _at("call", "?q=Nobody", "support"),
    "operator-customer": _at("call", _customer),
    "operator-customer-actions": _opened(_at("call", _customer), *ACTIONS),
    "operator-customer-frozen": frozen,
    "operator-case": case,
    "operator-cases": _at("open", "/cases", "support"),
    "operator-merchants": _at("call", "/merchants"),
    "operator-merchant": _at("call", _shop),
    "operator-merchant-actions": _opened(_at("call", _shop), *MOVED, "Pause this merchant"),
    "operator-application": _at("call", lambda day: f"/merchants/{day.applicant}"),
    "operator-password-link": password_link,
    "operator-payment": payment,
    "operator-forbidden": _at("call", "/money/volume", "support"),
    "operator-missing": _at("call", "/payments/none", "support"),
    "operator-account": _at("call", "/account", "support"),
    "operator-money": _at("call", "/money", "finance"),
    "operator-money-wrong": wrong_movement,
    "operator-sales": _at("call", "/money/volume", "finance"),
    "operator-payouts-waiting": _at("preview", "/payouts", "finance"),
    "operator-payouts-preview": _at("preview", "/payouts/preview", "finance"),
    "operator-run-requested": _at("create", "/payouts/1", "finance"),
    "operator-run-sent": _at("send", "/payouts/1", "finance"),
    "operator-run-paid": _at("send", "/payouts/1/paid", "finance"),
    "operator-run-returned": _at("send", _open_order, "finance"),
    "operator-payouts": _at("send", "/payouts", "finance"),
    "operator-bank-preview": bank_preview,
    "operator-bank": _at("book", "/bank", "finance"),
    "operator-float-open": _at("book", "/float", "finance"),
    "operator-float": _opened(_at("sign_off", "/float", "finance"), "Record a sweep"),
    "operator-health": _at("sign_off", "/health"),
}
