"""Merchants' money, payouts and the bank."""

import asyncpg

from laari.rules.needs import Needs
from laari.rules.world import World
from laari.store.batch.loaders.loader import Loader, by_query, by_query_for_each
from laari.store.reads.money import balances, bank, dues, float_days, movement_lists, payouts
from laari.store.reads.recipients import account_owners


async def _load_balances(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock: a balance may only have grown since its snapshot."""
    found = await balances.of_tenants(connection, needs.only_read(World.balances))
    world.balances.update({tenant_id: each.available for tenant_id, each in found.items()})
    world.held.update({tenant_id: each.held for tenant_id, each in found.items()})


async def _load_nothing(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Another table has loaded it."""


async def _load_dues(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock, as for balances. Cut-offs never go back."""
    wanted = []
    for tenant_id, cut_off in needs.only_read(World.dues):
        funds = world.funds.get(tenant_id)
        paid_out_upto = None if funds is None else funds.paid_out_upto
        wanted.append(dues.Wanted(tenant_id, cut_off, paid_out_upto))
    for each, due in zip(wanted, await dues.of(connection, wanted), strict=True):
        world.dues[each.tenant_id, each.cut_off] = due


async def _load_run_numbers(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    world.run_numbers.update(await payouts.run_numbers(connection))


async def _load_approved_runs(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    world.approved_runs.update(await payouts.approved_runs(connection))


async def _load_order_payouts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.order_payouts)
    found = await payouts.order_by_reference(connection, list(wanted))
    world.order_payouts.update({name: order.payout_id for name, order in found.items()})


async def _load_signoffs(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    for day in needs.only_read(World.signoffs):
        signed = await float_days.last_signoff(connection, day)
        if signed is not None:
            world.signoffs[day] = signed


LOADERS: dict[object, Loader] = {
    World.balances: _load_balances,
    World.held: _load_nothing,
    World.dues: _load_dues,
    World.bank_accounts: by_query(World.bank_accounts, payouts.bank_accounts),
    World.paid_accounts: by_query(World.paid_accounts, payouts.paid_accounts),
    World.account_owners: by_query(World.account_owners, account_owners),
    World.last_withdrawals: by_query(World.last_withdrawals, payouts.last_withdrawals),
    World.run_numbers: _load_run_numbers,
    World.approved_runs: _load_approved_runs,
    World.run_payouts: by_query(World.run_payouts, payouts.ids_of_runs),
    World.payout_orders: by_query(World.payout_orders, payouts.references_of),
    World.order_payouts: _load_order_payouts,
    World.waiting_references: by_query(World.waiting_references, movement_lists.waiting_for),
    World.imported_sums: by_query(World.imported_sums, bank.imported_sums),
    World.importers: by_query_for_each(World.importers, bank.importers),
    World.signoffs: _load_signoffs,
    World.answers: by_query(World.answers, bank.answers),
    World.bank_movements: by_query(World.bank_movements, bank.movements),
    World.earned_fees: by_query(World.earned_fees, bank.earned_fees),
}
