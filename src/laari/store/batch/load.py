"""Loads the rows that the commands of a batch need, in the order of the registry."""

import hashlib
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from uuid import UUID

import asyncpg

from laari.rules import wallets
from laari.rules.payments import limits
from laari.rules.periods import PeriodKey, others
from laari.rules.tables import Additions, K, Lookup, R, Table
from laari.rules.world import NO_KEYS, REGISTRY, Keys, Needs, ResponseKey, World
from laari.store.batch import sandbox_periods
from laari.store.batch.load_charge import load_charging
from laari.store.reads import clients, contact_changes, messages, refunds, tenants
from laari.store.reads.merchants import applications, reusable_links
from laari.store.reads.money import (
    balances,
    bank,
    dues,
    float_days,
    movement_lists,
    payouts,
    tills,
)
from laari.store.reads.people import (
    cases,
    customers,
    invitations,
    memberships,
    passkeys,
    password_links,
    persons,
    second_factors,
    wallet_keys,
)
from laari.store.reads.recipients import account_owners, contacts_of
from laari.store.reads.tiers import all_tiers
from laari.store.reads.tills import records as till_records
from laari.store.reads.wallets import lines_by_tid, topups_by_slip
from laari.store.tables import (
    AUTHORIZATIONS,
    PAYMENTS,
    REQUESTS,
    SAVED_RESPONSES,
    KeyedStatements,
)

_AUTHORIZATIONS = AUTHORIZATIONS.select_by("tenant_id", "reference")

# Loads the rows of one table, locked if a command may change them.
_Load: TypeAlias = Callable[[asyncpg.Connection, Needs, World], Awaitable[None]]


async def load(
    connection: asyncpg.Connection,
    needs: Needs,
    origin: str,
    clock: Callable[[], datetime],
    channels: frozenset[str] = frozenset(),
    keys: Keys = NO_KEYS,
    second_person_above: int | None = None,
) -> World:
    """Locks and reads rows: one statement per table, in the registry's order.

    After a wait PostgreSQL re-reads only the locked row itself, so nothing here is joined or
    summed. References and the clock come after the locks: a retry finds a charge just made.
    """
    world = World(
        datetime.min.replace(tzinfo=UTC),
        origin,
        os.urandom,
        channels,
        keys,
        second_person_above,
    )
    locks, reads, followers = needs.locks, needs.reads, needs.followers
    for table, load_table in _LOADS:
        if table in locks or table in reads:
            await load_table(connection, needs, world)
            for follow in followers.get(table, ()):  # they name rows of later tables
                follow(needs, world)
    world.now = clock()
    await _load_periods(connection, needs, world)
    return world


