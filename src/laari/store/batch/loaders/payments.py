"""Payments, their references and keys, and authorizations."""

from uuid import UUID

import asyncpg

from laari.rules.needs import Needs
from laari.rules.world import World
from laari.store.batch.load_charge import load_charging
from laari.store.batch.loaders.advisory_locks import lock_number
from laari.store.batch.loaders.loader import Loader, by_key, by_query
from laari.store.reads import refunds
from laari.store.tables import AUTHORIZATIONS, PAYMENTS, REQUESTS, SAVED_RESPONSES

_AUTHORIZATIONS = AUTHORIZATIONS.select_by("tenant_id", "reference")


async def _load_saved_responses(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Takes each key's advisory lock, or notes that another process holds it.

    The second statement has a snapshot taken after the lock, so it sees the last holder's commit.
    """
    ours = needs.locked(World.saved_responses)
    slots = {lock_number(slot): slot for slot in ours}
    locked = await connection.fetch(
        "SELECT n, pg_try_advisory_xact_lock(n) AS ours FROM unnest($1::bigint[]) AS n",
        sorted(slots),
    )
    world.keys_in_progress = {slots[row["n"]] for row in locked if not row["ours"]}
    given = SAVED_RESPONSES.given_keys(ours | needs.only_read(World.saved_responses))
    found = await connection.fetch(SAVED_RESPONSES.read_by_key, *given)
    for saved in map(SAVED_RESPONSES.read, found):
        slot = SAVED_RESPONSES.key_of(saved)
        is_ours = slot in ours and slot not in world.keys_in_progress
        (world.saved_responses.lock if is_ours else world.saved_responses.show)(slot, saved)


_load_references_by_key = by_key(World.references)


async def _load_references(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """References in use, with their resources, unlocked: a retry only shows them."""
    await _load_references_by_key(connection, needs, world)
    taken: dict[bool, list[UUID]] = {True: [], False: []}
    for claim in world.references.seen.values():
        taken[claim.kind == "request"].append(claim.resource_id)
    if taken[True]:
        for request in await connection.fetch(REQUESTS.read_by_key, taken[True]):
            world.requests.show(request["id"], REQUESTS.read(request))
    if taken[False]:
        for payment in await connection.fetch(PAYMENTS.read_by_key, taken[False]):
            world.payments.show(payment["id"], PAYMENTS.read(payment))


_load_authorizations_by_key = by_key(World.authorizations)


async def _load_authorizations(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    if needs.wallets_of_authorizations:
        await load_charging(connection, needs, world)
    await _load_authorizations_by_key(connection, needs, world)
    for authorization_id in needs.wallets_of_authorizations:
        authorization = world.authorizations.get(authorization_id)
        if authorization is not None and authorization.account is not None:
            needs.lock(World.wallets, authorization.account)


async def _load_authorization_ids(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    tenants, references = zip(*needs.only_read(World.authorization_ids), strict=True)
    found = await connection.fetch(_AUTHORIZATIONS, tenants, references)
    for authorization in map(AUTHORIZATIONS.read, found):
        world.authorizations.show(authorization.id, authorization)
        slot = (authorization.tenant_id, authorization.reference)
        world.authorization_ids[slot] = authorization.id


LOADERS: dict[object, Loader] = {
    World.saved_responses: _load_saved_responses,
    World.authorizations: _load_authorizations,
    World.refund_counts: by_query(World.refund_counts, refunds.counts),
    World.references: _load_references,
    World.authorization_ids: _load_authorization_ids,
}
