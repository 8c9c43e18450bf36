"""People who visit the pages: customers with a wallet, and browsers of phone and desktop size."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from playwright.async_api import Browser, BrowserContext, Page

from laari.store.postgres.pool import connection_to
from laari.store.secrets import derive
from tests.actors import OPERATOR
from tests.logins import opened
from tests.making import make_customer
from tests.serving import Service

SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 900}}
# Few rules of the pages depend on it, and test_every_page.py looks at all pages in both sizes.
both_sizes = pytest.mark.parametrize(
    "size", ["phone", pytest.param("desktop", marks=pytest.mark.campaign)]
)
AXE = (Path(__file__).parent / "vendor/axe.min.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Customer:
    id: UUID
    name: str
    account: int
    mobile: str
    email: str
    vpa: str
    password: str


_mobiles = count(secrets.randbelow(10**6))  # each its own, as far as one service's tests go


async def new_customer(
    service: Service,
    *,
    name: str = "Aishath Ibrahim",
    mode: Any = "live",
    balance: int = 50_000,
    tier: str = "verified",
    must_change: bool = False,
    first_password: bool = False,
) -> Customer:
    mark = secrets.token_hex(6)
    mobile = f"7{next(_mobiles) % 10**6:06}"
    email, vpa = f"{mark}@example.mv", f"name{mark}"
    async with connection_to(service.dsn) as connection:
        made = await make_customer(
            connection,
            OPERATOR,
            name=name,
            mode=mode,
            tier=tier,
            mobile=mobile,
            email=email,
            vpa=vpa,
            balance=balance,
            must_change=must_change,
            first_password=first_password,
            key_with=service.master_key,
        )
    return Customer(made.id, name, made.account, mobile, email, vpa, made.password)


class Visitors:
    """Browsers, and everything that went wrong in them."""

    def __init__(self, browser: Browser, service: Service) -> None:
        self.browser = browser
        self.service = service
        self.contexts: list[BrowserContext] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self.expected_statuses: set[int] = set()

    async def context(self, size: str = "phone", **options: Any) -> BrowserContext:
        settings = {"viewport": SIZES[size], "locale": "en-GB", "reduced_motion": "reduce"}
        context = await self.browser.new_context(**{**settings, **options})
        context.on("page", self._watch)
        self.contexts.append(context)
        return context

    async def page(self, size: str = "phone", **options: Any) -> Page:
        return await (await self.context(size, **options)).new_page()

    def _watch(self, page: Page) -> None:
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._met)
        page.on("request", self._asked)

    def _heard(self, message: Any) -> None:
        known = any(f"status of {status}" in message.text for status in self.expected_statuses)
        if message.type in ("error", "warning") and not known:
            self.complaints.append(message.text)

    async def _met(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        await dialog.dismiss()

    def _asked(self, request: Any) -> None:
        address = urlsplit(request.url)
        ours = address.netloc == urlsplit(self.service.origin).netloc
        if not ours and address.scheme != "data" and not request.is_navigation_request():
            self.complaints.append(f"asked another host: {request.url}")

    async def log_in(
        self, context: BrowserContext, whose: Customer | str, age: timedelta = timedelta(0)
    ) -> None:
        """Puts a session into the browser, as if its person had logged in some time ago."""
        now = datetime.now(UTC)
        person = whose.id if isinstance(whose, Customer) else whose
        async with connection_to(self.service.dsn) as connection:
            token = await opened(connection, person, now, master=self.service.master_key)
            session = await connection.fetchval(
                "UPDATE sessions SET authenticated_at = $2 WHERE digest = $1 RETURNING digest",
                derive(self.service.master_key, "session", token),
                now - age,
            )
        assert session is not None
        name = "laari" if isinstance(whose, Customer) else "laari-dashboard"
        await context.add_cookies([{"name": name, "value": token, "url": self.service.origin}])

    async def leave(self) -> None:
        for context in self.contexts:
            await context.close()
        assert self.complaints == [], self.complaints
        assert self.dialogs == [], self.dialogs


async def serious_violations(page: Page) -> list[str]:
    """What axe-core finds that keeps people from using the page."""
    return await violations(page, ("serious", "critical"))


async def violations(
    page: Page, impacts: Collection[str] = (), within: str | None = None
) -> list[str]:
    """What axe-core finds: of these impacts or everything, on the page or within a part of it."""
    # Our own policy lets no inline script in; the test speaks to the page from outside of it.
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE)
    found = await page.evaluate(
        "within => axe.run(within || document, {resultTypes: ['violations']})", within
    )
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in found["violations"]
        if not impacts or violation["impact"] in impacts
        for node in violation["nodes"]
    ]


async def sideways_scroll(page: Page) -> int:
    """How many pixels the page is wider than the screen."""
    return int(await page.evaluate("document.documentElement.scrollWidth - innerWidth"))