def _by_key(table: Table[K, R]) -> _Load:
    """Loads rows by their key."""
    statements = KeyedStatements(table)

    async def load_table(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
        rows, key_of, record = table.of(world), statements.key_of, table.record
        locked = {key for key in needs.locked(table) if not rows.is_locked(key)}
        if locked:
            take = rows.show if table.shared else rows.lock
            given = statements.given_keys(locked)
            for found in await connection.fetch(statements.lock_by_key, *given):
                row = record(*found)
                take(key_of(row), row)
        only_read = needs.only_read(table)
        if only_read:
            given = statements.given_keys(only_read)
            for found in await connection.fetch(statements.read_by_key, *given):
                row = record(*found)
                rows.show(key_of(row), row)

    return load_table


_load_authorizations_by_key = _by_key(World.authorizations)


async def _load_authorizations(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    if needs.wallets_of_authorizations:
        await load_charging(connection, needs, world)
    await _load_authorizations_by_key(connection, needs, world)
    for authorization_id in needs.wallets_of_authorizations:
        authorization = world.authorizations.get(authorization_id)
        if authorization is not None and authorization.account is not None:
            needs.lock(World.wallets, authorization.account)


_load_wallets_by_key = _by_key(World.wallets)


async def _load_wallets(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    if needs.locked(World.wallets) and not world.tiers:
        world.tiers = await all_tiers(connection)
    await _load_wallets_by_key(connection, needs, world)


async def _load_saved_responses(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Takes each key's advisory lock, or notes that another process holds it.

    The second statement has a snapshot taken after the lock, so it sees the last holder's commit.
    """
    ours = needs.locked(World.saved_responses)
    slots = {_lock_number(slot): slot for slot in ours}
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


def _lock_number(slot: ResponseKey) -> int:
    digest = hashlib.blake2b("\0".join(map(str, slot)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


_load_references_by_key = _by_key(World.references)


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


async def _load_authorization_ids(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    tenants, references = zip(*needs.only_read(World.authorization_ids), strict=True)
    found = await connection.fetch(_AUTHORIZATIONS, tenants, references)
    for authorization in map(AUTHORIZATIONS.read, found):
        world.authorizations.show(authorization.id, authorization)
        slot = (authorization.tenant_id, authorization.reference)
        world.authorization_ids[slot] = authorization.id


async def _load_open_contact_changes(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    """A change begins and ends only while its customer is locked."""
    customers = {customer_id for customer_id, _ in needs.only_read(World.open_contact_changes)}
    for change in await contact_changes.open_of_customers(connection, customers):
        world.open_contact_changes[change.customer_id, change.contact] = change.id


async def _load_contact_holders(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.contact_holders)
    world.contact_holders.update(await contact_changes.holders(connection, wanted))


async def _load_members(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the merchant: nobody joins or leaves meanwhile."""
    wanted = needs.only_read(World.members)
    world.members.update(await memberships.of_places(connection, wanted))


async def _load_invited(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.invited)
    world.invited.update(await invitations.of_merchants(connection, wanted))


async def _load_invitation_links(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    wanted = needs.only_read(World.invitation_links)
    world.invitation_links.update(await invitations.by_link(connection, wanted))


async def _load_person_ids(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.person_ids)
    world.person_ids.update(await persons.by_email(connection, wanted))


async def _load_link_owners(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.link_owners)
    world.link_owners.update(await password_links.owners(connection, wanted))


async def _load_sandbox_shops(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.sandbox_shops)
    world.sandbox_shops.update(await customers.sandbox_shops(connection, wanted))


async def _load_wallet_key_counts(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    """A statement after the lock on the wallet: two keys that are made at once count in turn."""
    for account in needs.only_read(World.wallet_key_counts):
        world.wallet_key_counts[account] = await wallet_keys.counts(connection, account)


async def _load_places(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the person."""
    world.places.update(await persons.places(connection, needs.only_read(World.places)))


async def _load_factor_required(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.factor_required)
    world.factor_required.update(await second_factors.required(connection, wanted))


async def _load_log_ins_of(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the person or customer: no session begins meanwhile."""
    world.log_ins_of.update(await persons.sessions(connection, needs.only_read(World.log_ins_of)))


async def _load_passkeys_of(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the customer: no passkey is added meanwhile."""
    world.passkeys_of.update(await passkeys.usable(connection, needs.only_read(World.passkeys_of)))


async def _load_passkey_ids(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.passkey_ids)
    world.passkey_ids.update(await passkeys.ids(connection, wanted))


async def _load_invitation_mails(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    """Merchants that invite the same address wait in turn."""
    emails = sorted(needs.only_read(World.invitation_mails))
    await _lock_in_turn(connection, [(0, "invitation", email) for email in emails])
    for email in emails:
        world.invitation_mails[email] = await messages.invitations_to(connection, email)


async def _load_recipients(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    found = await contacts_of(connection, needs.only_read(World.recipients))
    world.recipients.update(found)


async def _load_topups(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    slips = {slip for _, slip in needs.only_read(World.topups)}
    await _lock_in_turn(connection, [(0, "slip", slip) for slip in slips])
    world.topups.update(await topups_by_slip(connection, slips))


async def _lock_in_turn(connection: asyncpg.Connection, slots: list[ResponseKey]) -> None:
    """Waits for the advisory locks of these slots. Their tenant is 0, which no tenant is."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(n) FROM unnest($1::bigint[]) AS n",
        sorted(map(_lock_number, slots)),
    )


async def _load_waiting_references(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    wanted = needs.only_read(World.waiting_references)
    world.waiting_references.update(await movement_lists.waiting_for(connection, wanted))


async def _load_balances(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock: a balance may only have grown since its snapshot."""
    found = await balances.of_tenants(connection, needs.only_read(World.balances))
    world.balances.update({tenant_id: each.available for tenant_id, each in found.items()})
    world.held.update({tenant_id: each.held for tenant_id, each in found.items()})


async def _load_fund_movement_counts(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    wanted = needs.only_read(World.fund_movement_counts)
    world.fund_movement_counts.update(await balances.movement_counts(connection, wanted))


async def _load_nothing(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Another table has loaded it."""


async def _load_refund_counts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    world.refund_counts.update(
        await refunds.counts(connection, needs.only_read(World.refund_counts))
    )


async def _load_dues(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock, as for balances. Cut-offs never go back."""
    wanted = []
    for tenant_id, cut_off in needs.only_read(World.dues):
        funds = world.funds.get(tenant_id)
        paid_out_upto = None if funds is None else funds.paid_out_upto
        wanted.append(dues.Wanted(tenant_id, cut_off, paid_out_upto))
    for each, due in zip(wanted, await dues.of(connection, wanted), strict=True):
        world.dues[each.tenant_id, each.cut_off] = due


async def _load_bank_accounts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    owners = needs.only_read(World.bank_accounts)
    world.bank_accounts.update(await payouts.bank_accounts(connection, owners))


async def _load_paid_accounts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    owners = needs.only_read(World.paid_accounts)
    world.paid_accounts.update(await payouts.paid_accounts(connection, owners))


async def _load_account_owners(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    owners = needs.only_read(World.account_owners)
    world.account_owners.update(await account_owners(connection, owners))


async def _load_last_withdrawals(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    accounts = needs.only_read(World.last_withdrawals)
    world.last_withdrawals.update(await payouts.last_withdrawals(connection, accounts))


async def _load_run_numbers(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    world.run_numbers.update(await payouts.run_numbers(connection))


async def _load_approved_runs(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    world.approved_runs.update(await payouts.approved_runs(connection))


async def _load_imported_sums(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.imported_sums)
    world.imported_sums.update(await bank.imported_sums(connection, wanted))


async def _load_importers(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    for day in needs.only_read(World.importers):
        world.importers[day] = await bank.importers(connection, day)


async def _load_signoffs(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    for day in needs.only_read(World.signoffs):
        signed = await float_days.last_signoff(connection, day)
        if signed is not None:
            world.signoffs[day] = signed


async def _load_answers(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    world.answers.update(await bank.answers(connection, needs.only_read(World.answers)))


async def _load_bank_movements(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.bank_movements)
    world.bank_movements.update(await bank.movements(connection, wanted))


async def _load_earned_fees(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    world.earned_fees.update(await bank.earned_fees(connection, needs.only_read(World.earned_fees)))


async def _load_order_payouts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.order_payouts)
    found = await payouts.order_by_reference(connection, list(wanted))
    world.order_payouts.update({name: order.payout_id for name, order in found.items()})


async def _load_run_payouts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.run_payouts)
    world.run_payouts.update(await payouts.ids_of_runs(connection, wanted))


async def _load_payout_orders(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.payout_orders)
    world.payout_orders.update(await payouts.references_of(connection, wanted))


async def _load_tenants(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.tenants)
    world.tenants.update(await tenants.by_id(connection, list(wanted)))


async def _load_live_tenants(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the merchant: it is not approved meanwhile."""
    wanted = needs.only_read(World.live_tenants)
    world.live_tenants.update(await tenants.live_of(connection, wanted))


async def _load_new_tenants(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    for key in sorted(needs.only_read(World.new_tenants)):
        world.new_tenants[key] = await tenants.new_id(connection)


async def _load_merchants_held(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Until the transaction ends nobody else signs up, so the bound is exact."""
    await _lock_in_turn(connection, [(0, "sign-up", "merchants")])
    for most in needs.only_read(World.merchants_held):
        world.merchants_held[most] = await tenants.merchants_held(connection, most)


async def _load_new_accounts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    if not world.tiers:
        world.tiers = await all_tiers(connection)
    for name in needs.only_read(World.new_accounts):
        world.new_accounts[name] = await customers.new_account(connection)


async def _load_open_applications(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    """A statement after the lock on the merchant."""
    wanted = needs.only_read(World.open_applications)
    world.open_applications.update(await applications.open_of(connection, wanted))


async def _load_client_owners(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.client_owners)
    world.client_owners.update(await clients.owners(connection, wanted))


async def _load_client_counts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the merchant."""
    wanted = needs.only_read(World.client_counts)
    world.client_counts.update(await clients.counts(connection, wanted))


async def _load_link_counts(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the merchant."""
    wanted = needs.only_read(World.link_counts)
    world.link_counts.update(await reusable_links.counts(connection, wanted))


async def _load_line_cases(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the customer."""
    found = await cases.by_tid(connection, needs.only_read(World.line_cases))
    world.line_cases.update({tid: case.id for tid, case in found.items()})


async def _load_open_cases(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the customer."""
    for customer_id in needs.only_read(World.open_cases):
        world.open_cases[customer_id] = await cases.open_of(connection, customer_id)


async def _load_receipts_sent(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the customer."""
    for customer_id in needs.only_read(World.receipts_sent):
        sent = await messages.receipts_of(connection, customer_id)
        world.receipts_sent[customer_id] = sent


async def _load_lines(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    world.lines.update(await lines_by_tid(connection, needs.only_read(World.lines)))


async def _load_pairing_codes(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    wanted = needs.only_read(World.pairing_codes)
    world.pairing_codes.update(await till_records.by_pairing_code(connection, wanted))


async def _load_till_names(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the merchant: no till is made meanwhile."""
    for tenant_id in needs.only_read(World.till_names):
        world.till_names[tenant_id] = await till_records.names(connection, tenant_id)


async def _load_devices_of_till(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """A statement after the lock on the till: no device is paired meanwhile."""
    for till_id in needs.only_read(World.devices_of_till):
        world.devices_of_till[till_id] = await till_records.digests(connection, till_id)


async def _load_open_tills(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Each by one statement, whose snapshot says what the closing has."""
    for tenant_id, till in sorted(needs.only_read(World.open_tills)):
        for found in await tills.open_tills(connection, tenant_id, till):
            world.open_tills[tenant_id, till] = found


# All other tables are loaded by their own key alone.
_SPECIAL: dict[object, _Load] = {
    World.saved_responses: _load_saved_responses,
    World.open_contact_changes: _load_open_contact_changes,
    World.contact_holders: _load_contact_holders,
    World.invitation_links: _load_invitation_links,
    World.members: _load_members,
    World.invited: _load_invited,
    World.person_ids: _load_person_ids,
    World.link_owners: _load_link_owners,
    World.sandbox_shops: _load_sandbox_shops,
    World.wallet_key_counts: _load_wallet_key_counts,
    World.places: _load_places,
    World.factor_required: _load_factor_required,
    World.log_ins_of: _load_log_ins_of,
    World.passkeys_of: _load_passkeys_of,
    World.passkey_ids: _load_passkey_ids,
    World.invitation_mails: _load_invitation_mails,
    World.authorizations: _load_authorizations,
    World.recipients: _load_recipients,
    World.wallets: _load_wallets,
    World.balances: _load_balances,
    World.held: _load_nothing,
    World.fund_movement_counts: _load_fund_movement_counts,
    World.dues: _load_dues,
    World.bank_accounts: _load_bank_accounts,
    World.paid_accounts: _load_paid_accounts,
    World.account_owners: _load_account_owners,
    World.last_withdrawals: _load_last_withdrawals,
    World.importers: _load_importers,
    World.imported_sums: _load_imported_sums,
    World.signoffs: _load_signoffs,
    World.answers: _load_answers,
    World.bank_movements: _load_bank_movements,
    World.earned_fees: _load_earned_fees,
    World.order_payouts: _load_order_payouts,
    World.run_numbers: _load_run_numbers,
    World.approved_runs: _load_approved_runs,
    World.run_payouts: _load_run_payouts,
    World.payout_orders: _load_payout_orders,
    World.tenants: _load_tenants,
    World.live_tenants: _load_live_tenants,
    World.new_tenants: _load_new_tenants,
    World.merchants_held: _load_merchants_held,
    World.new_accounts: _load_new_accounts,
    World.open_applications: _load_open_applications,
    World.client_owners: _load_client_owners,
    World.client_counts: _load_client_counts,
    World.link_counts: _load_link_counts,
    World.refund_counts: _load_refund_counts,
    World.pairing_codes: _load_pairing_codes,
    World.till_names: _load_till_names,
    World.devices_of_till: _load_devices_of_till,
    World.open_tills: _load_open_tills,
    World.line_cases: _load_line_cases,
    World.open_cases: _load_open_cases,
    World.receipts_sent: _load_receipts_sent,
    World.lines: _load_lines,
    World.topups: _load_topups,
    World.waiting_references: _load_waiting_references,
    World.references: _load_references,
    World.authorization_ids: _load_authorization_ids,
}


def _loader(registered: Table[K, R] | Lookup[K, object]) -> _Load:
    if registered in _SPECIAL:
        return _SPECIAL[registered]
    assert isinstance(registered, Table), f"nothing loads {registered.name}"
    return _by_key(registered)


_LOADS: list[tuple[object, _Load]] = [
    (each, _loader(each)) for each in REGISTRY if not isinstance(each, Additions)
]


async def _load_periods(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """The sums put aside for the current periods of sandbox rows; the rows' locks protect them."""
    keys: set[PeriodKey] = set()
    for authorization_id, offset in needs.sandbox_charging:
        authorization = world.authorizations.get(authorization_id)
        if authorization is not None:
            keys |= others(limits.counted(authorization), _moved(world, offset))
            if authorization.account is not None:
                needs.sandbox_spending.add((authorization.account, offset))
    for account, offset in needs.sandbox_spending:
        wallet = world.wallets.get(account)
        if wallet is not None:
            keys |= others(wallets.counted(wallet), _moved(world, offset))
    if keys:
        world.aside = await sandbox_periods.put_aside(connection, keys)


def _moved(world: World, offset_seconds: int) -> datetime:
    return world.now + timedelta(seconds=offset_seconds)
