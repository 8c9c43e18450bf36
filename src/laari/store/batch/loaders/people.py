"""People and customers: how they log in, their places and contacts."""

import asyncpg

from laari.rules.needs import Needs
from laari.rules.world import World
from laari.store.batch.loaders.advisory_locks import lock_in_turn
from laari.store.batch.loaders.loader import Loader, by_query
from laari.store.reads import contact_changes, messages
from laari.store.reads.people import (
    helps,
    invitations,
    memberships,
    passkeys,
    password_links,
    persons,
    remembered_devices,
    second_factors,
)


async def _load_open_contact_changes(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    """A change begins and ends only while its customer is locked."""
    customers = {customer_id for customer_id, _ in needs.only_read(World.open_contact_changes)}
    for change in await contact_changes.open_of_customers(connection, customers):
        world.open_contact_changes[change.customer_id, change.contact] = change.id


async def _load_invitation_mails(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    """Merchants that invite the same address wait in turn."""
    emails = sorted(needs.only_read(World.invitation_mails))
    await lock_in_turn(connection, [(0, "invitation", email) for email in emails])
    for email in emails:
        world.invitation_mails[email] = await messages.invitations_to(connection, email)


async def _load_helps(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    world.helps[None] = await helps.recent(connection)


LOADERS: dict[object, Loader] = {
    World.open_contact_changes: _load_open_contact_changes,
    World.contact_holders: by_query(World.contact_holders, contact_changes.holders),
    World.invitation_links: by_query(World.invitation_links, invitations.by_link),
    World.invitation_mails: _load_invitation_mails,
    World.invited: by_query(World.invited, invitations.of_merchants),
    # After the lock on the merchant: nobody joins or leaves meanwhile.
    World.members: by_query(World.members, memberships.of_places),
    World.person_ids: by_query(World.person_ids, persons.by_email),
    World.link_owners: by_query(World.link_owners, password_links.owners),
    World.helps: _load_helps,
    # After the lock on the person.
    World.places: by_query(World.places, persons.places),
    World.factor_required: by_query(World.factor_required, second_factors.required),
    # After the lock on the person or customer: no session begins meanwhile.
    World.log_ins_of: by_query(World.log_ins_of, persons.sessions),
    # After the lock on the customer: no passkey or device is added meanwhile.
    World.passkeys_of: by_query(World.passkeys_of, passkeys.usable),
    World.passkey_ids: by_query(World.passkey_ids, passkeys.ids),
    World.devices_of: by_query(World.devices_of, remembered_devices.usable),
}
