"""Every page: nothing that axe-core calls serious, few bytes, and not wider than the screen.

A page that no walk opens fails. A walk opens its addresses and their links, each route once.
"""

import asyncio
import re
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page

from laari.edge.pages.app import ROUTER, ROUTES
from laari.rules.merchants.links import CreateReusableLink
from laari.rules.merchants.tills import CreateTill
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.people import persons
from tests.actors import OPERATOR
from tests.days import today, yesterday
from tests.logins import password_link
from tests.pages.counters import Device, new_shop, paid_by
from tests.pages.finance import HEADER
from tests.pages.operators import COOKIE, new_operator, session_of
from tests.pages.people import (
    SIZES,
    Visitors,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.test_offline import paired_page
from tests.pages.test_operator_bank import unknown_line
from tests.pages.test_permissions import TILL, member
from tests.pages.wallets import busy_wallet, reported, speak_dhivehi
from tests.people import decided
from tests.serving import Merchant, Service, serving
from tools.screenshots.dashboard_shots import Trade
from tools.screenshots.operator_shots import Day
from tools.screenshots.take import AGREEMENT, ORDER, SETTINGS

pytestmark = pytest.mark.ci

MOST_BYTES = 60_000  # of a page with everything on it, without a cache
NO_PAGE = re.compile(r"\.csv$|\}/code$|/worker/|/passkey$")  # files, pictures and JSON
# Compressed, also of what the browser keeps, with 300 bytes for the head of each answer.
BYTES = """performance.getEntries().filter((entry) => "encodedBodySize" in entry)
    .reduce((sum, entry) => sum + entry.encodedBodySize + 300, 0)"""
LINKS = "[...document.querySelectorAll('a[href]')].map((link) => link.href)"
# Reached only by a secret, or in the middle of a log-in: their own tests look at them.
ELSEWHERE = {
    **dict.fromkeys(("/dashboard", "/dashboard/{merchant}"), "they only lead to other pages"),
    "/counter/shell/{digest}": "test_shell.py",
    "/app/forgotten/{token}": "test_forgotten.py",
    "/app/forgotten-code": "test_forgotten.py",
    "/app/contact/{token}": "test_wallet_security.py",
    "/app/signup/code": "test_wallet_signup.py",
    "/dashboard/login/code": "test_second_factor.py",
    "/dashboard/{merchant}/{mode}/counter/closings/{id}": "test_counter_sums.py",
    **{
        f"{area}/account/factor/{page}": "only with a second factor: test_second_factor.py"
        for area in ("/dashboard/{merchant}/{mode}", "/operator")
        for page in ("codes", "off")
    },
    "/dashboard/join/{token}": "test_people.py",
    "/operator/login/code": "test_second_factor.py",
}


def area_of(path: str) -> str:
    first = path.split("/")[1]
    return first if first in ("app", "counter", "dashboard", "operator") else ""


def route_of(address: str) -> str | None:
    """The path of the page at this address, such as `/pay/{token}`."""
    found = ROUTER.find(urlsplit(address).path)
    route = None if found is None else found.methods.get("GET")
    return None if route is None or NO_PAGE.search(route.path) else route.path


class Walk:
    """The pages of one area, in browsers of several people."""

    def __init__(self, visitors: Visitors, area: str) -> None:
        self.visitors = visitors
        self.origin = visitors.service.origin
        self.wanted = {
            route.path
            for route in ROUTES
            if route.get is not None
            and not route.access.polled
            and not NO_PAGE.search(route.path)
            and area_of(route.path) == area
        } - ELSEWHERE.keys()
        self.walked: set[str] = set()
        self.faults: list[str] = []

    async def on(self, page: Page, *addresses: str) -> None:
        waiting = deque(f"{self.origin}{address}" for address in addresses)
        known = set(self.walked)
        while waiting:
            answer = await page.goto(waiting.popleft())
            route = route_of(page.url)
            if answer is None or answer.status >= 400 or route is None:
                self.faults.append(f"{page.url} is no page: {answer and answer.status}")
                continue
            await self._look(page, route)
            self.walked.add(route)
            known.add(route)
            for link in await page.evaluate(LINKS):
                leads_to = route_of(link) if link.startswith(self.origin) else None
                if leads_to in self.wanted - known:
                    known.add(leads_to)
                    waiting.append(link)

    async def _look(self, page: Page, route: str) -> None:
        total = await page.evaluate(BYTES)
        if not 5_000 < total < MOST_BYTES:
            self.faults.append(f"{route}: {total} bytes")
        for size in ("desktop", "phone"):
            await page.set_viewport_size(SIZES[size])
            if await sideways_scroll(page) > 0:
                self.faults.append(f"{route}: wider than a {size}")
        self.faults += [f"{route}: {each}" for each in await serious_violations(page)]

    def end(self) -> None:
        assert (self.faults, self.wanted - self.walked) == ([], set())


@pytest.fixture(scope="module")
def service(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With a database of its own: the day at the desk pays out to every merchant."""
    settings = {**SETTINGS, "LAARI_SANDBOX_SIGNUP": "on", "LAARI_TRUSTED_PROXIES": "127.0.0.1"}
    folder = tmp_path_factory.mktemp("every")
    with serving(engine.migrated("every_page"), folder, **settings) as service:
        yield service


async def test_the_desk(service: Service, visitors: Visitors) -> None:
    walk, day = Walk(visitors, "operator"), Day(service)
    await day.reach("sign_off")
    shop, customer = day.shops[0], day.customer
    case = await reported(service)
    payment = shop.payment(**ORDER)
    line = unknown_line(day.desks[0])
    lines = f"{HEADER}{today()},FT26322099,Who knows,,7.00,7.00\n".encode()
    uploaded = day.desks[0].upload("/bank", {"file": lines}).url.path
    page = await visitors.page("phone")
    await walk.on(page, "/operator/login")
    token = await session_of(service, await new_operator(service, "admin"))
    await page.context.add_cookies([{"name": COOKIE, "value": token, "url": service.origin}])
    await walk.on(
        await page.context.new_page(),
        "/operator",
        f"/operator/customers/cus_{customer.id.hex}",
        f"/operator/merchants/{shop.id}",
        f"/operator/payments/{payment['id']}",
        f"/operator/cases/case_{case.id.hex}",
        "/operator/payouts/1",
        f"/operator/payouts/1/returned?order={day.orders[-1]}",
        "/operator/payouts/preview",
        f"/operator/bank/find?reference={line}",
        uploaded,
        f"/operator/amounts?merchant={shop.id}&amount=125.00&day={yesterday()}",
    )
    walk.end()


async def test_the_dashboard(service: Service, visitors: Visitors) -> None:
    walk, trade = Walk(visitors, "dashboard"), await asyncio.to_thread(Trade, service)
    home = f"/dashboard/{trade.shop.id}/sandbox"
    long = trade.shop.payment(title="x" * 255, reference="y" * 100, description="z" * 500)
    async with connection_to(service.dsn) as connection:
        tenant = await tenants.of_merchant(connection, trade.shop.id, "sandbox")
        master = service.master_key
        till = await decided(connection, CreateTill(OPERATOR, tenant, "Bar"), master=master)
        link = await decided(
            connection, CreateReusableLink(OPERATOR, tenant, "Course", 5_000), master=master
        )
        whose = await persons.find(connection, trade.email)
        assert whose is not None
        token = await password_link(connection, whose, datetime.now(UTC), master)
    stranger = await visitors.page("phone")
    signed_out = ("/dashboard/login", "/dashboard/signup", "/dashboard/forgotten")
    await walk.on(stranger, *signed_out, f"/dashboard/forgotten/{token}")
    await asyncio.to_thread(trade.shop.client)
    page = await visitors.page("phone")
    await visitors.log_in(page.context, trade.email)
    pages = (
        "",
        "/merchants",
        "/application",
        "/keys/rotate",
        "/keys/end-old",
        "/keys/mode",
        "/payments/movements",
        *(f"/payments/{each['id']}" for each in (trade.paid, trade.pending, trade.refunded, long)),
        f"/payments/{trade.paid['id']}/refund",
        f"/payments/{trade.pending['id']}/cancel",
        f"/tills/till_{till.id.hex}",
        f"/links/link_{link.id.hex}",
        "/tills/close?till=Terrace",
        f"/tills/closings/{trade.closing}",
    )
    await walk.on(page, *(home + path for path in pages))
    cashier = await visitors.page("phone")
    shop = await new_shop(service)
    await visitors.log_in(cashier.context, await member(service, shop.owner.shop.id, "cashier"))
    sale = shop.owner.shop.payment(terminal_label=TILL)
    home = f"/dashboard{shop.home}/counter"
    await walk.on(cashier, home, f"{home}/sales/{sale['id']}")
    walk.end()


@pytest.mark.parametrize("language", ["en", "dv"])
async def test_the_wallet(
    service: Service, visitors: Visitors, live_shop: Merchant, language: str
) -> None:
    walk, customer = Walk(visitors, "app"), await busy_wallet(live_shop)
    stranger = await visitors.page("phone")
    for name in ("login", "signup", "forgotten"):
        await walk.on(stranger, f"/app/{name}?lang={language}")
    page = await visitors.page("phone")
    if language == "dv":
        await speak_dhivehi(service, customer)
    await visitors.log_in(page.context, customer)
    await walk.on(page, "/app", "/app/password", "/app/statement")
    walk.end()


@pytest.mark.parametrize("language", ["en", "dv"])
async def test_the_pages_of_strangers(
    service: Service, visitors: Visitors, live_shop: Merchant, language: str
) -> None:
    walk = Walk(visitors, "")
    shop = await new_shop(service)
    async with connection_to(service.dsn) as connection:
        tenant = await tenants.of_merchant(connection, live_shop.id, "live")
        link = await decided(
            connection,
            CreateReusableLink(OPERATOR, tenant, "Course", 5_000),
            master=service.master_key,
        )
    pages = (
        f"{live_shop.payment(**ORDER)['payment_url']}",
        f"{live_shop.authorization(**AGREEMENT)['approval_url']}",
        "/",
        f"/till/{shop.token}",
        f"/link/{link.token}",
    )
    paths = (page.removeprefix(service.origin) for page in pages)
    page = await visitors.page("phone")
    await walk.on(page, *(f"{path}?lang={language}" for path in paths))
    walk.end()


@pytest.mark.parametrize("language", ["en", "dv"])
async def test_the_counter(service: Service, visitors: Visitors, language: str) -> None:
    walk, shop = Walk(visitors, "counter"), await new_shop(service)
    Device(shop).sell("45.50")
    [sale] = shop.payments()
    await paid_by(shop, await new_customer(service), sale)
    page = await paired_page(shop, visitors, language)
    closed = shop.press("/tills/close", till=sale["terminal_label"], number="1")
    closing = closed.headers["location"].partition("?")[0].rpartition("/")[2]
    paths = ("", f"/closings/{closing}", f"/sales/pay_{sale['id'].hex}", "/pair")
    await walk.on(page, *(f"/counter{path}" for path in paths))
    walk.end()
