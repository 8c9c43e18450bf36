"""`laari payment`: show and refund payments."""

from typing import get_args

import click
import msgspec

from laari.cli.terminal import fields
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
from laari.cli.terminal.waiting import asked
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.banking.merchant_refunds import RefundForMerchant
from laari.rules.calendar import show_or_none
from laari.rules.limits.texts import MAX_NOTE
from laari.rules.money import MAX_MONEY, rufiyaa
from laari.rules.payments.refunds import left_of
from laari.rules.records.payments import Payment, Refund, RefundReason
from laari.rules.records.second_person import PendingMovement
from laari.rules.records.tenants import Tenant
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.payments import payment_shape
from laari.rules.shapes.refunds import refund_shape
from laari.store.postgres.pool import connection_to
from laari.store.reads import payments, refunds, tenants


@click.group()
def payment() -> None:
    """Show and refund payments."""


@payment.command()
@click.argument("payment_id")
@operation
@needs("payments.read")
async def show(service: Service, payment_id: str) -> dict[str, object]:
    """Show a payment, its refunds and who made them."""
    found, tenant = await _find(service, payment_id)
    async with connection_to(service.dsn) as connection:
        made = await refunds.of_payment(connection, found.id)
    shown = msgspec.json.decode(to_json(payment_shape(found, await origin_of(service))))
    return {
        **shown,
        "refunded_amount": found.refunded_amount or 0,
        "refunded_at": show_or_none(found.refunded_at),
        "merchant_id": tenant.merchant_id,
        "mode": tenant.mode,
        "refunds": [_described(each) for each in made],
    }


def _described(refund: Refund) -> dict[str, object]:
    shown = msgspec.to_builtins(refund_shape(refund))
    return {**shown, "actor": refund.actor_kind, "actor_name": refund.actor_name, "tid": refund.tid}


@payment.command()
@click.argument("payment_id")
@click.option(
    "--amount",
    type=fields.integer(1, MAX_MONEY),
    metavar="LAARI",
    help="Refund this part. Default: all that is left.",
)
@click.option("--reason", type=click.Choice(get_args(RefundReason)), help="Kept with the refund.")
@click.option("--note", type=fields.text(MAX_NOTE), help="Kept with the refund.")
@click.option("--yes", is_flag=True, help="Do not ask on a terminal.")
@json_option
@needs("payments.refund")
def refund(
    payment_id: str,
    amount: int | None,
    reason: RefundReason | None,
    note: str | None,
    yes: bool,
    *,
    as_json: bool,
) -> None:
    """Refund a paid payment, or a part of it; prints the payment."""
    # Asks outside of the event loop, so that Ctrl-C works.
    question = in_service(_question, payment_id, amount) if is_interactive() and not yes else None
    if question is not None and not confirm(question):
        raise LaariError("nothing was refunded")
    show_answer(in_service(_refund, payment_id, amount, reason, note), as_json)


async def _question(service: Service, payment_id: str, amount: int | None) -> str | None:
    """Returns None for a payment that cannot be refunded: the refusal gives the reason."""
    found, tenant = await _find(service, payment_id)
    if found.status != "paid":
        return None
    whose = f"{tenant.merchant_name} ({tenant.merchant_id}, {tenant.mode})"
    returned = left_of(found) if amount is None else amount
    return (
        f"Refund MVR {rufiyaa(returned)} of {found.reference!r} from {whose} "
        f"to account {found.payer_account}?"
    )


async def _refund(
    service: Service,
    payment_id: str,
    amount: int | None,
    reason: RefundReason | None,
    note: str | None,
) -> object:
    found, tenant = await _find(service, payment_id)
    command = RefundForMerchant(tenant.id, actor(), found.id, amount, reason, note=note)

    outcome = await submit(service, command)
    if isinstance(outcome, PendingMovement):
        return await asked(service, outcome)
    return payment_shape(outcome.payment, await origin_of(service))


async def _find(service: Service, payment_id: str) -> tuple[Payment, Tenant]:
    number = ids.read_id(ids.PAYMENT, payment_id)
    async with connection_to(service.dsn) as connection:
        found = (await payments.by_id(connection, [number])).get(number) if number else None
        if found is None:
            raise LaariError(f"no payment has the id {payment_id}")
        return found, (await tenants.by_id(connection, [found.tenant_id]))[found.tenant_id]
