"""`laari payment`: what the operator does to payments."""

from __future__ import annotations

import click

from laari.cli.open import Service
from laari.cli.operation import operation, origin_of, submit
from laari.errors import LaariError
from laari.rules import ids
from laari.rules.payments import RefundPayment
from laari.rules.shapes.payments import payment_shape
from laari.store import payments, tenants
from laari.store.database import connection_to


@click.group()
def payment() -> None:
    """Payments."""


@payment.command()
@click.argument("payment_id")
@operation
async def refund(service: Service, payment_id: str) -> object:
    """Give a paid payment's whole amount back to its payer."""
    number = ids.read_id(ids.PAYMENT, payment_id)
    async with connection_to(service.dsn) as connection:
        found = (await payments.by_id(connection, [number])).get(number) if number else None
        if found is None:
            raise LaariError(f"no payment has the id {payment_id}")
        tenant = (await tenants.by_id(connection, [found.tenant_id]))[found.tenant_id]
    refunded = await submit(service, RefundPayment(tenant, found.id))
    return payment_shape(refunded, await origin_of(service))
