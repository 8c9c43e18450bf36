"""Wallets with something in them, for the wallet application's tests and pictures."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

from playwright.async_api import Page, expect

from laari.rules import ids
from laari.rules.actors import Actor, Payer
from laari.rules.command import Command
from laari.rules.payments.authorizations import ApproveAuthorization, SuspendAuthorization
from laari.rules.payments.payment_requests import PayRequest, RejectRequest, ReserveRequest
from laari.rules.payments.payments import PayPayment
from laari.rules.people.cases import OpenCase
from laari.rules.records.people import Case
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.refusals import Refusal
from laari.spine.batches import Spine
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests import shops
from tests.actors import OPERATOR
from tests.pages.people import Customer, Visitors, new_customer
from tests.serving import Merchant, Service

LONG_AGO = timedelta(minutes=11)  # the password is asked for again


async def open_app(
    visitors: Visitors, customer: Customer, path: str = "/app", size: str = "phone", **options: Any
) -> Page:
    """The application at this path, as a customer who has just logged in."""
    age = options.pop("age", timedelta(0))
    page = await visitors.page(size, **options)
    await visitors.log_in(page.context, customer, age)
    await page.goto(visitors.service.origin + path)
    return page


def heading(page: Page) -> Any:
    return expect(page.get_by_role("heading", level=1))


async def execute(service: Service, statement: str, *values: Any) -> Any:
    return await asyncio.to_thread(service.execute, statement, *values)


async def speak_dhivehi(service: Service, customer: Customer) -> None:
    await execute(
        service, "UPDATE customers SET language = 'dv' WHERE mobile = $1", customer.mobile
    )


async def find(shop: Merchant, resource: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = shop.get(f"/{kind}/{resource['id']}").json()["data"]
    return found


async def submit(service: Service, command: Command[Any]) -> Any:
    """Does what a person would do on a page that this test is not about."""
    runner = BatchRunner(service.dsn, service.origin)
    spine = Spine(runner.run)
    spine.start()
    try:
        outcome = await spine.submit(command)
    finally:
        await spine.close()
        await runner.close()
    assert not isinstance(outcome, Refusal), outcome
    return outcome


async def tenant_of(shop: Merchant, mode: Mode = "live") -> Tenant:
    async with connection_to(shop.service.dsn) as connection:
        return await tenants.of_merchant(connection, shop.id, mode)


async def set_active(shop: Merchant, active: bool) -> None:
    async with connection_to(shop.service.dsn) as connection:
        await shops.update(connection, OPERATOR, shop.id, active=active)


def _uuid(prefix: str, resource: dict[str, Any]) -> UUID:
    found = ids.read_id(prefix, resource["id"])
    assert found is not None
    return found


async def pay(shop: Merchant, customer: Customer, payment: dict[str, Any]) -> None:
    """This customer pays a live payment."""
    payment_id = _uuid(ids.PAYMENT, payment)
    payer = Payer(customer.account, "live")
    await submit(shop.service, PayPayment(await tenant_of(shop), payment_id, payer))


def ask(shop: Merchant, customer: Customer, **fields: Any) -> dict[str, Any]:
    """A payment request to this customer."""
    return shop.request(customer={"type": "mobile", "value": customer.mobile}, **fields)


async def answer(
    shop: Merchant,
    customer: Customer,
    request: dict[str, Any],
    command: type[PayRequest | RejectRequest | ReserveRequest],
) -> None:
    request_id = _uuid(ids.PAYMENT_REQUEST, request)
    await submit(
        shop.service, command(await tenant_of(shop), request_id, Payer(customer.account, "live"))
    )


async def reported(service: Service, text: str = "I was at sea.") -> Case:
    """A case of a new customer, about a payment that somebody else made."""
    shop = await asyncio.to_thread(service.merchant, mode="live", name="Seagull Café")
    customer = await new_customer(service)
    await pay(shop, customer, await asyncio.to_thread(shop.payment))
    (line,) = await execute(
        service,
        "SELECT tid FROM transactions WHERE account = $1 AND type = 'payment'",
        customer.account,
    )
    themselves = Actor("customer", ids.show_id(ids.CUSTOMER, customer.id))
    case: Case = await submit(
        service, OpenCase(themselves, customer.id, customer.account, line["tid"], text)
    )
    return case


async def approved(
    shop: Merchant, customer: Customer, mode: Mode = "live", **fields: Any
) -> dict[str, Any]:
    """An authorization that this customer has approved."""
    asked = shop.authorization(**fields)
    authorization_id = _uuid(ids.AUTHORIZATION, asked)
    tenant = await tenant_of(shop, mode)
    await submit(
        shop.service, ApproveAuthorization(tenant, authorization_id, Payer(customer.account, mode))
    )
    return asked


async def busy_wallet(shop: Merchant) -> Customer:
    """A customer of a live shop to whom about everything has happened."""
    customer = await new_customer(shop.service, balance=350_000, tier="basic")
    box = await approved(
        shop,
        customer,
        title="Coffee beans every month",
        description="Two bags, roasted on Sunday.",
        type="recurring",
        limits={
            "per_payment": 50_000,
            "period": {"interval": "month", "amount": 120_000},
            "total": 1_000_000,
        },
        expires_at="2031-12-31",
    )
    for amount, title in ((38_500, "Beans, first delivery"), (42_000, "Beans, with filters")):
        assert shop.charge(box, amount, title=title, bill_number="B-88").status_code == 201
    paused = await approved(shop, customer, title="Beach chairs by the hour", type="unscheduled")
    tenant = await tenant_of(shop)
    await submit(
        shop.service,
        SuspendAuthorization(
            tenant, _uuid(ids.AUTHORIZATION, paused), Payer(customer.account, "live")
        ),
    )
    tab = await approved(shop, customer, title="Table 7", limits={"max_payments": 10})
    assert shop.charge(tab, 500_000, title="The whole café for an evening").status_code == 402
    lunch = ask(shop, customer, amount=46_000, title="Lunch for four", bill_number="B-2040")
    await answer(shop, customer, lunch, PayRequest)
    await answer(shop, customer, ask(shop, customer, title="Someone else's cake"), RejectRequest)
    ask(shop, customer, amount=9_500, title="Two flat whites", bill_number="B-2041")
    ask(
        shop,
        customer,
        amount=126_000,
        title="Deposit for the garden party on Friday",
        description="Thirty guests, from five in the afternoon.\nWe keep the date until tomorrow.",
        bill_number="B-2042",
    )
    return customer
