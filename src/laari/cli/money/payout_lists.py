"""`laari payout list|show|runs`: payouts of both modes, and the operator's runs."""

from datetime import UTC, datetime
from uuid import UUID

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import database_operation
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.rules import ids
from laari.rules.banking.bank_accounts import masked
from laari.rules.banking.payouts import tenant_of
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.lifecycle import PAYOUT_TRANSITIONS
from laari.rules.records import BankOrder, Mode, Payout, PayoutRun, Tenant
from laari.store.postgres.pool import Connection
from laari.store.reads.money import payouts

MOST_LISTED = 1_000
run_number = fields.integer(1, 999_999)


@click.command("list")
@click.option("--mode", type=fields.MODE, help="Only of this mode.")
@click.option("--status", type=click.Choice(list(PAYOUT_TRANSITIONS)), help="Only with this one.")
@click.option("--limit", type=fields.integer(1, MOST_LISTED), default=20, help="Number of payouts.")
@database_operation
@needs("payouts.run")
async def list_payouts(
    connection: Connection, mode: Mode | None, status: str | None, limit: int
) -> list[dict[str, object]]:
    """List payouts and withdrawals, newest first.

    These are of both modes, requested ones included.
    """
    return await _listed(connection, await payouts.newest(connection, limit, mode, status))


@click.command()
@click.argument("what", metavar="PAYOUT|RUN")
@database_operation
@needs("payouts.run")
async def show(connection: Connection, what: str) -> dict[str, object]:
    """Show a payout with its orders, or a run with its payouts."""
    if what.isdecimal():
        return await run_shown(connection, await find_run(connection, run_number(what)))
    found = await _find_payout(connection, what)
    (listed,) = await _listed(connection, [found])
    return {
        **listed,
        "number": found.number,
        "cut_off": show_time(found.cut_off),
        "sent_at": show_or_none(found.sent_at),
        "settled_at": show_or_none(found.settled_at),
        "returned_at": show_or_none(found.returned_at),
        "cancelled_at": show_or_none(found.cancelled_at),
        "orders": [_order(each) for each in await payouts.orders(connection, [found.id])],
    }


@click.command()
@click.option("--limit", type=fields.integer(1, MOST_LISTED), default=20, help="Number of runs.")
@database_operation
@needs("payouts.run")
async def runs(connection: Connection, limit: int) -> list[dict[str, object]]:
    """List runs, newest first."""
    found = await payouts.runs(connection, "live", limit)
    return [
        {**_described(each.run), "payouts": each.payouts, "total": each.total} for each in found
    ]


def payout_id(text: str) -> UUID:
    found = ids.read_id(ids.PAYOUT, text)
    if found is None:
        raise LaariError(f"no payout has the id {text}")
    return found


async def _find_payout(connection: Connection, text: str) -> Payout:
    found = (await payouts.by_id(connection, [payout_id(text)])).get(payout_id(text))
    if found is None:
        raise LaariError(f"no payout has the id {text}")
    return found


async def find_run(connection: Connection, number: int) -> PayoutRun:
    found = await payouts.run_by_number(connection, "live", number)
    if found is None:
        raise LaariError(f"no run has the number {number}")
    return found


async def run_shown(connection: Connection, found: PayoutRun) -> dict[str, object]:
    joined = await payouts.of_run(connection, found.id)
    by_id = await payouts.tenants_of(connection, joined)
    orders = await payouts.orders(connection, [each.id for each in joined])
    left = [each for each in joined if each.status != "cancelled"]
    now = datetime.now(UTC)
    return {
        **_described(found),
        "count": len(left),
        "total": sum(each.amount for each in left),
        "payouts": [described(each, tenant_of(by_id, each)) for each in joined],
        "recent_bank_accounts": [
            _recent(each) for each in await payouts.recent_accounts(connection, joined, now)
        ],
        "orders": [_order(each) for each in orders],
    }


def _recent(found: payouts.RecentAccount) -> dict[str, object]:
    account = found.account
    return {
        "owner": found.owner,
        "holder": account.holder,
        "bank": account.bank,
        "number": masked(account.account_number),
        "entered_by": account.entered_by,
        "entered_at": show_time(account.created_at),
        "effective_at": show_time(account.effective_at),
    }


async def _listed(connection: Connection, found: list[Payout]) -> list[dict[str, object]]:
    by_id = await payouts.tenants_of(connection, found)
    run_ids = {each.run_id for each in found if each.run_id is not None}
    joined: dict[UUID, PayoutRun] = await payouts.run_by_id(connection, list(run_ids))
    return [
        {
            **described(each, tenant_of(by_id, each)),
            "run": None if each.run_id is None else joined[each.run_id].number,
        }
        for each in found
    ]


def merchant(tenant: Tenant) -> dict[str, object]:
    return {"merchant_id": tenant.merchant_id, "merchant": tenant.merchant_name}


def owner_of(found: Payout | None, tenant: Tenant | None) -> dict[str, object]:
    """The merchant of a payout, or the account of a withdrawal."""
    if tenant is not None:
        return {**merchant(tenant), "account": None}
    account = None if found is None else str(found.account)
    return {"merchant_id": None, "merchant": None, "account": account}


async def payout_shown(connection: Connection, found: Payout) -> dict[str, object]:
    by_id = await payouts.tenants_of(connection, [found])
    return described(found, tenant_of(by_id, found))


def described(found: Payout, tenant: Tenant | None) -> dict[str, object]:
    """A payout of a merchant, or a withdrawal from an account."""
    return {
        "id": ids.show_id(ids.PAYOUT, found.id),
        "mode": "live" if tenant is None else tenant.mode,
        **owner_of(found, tenant),
        "amount": found.amount,
        "fee": found.fee,
        "status": found.status,
        "returned_amount": found.returned_amount,
        "created_at": show_time(found.created_at),
    }


def _order(order: BankOrder) -> dict[str, object]:
    return {
        "reference": order.reference,
        "payout_id": ids.show_id(ids.PAYOUT, order.payout_id),
        "amount": order.amount,
        "status": order.status,
    }


def _described(found: PayoutRun) -> dict[str, object]:
    return {
        "run": found.number,
        "day": str(found.day),
        "status": found.status,
        "created_at": show_time(found.created_at),
        "created_by": found.created_by,
        "approved_by": found.approved_by,
        "approved_at": show_or_none(found.approved_at),
        "sent_by": found.sent_by,
        "sent_at": show_or_none(found.sent_at),
    }


COMMANDS: tuple[click.Command, ...] = (list_payouts, show, runs)
