"""A merchant's people: a merchant with a login, and browsers that are logged in with it."""

import secrets
from typing import Any, NamedTuple

from playwright.async_api import Page

from tests.pages.people import Visitors
from tests.serving import Merchant, Service

PASSWORD = "correct horse"


class Owner(NamedTuple):
    shop: Merchant
    email: str

    def url(self, path: str) -> str:
        """Of a page such as `/sandbox/payments`; `` is the start of the dashboard."""
        rest = f"/{self.shop.id}{path}" if path else ""
        return f"{self.shop.service.origin}/dashboard{rest}"

    async def open(
        self, visitors: Visitors, path: str, size: str = "desktop", **login: Any
    ) -> Page:
        """The page of the dashboard, in a new browser that is logged in already."""
        page = await visitors.page(size)
        await visitors.log_in(page.context, self.email, **login)
        await page.goto(self.url(path))
        return page


def new_owner(service: Service, **options: Any) -> Owner:
    email = f"{secrets.token_hex(6)}@shop.example"
    return Owner(service.merchant(email=email, password=PASSWORD, **options), email)


def sandbox_only(owner: Owner) -> Owner:
    """As after a sign-up: a cashier of a shop with a live side has no sandbox."""
    owner.shop.service.execute(
        "WITH live AS (DELETE FROM tenants WHERE merchant_id = $1 AND mode = 'live' RETURNING id) "
        "DELETE FROM merchant_funds f USING live WHERE f.tenant_id = live.id",
        owner.shop.id,
    )
    return owner
