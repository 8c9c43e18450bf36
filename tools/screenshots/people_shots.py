"""Pictures of the people page, of an invitation and of the merchants of one person."""

import asyncio
import secrets
from typing import Any

from playwright.async_api import Page

from laari.rules.people.persons import NewLogin
from laari.store.people.passwords import nobodys_hash
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.pages.owners import Owner, new_owner
from tests.pages.people import Visitors, new_customer
from tests.pages.wallets import pay
from tests.people import add
from tests.serving import Service

STAFF: tuple[tuple[str, Any, str | None], ...] = (
    ("mariyam", "manager", None),
    ("ibrahim.rasheed", "accountant", None),
    ("aisha", "cashier", "Terrace"),
)


async def _staffed(visitors: Visitors, service: Service) -> tuple[Owner, str]:
    """A café with people, and the email of the manager, who was there just now."""
    owner = await asyncio.to_thread(new_owner, service, name="Seagull Café", mode="live")
    mark = secrets.token_hex(2)
    async with connection_to(service.dsn) as connection:
        for name, role, till in STAFF:
            email = f"{name}.{mark}@seagull.example"
            place = (owner.shop.id, email, role, till)
            await add(connection, OPERATOR, *place, NewLogin(nobodys_hash()))
    manager = f"mariyam.{mark}@seagull.example"
    page = await visitors.page("phone")
    await visitors.log_in(page.context, manager)
    await page.goto(owner.url("/live"))
    return owner, manager


async def _invite(owner: Owner, page: Page) -> str:
    await page.goto(owner.url("/live/people"))
    await page.get_by_label("Email address").fill("hassan.new@seagull.example")
    await page.get_by_label("Till, for").fill("Terrace")
    await page.get_by_role("button", name="Invite").click()
    return await page.get_by_label("Invitation link").input_value()


async def people(visitors: Visitors, service: Service, page: Page) -> None:
    owner, _ = await _staffed(visitors, service)
    await visitors.log_in(page.context, owner.email)
    await _invite(owner, page)
    await page.goto(owner.url("/live/people"))


async def invited(visitors: Visitors, service: Service, page: Page) -> None:
    owner, _ = await _staffed(visitors, service)
    await visitors.log_in(page.context, owner.email)
    await _invite(owner, page)


async def person(visitors: Visitors, service: Service, page: Page) -> None:
    owner, manager = await _staffed(visitors, service)
    await visitors.log_in(page.context, owner.email)
    await page.goto(owner.url("/live/people"))
    await page.get_by_role("link", name=manager).click()
    await page.get_by_text("Remove this person").click()


async def invitation(visitors: Visitors, service: Service, page: Page) -> None:
    owner, _ = await _staffed(visitors, service)
    other = await visitors.page("phone")
    await visitors.log_in(other.context, owner.email)
    await page.goto(await _invite(owner, other))


async def invitation_invalid(visitors: Visitors, service: Service, page: Page) -> None:
    await page.goto(f"{service.origin}/dashboard/join/{secrets.token_urlsafe(32)}")


async def merchants(visitors: Visitors, service: Service, page: Page) -> None:
    _, manager = await _staffed(visitors, service)
    other = await asyncio.to_thread(new_owner, service, name="Heron Guest House and Dive Centre")
    async with connection_to(service.dsn) as connection:
        place = (other.shop.id, manager, "accountant", None)
        await add(connection, OPERATOR, *place, NewLogin(nobodys_hash()))
    await visitors.log_in(page.context, manager)
    await page.goto(other.url("/sandbox"))
    await page.get_by_role("link", name="Change merchant").click()


async def cashier(visitors: Visitors, service: Service, page: Page, *, then: str = "") -> None:
    """A sale at the counter, before it is paid, after it, or refused."""
    owner, manager = await _staffed(visitors, service)
    await visitors.log_in(page.context, manager.replace("mariyam", "aisha"))
    await page.goto(owner.url("/live/payments/new"))
    await page.get_by_label("Amount").fill("0" if then == "refused" else "85")
    await page.get_by_label("What for").fill("Two flat whites")
    await page.get_by_role("button", name="Create").click()
    if then == "paid":
        payment_id = page.url.rpartition("/")[2].partition("?")[0]
        customer = await new_customer(service, name="Fathimath Didi")
        await pay(owner.shop, customer, {"id": payment_id})
        await page.goto(page.url.partition("?")[0])


async def cashier_paid(visitors: Visitors, service: Service, page: Page) -> None:
    await cashier(visitors, service, page, then="paid")


async def cashier_refused(visitors: Visitors, service: Service, page: Page) -> None:
    await cashier(visitors, service, page, then="refused")


async def cashier_overview(visitors: Visitors, service: Service, page: Page) -> None:
    await cashier_paid(visitors, service, page)
    await page.get_by_role("link", name="Overview").click()


async def forbidden(visitors: Visitors, service: Service, page: Page) -> None:
    owner, manager = await _staffed(visitors, service)
    await visitors.log_in(page.context, manager)
    await page.goto(owner.url("/live/people"))


SHOTS = {
    "people": people,
    "people-invited": invited,
    "people-person": person,
    "people-invitation": invitation,
    "people-invitation-invalid": invitation_invalid,
    "people-merchants": merchants,
    "people-forbidden": forbidden,
    "cashier-sale": cashier,
    "cashier-paid": cashier_paid,
    "cashier-refused": cashier_refused,
    "cashier-overview": cashier_overview,
}
