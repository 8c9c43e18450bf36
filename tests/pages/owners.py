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

    async def open(
        self, visitors: Visitors, path: str, size: str = "desktop", **login: Any
    ) -> Page:
        """The page of the dashboard, in a new browser that is logged in already."""
        page = await visitors.page(size)
        await visitors.log_in(page.context, self.email, **login)
        await page.goto(f"{self.shop.service.origin}/dashboard{path}")
        return page


def new_owner(service: Service, **options: Any) -> Owner:
    email = f"{secrets.token_hex(6)}@shop.example"
    return Owner(service.merchant(email=email, password=PASSWORD, **options), email)
