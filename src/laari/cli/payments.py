"""`laari payment`: show and refund payments."""

from typing import get_args

import click
import msgspec

from laari.cli.terminal.operation import (
    actor,
    in_service,
    json_option,
    operation,
    origin_of,
    submit,
)
from laari.cli.terminal.operation import show as show_answer
from laari.cli.terminal.output import confirm, is_interactive
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show_or_none
from laari.rules.money import rufiyaa
from laari.rules.payments import RefundPayment
from laari.rules.records import Payment, RefundReason, Tenant
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.payments import payment_shape
from laari.store.postgres.pool import connection_to
from laari.store.reads import payments, tenants


@click.group()
def payment() -> None:
    """Show and refund payments."""


@payment.command()
@click.argument("payment_id")
@operation
@needs("payments.read")
async def show(service: Service, payment_id: str) -> dict[str, object]:
    """Show a payment, with the time and reason of its refund."""
    found, tenant = await _find(service, payment_id)
    async with connection_to(service.dsn) as connection:
        reason = await payments.refund_reason(connection, found.id)
    shown = msgspec.json.decode(to_json(payment_shape(found, await origin_of(service))))
    return {
        **shown,
        "refunded_at": show_or_none(found.refunded_at),
        "refund_reason": reason,
        "merchant_id": tenant.merchant_id,
        "mode": tenant.mode,
    }


@payment.command()
@click.argument("payment_id")
@click.option("--reason", type=click.Choice(get_args(RefundReason)), help="Kept with the refund.")
@click.option("--yes", is_flag=True, help="Do not ask on a terminal.")
@json_option
@needs("payments.refund")
def refund(payment_id: str, reason: RefundReason | None, yes: bool, as_json: bool) -> None:
    """Refund the whole amount of a paid payment."""
    # Asks outside of the event loop, so that Ctrl-C works.
    question = in_service(_question, payment_id) if is_interactive() and not yes else None
    if question is not None and not confirm(question):
        raise LaariError("nothing was refunded")
    show_answer(in_service(_refund, payment_id, reason), as_json)


async def _question(service: Service, payment_id: str) -> str | None:
    """Returns None for a payment that cannot be refunded: the refusal gives the reason."""
    found, tenant = await _find(service, payment_id)
    if found.status != "paid":
        return None
    whose = f"{tenant.merchant_name} ({tenant.merchant_id}, {tenant.mode})"
    return (
        f"Refund MVR {rufiyaa(found.amount)} of {found.reference!r} from {whose} "
        f"to account {found.payer_account}?"
    )


async def _refund(service: Service, payment_id: str, reason: RefundReason | None) -> object:
    found, tenant = await _find(service, payment_id)
    refunded = await submit(service, RefundPayment(tenant, found.id, actor(), reason))
    return payment_shape(refunded, await origin_of(service))


async def _find(service: Service, payment_id: str) -> tuple[Payment, Tenant]:
    number = ids.read_id(ids.PAYMENT, payment_id)
    async with connection_to(service.dsn) as connection:
        found = (await payments.by_id(connection, [number])).get(number) if number else None
        if found is None:
            raise LaariError(f"no payment has the id {payment_id}")
        return found, (await tenants.by_id(connection, [found.tenant_id]))[found.tenant_id]
