"""Merchants: tenants, applications, credentials, links and tills."""

import asyncpg

from laari.rules.needs import Needs
from laari.rules.world import World
from laari.store.batch.loaders.advisory_locks import lock_in_turn
from laari.store.batch.loaders.loader import Loader, by_query, by_query_for_each
from laari.store.reads import clients, tenants
from laari.store.reads.merchants import applications, reusable_links
from laari.store.reads.money.tills import open_tills
from laari.store.reads.tills import records


async def _load_new_tenants(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    for key in sorted(needs.only_read(World.new_tenants)):
        world.new_tenants[key] = await _new_tenant_id(connection)


async def _new_tenant_id(connection: asyncpg.Connection) -> int:
    """A number for a new tenant, which no other will get."""
    statement = "SELECT nextval(pg_get_serial_sequence('tenants', 'id'))"
    return int(await connection.fetchval(statement))


async def _load_merchants_held(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Until the transaction ends nobody else signs up, so the bound is exact."""
    await lock_in_turn(connection, [(0, "sign-up", "merchants")])
    for most in needs.only_read(World.merchants_held):
        world.merchants_held[most] = await tenants.merchants_held(connection, most)


async def _load_open_tills(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Each by one statement, whose snapshot says what the closing has."""
    for tenant_id, till in sorted(needs.only_read(World.open_tills)):
        for found in await open_tills(connection, tenant_id, till):
            world.open_tills[tenant_id, till] = found


LOADERS: dict[object, Loader] = {
    World.tenants: by_query(World.tenants, tenants.by_id),
    World.new_tenants: _load_new_tenants,
    World.merchants_held: _load_merchants_held,
    World.client_owners: by_query(World.client_owners, clients.owners),
    World.pairing_codes: by_query(World.pairing_codes, records.by_pairing_code),
    # After the lock on the merchant: it is not approved, and nothing is made meanwhile.
    World.live_tenants: by_query(World.live_tenants, tenants.live_of),
    World.open_applications: by_query(World.open_applications, applications.open_of),
    World.client_counts: by_query(World.client_counts, clients.counts),
    World.link_counts: by_query(World.link_counts, reusable_links.counts),
    World.till_names: by_query_for_each(World.till_names, records.names),
    # After the lock on the till: no device is paired meanwhile.
    World.devices_of_till: by_query_for_each(World.devices_of_till, records.digests),
    World.open_tills: _load_open_tills,
}
