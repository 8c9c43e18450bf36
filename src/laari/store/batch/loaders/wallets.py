"""Wallets, their history and their keys."""

import asyncpg

from laari.rules.needs import Needs
from laari.rules.world import World
from laari.store.batch.loaders.advisory_locks import lock_in_turn
from laari.store.batch.loaders.loader import Loader, by_key, by_query, by_query_for_each
from laari.store.reads import messages
from laari.store.reads.people import cases, customers, remembered_devices, wallet_keys
from laari.store.reads.recipients import contacts_of
from laari.store.reads.tiers import all_tiers
from laari.store.reads.wallets import lines_by_tid, topups_by_slip

_load_wallets_by_key = by_key(World.wallets)


async def _load_wallets(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    if needs.locked(World.wallets) and not world.tiers:
        world.tiers = await all_tiers(connection)
    await _load_wallets_by_key(connection, needs, world)


async def _load_new_accounts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    if not world.tiers:
        world.tiers = await all_tiers(connection)
    for name in needs.only_read(World.new_accounts):
        world.new_accounts[name] = await _new_account(connection)


async def _new_account(connection: asyncpg.Connection) -> int:
    """An account number for a new wallet, which no other will get."""
    return int(await connection.fetchval("SELECT nextval('wallet_accounts')"))


async def _load_topups(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    slips = {slip for _, slip in needs.only_read(World.topups)}
    await lock_in_turn(connection, [(0, "slip", slip) for slip in slips])
    world.topups.update(await topups_by_slip(connection, slips))


async def _load_line_cases(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    found = await cases.by_tid(connection, needs.only_read(World.line_cases))
    world.line_cases.update({tid: case.id for tid, case in found.items()})


LOADERS: dict[object, Loader] = {
    World.wallets: _load_wallets,
    World.new_accounts: _load_new_accounts,
    World.recipients: by_query(World.recipients, contacts_of),
    World.topups: _load_topups,
    World.lines: by_query(World.lines, lines_by_tid),
    World.sandbox_shops: by_query(World.sandbox_shops, customers.sandbox_shops),
    # After the lock on the wallet: two keys that are made at once count in turn.
    World.wallet_key_counts: by_query_for_each(World.wallet_key_counts, wallet_keys.counts),
    # After the lock on the customer: no key is made meanwhile.
    World.wallet_keys_of: by_query(World.wallet_keys_of, wallet_keys.digests),
    # After the lock on the wallet: no device pays meanwhile.
    World.device_days: by_query(World.device_days, remembered_devices.last_days),
    # After the lock on the customer.
    World.line_cases: _load_line_cases,
    World.open_cases: by_query_for_each(World.open_cases, cases.open_of),
    World.receipts_sent: by_query_for_each(World.receipts_sent, messages.receipts_of),
}
