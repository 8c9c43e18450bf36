"""`laari payout list|show|runs`: payouts of both modes, and the operator's runs."""

from uuid import UUID

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import database_operation
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.operations.payouts import find_run, order_shape, payout_shape, run_line, run_shape
from laari.rules import ids
from laari.rules.banking.payouts import tenant_of
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.lifecycle import PAYOUT_TRANSITIONS
from laari.rules.records.payouts import Payout, PayoutRun
from laari.rules.records.tenants import Mode
from laari.store.bank_statements import asking
from laari.store.postgres.pool import Connection
from laari.store.reads.money import payouts

MOST_LISTED = 1_000
run_number = fields.integer(1, 999_999)


@click.command("list")
@click.option("--mode", type=fields.MODE, help="Only of this mode.")
@click.option(
    "--status", type=click.Choice(list(PAYOUT_TRANSITIONS)), help="Only payouts with this status."
)
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
        return await run_shape(asking(connection), await known_run(connection, run_number(what)))
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
        "orders": [order_shape(each) for each in await payouts.orders(connection, [found.id])],
    }


@click.command()
@click.option("--limit", type=fields.integer(1, MOST_LISTED), default=20, help="Number of runs.")
@database_operation
@needs("payouts.run")
async def runs(connection: Connection, limit: int) -> list[dict[str, object]]:
    """List runs, newest first."""
    found = await payouts.runs(connection, "live", limit)
    return [
        {**run_line(each.run, each.state), "payouts": each.payouts, "total": each.total}
        for each in found
    ]


async def _find_payout(connection: Connection, text: str) -> Payout:
    payout_id = ids.read_id(ids.PAYOUT, text)
    found = None
    if payout_id is not None:
        found = (await payouts.by_id(connection, [payout_id])).get(payout_id)
    if found is None:
        raise LaariError(f"no payout has the id {text}")
    return found


async def known_run(connection: Connection, number: int) -> PayoutRun:
    found = await find_run(connection, number)
    if found is None:
        raise LaariError(f"no run has the number {number}")
    return found


async def _listed(connection: Connection, found: list[Payout]) -> list[dict[str, object]]:
    by_id = await payouts.tenants_of(connection, found)
    run_ids = {each.run_id for each in found if each.run_id is not None}
    joined: dict[UUID, PayoutRun] = await payouts.run_by_id(connection, list(run_ids))
    return [
        {
            **payout_shape(each, tenant_of(by_id, each)),
            "run": None if each.run_id is None else joined[each.run_id].number,
        }
        for each in found
    ]


COMMANDS: tuple[click.Command, ...] = (list_payouts, show, runs)
