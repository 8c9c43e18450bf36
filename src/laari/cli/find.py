"""`laari find`: one search over customers, merchants, payments, requests and authorizations."""

from datetime import date

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import operation
from laari.cli.terminal.output import complain
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.operations.bank import described as line_shape
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.money import read_rufiyaa
from laari.rules.records.authorizations import Authorization
from laari.rules.records.payments import Payment, PaymentRequest
from laari.rules.records.tenants import Mode
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.find import Finds, FoundPayout, find, payments_of_amount

MOST_FOUND = 50


@click.command("find")
@click.argument("text", type=fields.text(255))
@click.option("--merchant", "merchant_id", help="TEXT is an amount in rufiyaa of this merchant.")
@click.option("--mode", type=fields.MODE, default="live", help="Mode of the merchant's payments.")
@click.option("--day", type=fields.day, help="Maldivian day of the amount, such as 2026-11-18.")
@operation
@needs("customers.read")
async def find_command(
    service: Service, text: str, merchant_id: str | None, mode: Mode, day: date | None
) -> dict[str, object]:
    """Find customers, merchants, payments or payouts.

    TEXT is a mobile number, an email address, a virtual payment address, words of a name, an
    account number, a reference of a merchant, of a receipt or of the bank, an id, or a payment
    link. An email address also finds the merchants of this person. With --merchant and --day,
    TEXT is an amount in rufiyaa.
    """
    if (merchant_id is None) != (day is None):
        raise LaariError("use --merchant and --day together, to find an amount")
    async with connection_to(service.dsn) as connection:
        if merchant_id is None or day is None:
            suffixes = service.settings.vpa_suffixes
            found = await find(connection, text, MOST_FOUND, vpa_suffixes=suffixes)
        else:
            amount = read_rufiyaa(text)
            if amount is None:
                raise LaariError(f"{text!r} is not an amount in rufiyaa")
            tenant = await tenants.in_mode(connection, merchant_id, mode)
            if tenant is None:
                raise LaariError(f"no merchant has the id {merchant_id} in {mode} mode")
            rows = await payments_of_amount(connection, tenant.id, amount, day, MOST_FOUND + 1)
            found = Finds.of_payments(rows, tenant, MOST_FOUND)
    if found.more:
        complain(f"more than {MOST_FOUND} {' and '.join(found.more)} match: write more of the text")
    return described(text, found)


def described(text: str, found: Finds) -> dict[str, object]:
    """A table for each kind; amounts are in laari."""
    return {
        "text": text,
        "customers": [
            {
                "customer_id": ids.show_id(ids.CUSTOMER, each.customer_id),
                "account_number": str(each.account),
                "name": each.name,
                "mode": each.mode,
                "mobile": each.mobile,
                "email": each.email,
                "frozen": each.frozen_at is not None,
            }
            for each in found.customers.values()
        ],
        "merchants": [
            {
                "merchant_id": each.id,
                "name": each.name,
                "mode": each.mode,
                "active": each.active,
                "created_at": show_time(each.created_at),
            }
            for each in found.merchants.values()
        ],
        "payments": [
            {"payment_id": ids.show_id(ids.PAYMENT, each.id), **_resource(each, found)}
            for each in found.payments.values()
        ],
        "payment_requests": [
            {"payment_request_id": ids.show_id(ids.PAYMENT_REQUEST, each.id)}
            | _resource(each, found)
            for each in found.requests.values()
        ],
        "authorizations": [
            {"authorization_id": ids.show_id(ids.AUTHORIZATION, each.id), **_resource(each, found)}
            for each in found.authorizations.values()
        ],
        "transactions": [
            {
                "tid": each.tid,
                "account_number": str(each.account),
                "time": show_time(each.time),
                "type": each.type,
                "amount": each.amount,
                "status": each.status,
                "failure": each.failure,
            }
            for each in found.transactions.values()
        ],
        "payouts": [_payout(each, found) for each in found.payouts.values()],
        "bank_lines": [line_shape(each) for each in found.lines.values()],
    }


def _payout(each: FoundPayout, found: Finds) -> dict[str, object]:
    payout = each.payout
    tenant = None if payout.tenant_id is None else found.tenants[payout.tenant_id]
    return {
        "payout_id": ids.show_id(ids.PAYOUT, payout.id),
        "merchant_id": None if tenant is None else tenant.merchant_id,
        "account_number": None if payout.account is None else str(payout.account),
        "amount": payout.amount,
        "status": payout.status,
        "run": each.run,
        "orders": [order.reference for order in each.orders],
    }


def _resource(row: Payment | PaymentRequest | Authorization, found: Finds) -> dict[str, object]:
    tenant = found.tenants[row.tenant_id]
    amount = {} if isinstance(row, Authorization) else {"amount": row.amount}
    return {
        "merchant_id": tenant.merchant_id,
        "merchant": tenant.merchant_name,
        "mode": tenant.mode,
        "reference": row.reference,
        **amount,
        "status": row.status,
        "created_at": show_time(row.created_at),
    }
