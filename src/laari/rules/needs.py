"""The rows that the commands of a batch need."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import TypeAlias, cast
from uuid import UUID

from laari.rules.actors import Actor
from laari.rules.records.payouts import Payout
from laari.rules.records.people import ContactKind, PersonId, Whose
from laari.rules.records.tenants import Tenant
from laari.rules.tables import K, Loaded, R, Table
from laari.rules.world import World

# Adds needs that only loaded rows can name.
Follow: TypeAlias = Callable[["Needs", World], None]


class Needs:
    """The rows that the commands of a batch need: to read, or to lock because they may change."""

    __slots__ = (
        "followers",
        "locks",
        "reads",
        "sandbox_charging",
        "sandbox_spending",
        "wallets_of_authorizations",
    )

    def __init__(self) -> None:
        # The keys of each table that a command names.
        self.locks: defaultdict[object, set[Hashable]] = defaultdict(set)
        self.reads: defaultdict[object, set[Hashable]] = defaultdict(set)
        # Sandbox wallets and authorizations that may count something in their periods, each with
        # the offset of its clock.
        self.sandbox_spending: set[tuple[int, int]] = set()
        self.sandbox_charging: set[tuple[UUID, int]] = set()
        # What to do after a table is loaded: its rows may name rows of later tables.
        self.followers: defaultdict[object, list[Follow]] = defaultdict(list)
        # The wallets of these are known only when they are loaded.
        self.wallets_of_authorizations: set[UUID] = set()

    def lock(self, table: Table[K, R], key: K) -> None:
        """A row that may be changed, or that must stay as it is until the batch is committed."""
        self.locks[table].add(key)

    def read(self, table: Loaded[K], key: K) -> None:
        """A row that is only read, without a lock."""
        self.reads[table].add(key)

    def then(self, table: Loaded[K], follow: Follow) -> None:
        """Names rows that are known only when the rows of this table are loaded.

        They are of later tables. A batch may load twice, so `follow` only adds needs.
        """
        self.followers[table].append(follow)

    def locked(self, table: Loaded[K]) -> set[K]:
        return cast("set[K]", self.locks.get(table, set()))

    def only_read(self, table: Loaded[K]) -> set[K]:
        """Keys that a command reads and none locks: a locked row serves both."""
        wanted = self.reads.get(table)
        if wanted is None:
            return set()
        return cast("set[K]", wanted - self.locks.get(table, set()))

    def take_back(self, table: Loaded[K]) -> None:
        """Drops the reads of this table: they are done, and found nothing."""
        self.reads.pop(table, None)

    @property
    def takes_locks(self) -> bool:
        """Whether the batch locks any row, also one that it has yet to find."""
        return bool(self.locks or self.followers)

    @property
    def only_references(self) -> bool:
        """Whether the batch only has to know which references are in use."""
        return not self.locks and self.reads.keys() == {World.references}

    def spending(self, tenant: Tenant, account: int) -> None:
        """A wallet that pays this tenant."""
        self.lock(World.wallets, account)
        if tenant.mode == "sandbox":
            self.sandbox_spending.add((account, tenant.clock_offset_seconds))

    def charging(self, tenant: Tenant, authorization_id: UUID) -> None:
        """An authorization that this tenant charges, with the wallet behind it."""
        self.lock(World.authorizations, authorization_id)
        self.wallets_of_authorizations.add(authorization_id)
        if tenant.mode == "sandbox":
            self.sandbox_charging.add((authorization_id, tenant.clock_offset_seconds))

    def outgoing(self, tenant_id: int) -> None:
        """A merchant that money is taken from."""
        self.lock(World.funds, tenant_id)
        self.read(World.balances, tenant_id)

    def paying_out(self, tenant_id: int, cut_off: datetime | None) -> None:
        """A merchant that is paid out up to the cut-off, or all that is available."""
        self.outgoing(tenant_id)
        self.read(World.dues, (tenant_id, cut_off))
        self.read(World.payout_terms, tenant_id)
        self.read(World.bank_accounts, tenant_id)

    def activity(self, tenant_id: int) -> None:
        """A tenant, and whether its merchant is active until the batch is done."""

        def follow(needs: Needs, world: World) -> None:
            tenant = world.tenants.get(tenant_id)
            if tenant is not None:
                needs.lock(World.merchants, tenant.merchant_id)

        self.read(World.tenants, tenant_id)
        self.then(World.tenants, follow)

    def merchant(self, merchant_id: str, actor: Actor) -> None:
        """A merchant that changes, and the present role of its person who changes it."""

        def follow(needs: Needs, world: World) -> None:
            person_id = world.members[merchant_id].get(actor.name)
            if person_id is not None:
                needs.read(World.memberships, (person_id, merchant_id))

        self.lock(World.merchant_settings, merchant_id)
        if actor.kind == "person":
            self.read(World.members, merchant_id)
            self.then(World.members, follow)

    def role(self, merchant_id: str, actor: Actor) -> None:
        """The present role of a merchant's person, locked. Programs and the operator need nothing.

        The lock is on the membership: payments go on, and who removes the person waits.
        """

        def follow(needs: Needs, world: World) -> None:
            person_id = world.members[merchant_id].get(actor.name)
            if person_id is not None:
                needs.lock(World.memberships, (person_id, merchant_id))

        if actor.kind == "person":
            self.read(World.members, merchant_id)
            self.then(World.members, follow)

    def role_at(self, tenant_id: int, actor: Actor) -> None:
        """As `role`, for the merchant of a tenant."""

        def follow(needs: Needs, world: World) -> None:
            tenant = world.tenants.get(tenant_id)
            if tenant is not None:
                needs.role(tenant.merchant_id, actor)

        if actor.kind == "person":
            self.read(World.tenants, tenant_id)
            self.then(World.tenants, follow)

    def till(self, till_id: UUID) -> None:
        """A till with its devices."""

        def follow(needs: Needs, world: World) -> None:
            for digest in world.devices_of_till[till_id]:
                needs.lock(World.till_devices, digest)

        self.lock(World.tills, till_id)
        self.read(World.devices_of_till, till_id)
        self.then(World.devices_of_till, follow)

    def open_application(self, merchant_id: str) -> None:
        """The application of a merchant that waits, if there is one."""

        def follow(needs: Needs, world: World) -> None:
            application_id = world.open_applications.get(merchant_id)
            if application_id is not None:
                needs.lock(World.applications, application_id)

        self.read(World.open_applications, merchant_id)
        self.then(World.open_applications, follow)

    def people(self, place: str | None) -> None:
        """All people and invitations of a merchant, or the people of the operator (None)."""

        def follow_members(needs: Needs, world: World) -> None:
            for person_id in world.members[place].values():
                needs.lock(World.memberships, (person_id, place))

        def follow_invited(needs: Needs, world: World) -> None:
            if place is not None:
                for email in world.invited[place]:
                    needs.lock(World.invitations, (place, email))

        if place is not None:
            self.lock(World.merchant_settings, place)
            self.read(World.invited, place)
            self.then(World.invited, follow_invited)
        self.read(World.members, place)
        self.then(World.members, follow_members)

    def person(self, person_id: UUID) -> None:
        """A person with the places, the second factor and the sessions."""

        self.lock(World.persons, person_id)
        self.read(World.places, person_id)
        self.lock(World.second_factors, person_id)
        self._log_ins_of(person_id)

    def customer(self, customer_id: UUID) -> None:
        """A customer with all that logs in or pays, and the merchant of a sandbox customer."""
        self.passkeys_of(customer_id)
        self.devices_of(customer_id)
        self.keys_of(customer_id)
        self._log_ins_of(customer_id)

    def passkeys_of(self, customer_id: UUID) -> None:
        """A customer with the passkeys, and the merchant whose sandbox customer this is."""

        def follow(needs: Needs, world: World) -> None:
            for passkey_id in world.passkeys_of[customer_id]:
                needs.lock(World.passkeys, passkey_id)

        self.lock(World.customers, customer_id)
        self.read(World.sandbox_shops, customer_id)
        self.read(World.passkeys_of, customer_id)
        self.then(World.passkeys_of, follow)

    def devices_of(self, customer_id: UUID) -> None:
        """A customer with the remembered devices."""

        def follow(needs: Needs, world: World) -> None:
            for device_id in world.devices_of[customer_id]:
                needs.lock(World.remembered_devices, device_id)

        self.lock(World.customers, customer_id)
        self.read(World.devices_of, customer_id)
        self.then(World.devices_of, follow)

    def keys_of(self, customer_id: UUID) -> None:
        """A customer with the usable keys of the wallet."""

        def follow(needs: Needs, world: World) -> None:
            for digest in world.wallet_keys_of[customer_id]:
                needs.lock(World.wallet_keys, digest)

        self.lock(World.customers, customer_id)
        self.read(World.wallet_keys_of, customer_id)
        self.then(World.wallet_keys_of, follow)

    def _log_ins_of(self, whose: UUID) -> None:
        def follow(needs: Needs, world: World) -> None:
            for digest in world.log_ins_of[whose]:
                needs.lock(World.log_ins, digest)

        self.read(World.log_ins_of, whose)
        self.then(World.log_ins_of, follow)

    def log_in(self, whose: Whose) -> None:
        """Somebody who logs in, with the link that would set the password."""
        if isinstance(whose, PersonId):
            self.person(whose.id)
        else:
            self.customer(whose.id)
        self.lock(World.password_links, whose.id)

    def wallet_keys_of(self, account: int) -> None:
        """A wallet with the number of its keys, and the merchant whose sandbox customer has it."""

        def follow(needs: Needs, world: World) -> None:
            wallet = world.wallets.get(account)
            if wallet is not None:
                needs.read(World.sandbox_shops, wallet.customer_id)

        self.lock(World.wallets, account)
        self.then(World.wallets, follow)
        self.read(World.wallet_key_counts, account)

    def password_link(self, digest: bytes) -> None:
        """The owner of a password link, if there is one with this digest."""

        def follow(needs: Needs, world: World) -> None:
            whose = world.link_owners.get(digest)
            if whose is not None:
                needs.log_in(whose)

        self.read(World.link_owners, digest)
        self.then(World.link_owners, follow)

    def person_at(self, email: str) -> None:
        """The person with this address, if there is one."""

        def follow(needs: Needs, world: World) -> None:
            person_id = world.person_ids.get(email)
            if person_id is not None:
                needs.person(person_id)

        self.read(World.person_ids, email)
        self.then(World.person_ids, follow)

    def invitation(self, digest: bytes) -> None:
        """An invitation by its link, with its merchant and the person who was invited."""

        def follow(needs: Needs, world: World) -> None:
            found = world.invitation_links.get(digest)
            if found is not None:
                place, email = found
                needs.people(place)
                needs.person_at(email)

        self.read(World.invitation_links, digest)
        self.then(World.invitation_links, follow)

    def open_contact_change(self, customer_id: UUID, contact: ContactKind) -> None:
        """A customer, and the open change of this contact: it begins and ends under this lock."""

        def follow(needs: Needs, world: World) -> None:
            change_id = world.open_contact_changes.get((customer_id, contact))
            if change_id is not None:
                needs.lock(World.contact_changes, change_id)

        self.lock(World.customers, customer_id)
        self.read(World.open_contact_changes, (customer_id, contact))
        self.then(World.open_contact_changes, follow)

    def contact_change(self, customer_id: UUID, change_id: UUID) -> None:
        """A change and its customer, and the customer who has the new contact meanwhile."""

        def follow(needs: Needs, world: World) -> None:
            change, customer = world.contact_changes.get(change_id), world.customers[customer_id]
            if change is not None:
                holder = (customer.mode, change.contact, change.new_value)
                needs.read(World.contact_holders, holder)

        self.lock(World.customers, customer_id)
        self.lock(World.contact_changes, change_id)
        self.then(World.contact_changes, follow)

    def run(self, run_id: UUID) -> None:
        """A run, with all of its payouts: a payout joins a run only while the run is locked."""

        def follow(needs: Needs, world: World) -> None:
            for payout_id in world.run_payouts[run_id]:
                needs.lock(World.payouts, payout_id)

        self.lock(World.runs, run_id)
        self.read(World.run_payouts, run_id)
        self.then(World.run_payouts, follow)

    def payout(self, payout_id: UUID) -> None:
        """A payout with all of its orders, and its owner."""

        def follow(needs: Needs, world: World) -> None:
            payout = world.payouts.get(payout_id)
            if payout is not None:
                needs.owner(payout)
                if payout.tenant_id is not None:
                    needs.read(World.bank_accounts, payout.owner)  # for the event

        def follow_orders(needs: Needs, world: World) -> None:
            for reference in world.payout_orders[payout_id]:
                needs.lock(World.orders, reference)

        self.lock(World.payouts, payout_id)
        self.then(World.payouts, follow)
        self.read(World.payout_orders, payout_id)
        self.then(World.payout_orders, follow_orders)

    def order(self, reference: str) -> None:
        """An order that may exist, with its payout."""

        def follow(needs: Needs, world: World) -> None:
            payout_id = world.order_payouts.get(reference)
            if payout_id is not None:
                needs.payout(payout_id)

        self.read(World.order_payouts, reference)
        self.then(World.order_payouts, follow)

    def owner(self, payout: Payout) -> None:
        """The merchant of a payout, or the wallet of a withdrawal."""
        if payout.tenant_id is None:
            self.lock(World.wallets, payout.owner)
        else:
            self.read(World.tenants, payout.tenant_id)

    def refunding(self, tenant_id: int, payment_id: UUID) -> None:
        """A payment, with the wallet that paid it, its request and its earlier refunds."""

        def follow(needs: Needs, world: World) -> None:
            payment = world.payments.get(payment_id)
            if payment is not None and payment.payer_account is not None:
                needs.lock(World.wallets, payment.payer_account)
                if payment.request_id is not None:
                    needs.lock(World.requests, payment.request_id)

        self.outgoing(tenant_id)
        self.lock(World.payments, payment_id)
        self.then(World.payments, follow)
        self.read(World.refund_counts, payment_id)
