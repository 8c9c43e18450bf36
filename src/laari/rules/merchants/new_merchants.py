"""New merchants: each gets a secret key, its tenants, and the customer of its sandbox."""

from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.banking.wallet_money import open_with
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.merchants.keys import KEY, KEY_PREFIX, secret_context
from laari.rules.needs import Needs
from laari.rules.people.memberships import join
from laari.rules.people.new_customers import CustomerDraft, open_wallet
from laari.rules.people.permissions import lacks
from laari.rules.people.persons import NewLogin, enrol, not_enrolled, note_help
from laari.rules.people.wallet_keys import add_first_key, sandbox_key
from laari.rules.records.merchants import MerchantSettings
from laari.rules.records.tenants import Mode, TenantSettings
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.webhooks import check_webhook_url
from laari.rules.world import World

SANDBOX_TIER = "verified"
SANDBOX_BALANCE = 10_000_000  # laari: MVR 100,000.00
FULL = refuse("service_unavailable", "This sandbox cannot hold more merchants.")
_BOTH: tuple[Mode, ...] = ("live", "sandbox")


class MerchantDraft(Struct, frozen=True):
    name: str
    mode: Mode  # which of its tenants its credentials open
    fee_bps: int = 0
    fee_fixed: int = 0
    webhook_url: str | None = None


class NewOwner(NamedTuple):
    """The first person of a merchant; `login` is None for somebody who has logged in."""

    email: str
    login: NewLogin | None = None


class NewMerchant(NamedTuple):
    """The secret key is shown only now. `password_hash` is that of an owner who is new."""

    merchant: MerchantSettings
    secret_key: str
    password_hash: str | None


@dataclass(frozen=True, slots=True)
class CreateMerchant(Command[NewMerchant]):
    """Makes a merchant with both sides and, if there is an owner, the person who owns it.

    `private_webhooks` allows plain http and addresses of a private network.
    """

    actor: Actor
    id: str
    draft: MerchantDraft
    owner: NewOwner | None = None
    private_webhooks: bool = False

    def needs(self, needs: Needs) -> None:
        _needs(needs, self.id, _BOTH, self.owner)

    def decide(self, world: World) -> NewMerchant | Refusal:
        refusal = (
            lacks(self.actor, "merchants.change")
            or _not_reachable(self.draft, self.private_webhooks)
            or _unfit(world, self.owner)
        )
        if refusal is not None:
            return refusal
        return _make(world, self.actor, self.id, self.draft, owner=self.owner, modes=_BOTH)


@dataclass(frozen=True, slots=True)
class SignUpMerchant(Command[NewMerchant]):
    """Makes a merchant for anybody, if there are fewer than `most`.

    It has no live side until an operator approves it. Nobody has proved the address of its owner.
    """

    actor: Actor
    id: str
    draft: MerchantDraft
    most: int
    owner: NewOwner | None = None
    private_webhooks: bool = False

    def needs(self, needs: Needs) -> None:
        needs.read(World.merchants_held, self.most)
        _needs(needs, self.id, ("sandbox",), self.owner)

    def decide(self, world: World) -> NewMerchant | Refusal:
        refusal = _not_reachable(self.draft, self.private_webhooks)
        if refusal is not None:
            return refusal
        if world.merchants_held[self.most] >= self.most:
            return FULL
        owner = self.owner
        if owner is not None and owner.login is not None:
            owner = owner._replace(login=owner.login._replace(proven=False))
        refusal = _unfit(world, owner)
        if refusal is not None:
            return refusal
        draft = replace(self.draft, mode="sandbox")
        return _make(world, self.actor, self.id, draft, owner=owner, modes=("sandbox",))


def _needs(needs: Needs, merchant_id: str, modes: tuple[Mode, ...], owner: NewOwner | None) -> None:
    """A row that nobody has: it makes the batch a transaction."""
    needs.lock(World.merchant_settings, merchant_id)
    needs.read(World.new_accounts, merchant_id)
    for mode in modes:
        needs.read(World.new_tenants, (merchant_id, mode))
    if owner is not None:
        needs.person_at(owner.email)


def _not_reachable(draft: MerchantDraft, private_webhooks: bool) -> Refusal | None:
    if draft.webhook_url is None:
        return None
    return check_webhook_url(draft.webhook_url, private_webhooks)


def _unfit(world: World, owner: NewOwner | None) -> Refusal | None:
    """Why this person cannot own a new merchant."""
    if owner is None:
        return None
    if owner.login is None:
        person_id = world.person_ids.get(owner.email)
        if person_id is None or world.persons.get(person_id) is None:
            return refuse("conflict", "This person was just removed.")
        return None
    refusal = not_enrolled(world, owner.email, owner.login)
    return None if refusal is None else invalid("email", refusal.message)


def _make(
    world: World,
    actor: Actor,
    merchant_id: str,
    draft: MerchantDraft,
    *,
    owner: NewOwner | None,
    modes: tuple[Mode, ...],
) -> NewMerchant:
    act = Act(actor, "merchant.create")
    secret_key, account = KEY_PREFIX + world.new_secret(), world.new_accounts[merchant_id]
    merchant = MerchantSettings(
        id=merchant_id,
        created_at=world.now,
        sandbox_account=account,
        name=draft.name,
        mode=draft.mode,
        active=True,
        inactive_reason=None,
        secret_digest=world.digest(KEY, secret_key),
        secret_encrypted=world.encrypt(secret_key.encode(), secret_context(merchant_id)),
        old_secret_digest=None,
        old_secret_encrypted=None,
        old_secret_until=None,
        fee_bps=draft.fee_bps,
        fee_fixed=draft.fee_fixed,
        webhook_url=draft.webhook_url,
        webhooks_enabled=True,
        requires_factor=False,
    )
    write_setting(world, World.merchant_settings, merchant, act, merchant_id=merchant_id)
    for mode in modes:
        tenant = TenantSettings(world.new_tenants[merchant_id, mode], merchant_id, mode, 0, None)
        write_setting(world, World.tenant_settings, tenant, act, merchant_id=merchant_id, mode=mode)
    _open_sandbox(world, act, merchant)
    for most in world.merchants_held:
        world.merchants_held[most] += 1
    password_hash = None if owner is None else _own(world, act, merchant_id, owner)
    return NewMerchant(merchant, secret_key, password_hash)


def _open_sandbox(world: World, act: Act, merchant: MerchantSettings) -> None:
    """The only customer of the merchant's sandbox, with money and a key that can be shown again."""
    account = merchant.sandbox_account
    wallet = open_wallet(
        world,
        act,
        CustomerDraft("Sandbox customer", "sandbox"),
        world.new_id(),
        account,
        tier=SANDBOX_TIER,
        sandbox_of=world.new_tenants[merchant.id, "sandbox"],
        merchant_id=merchant.id,
    )
    open_with(world, act.actor, wallet, SANDBOX_BALANCE, merchant_id=merchant.id)
    add_first_key(world, act.actor, account, sandbox_key(world.digest, account))


def _own(world: World, act: Act, merchant_id: str, owner: NewOwner) -> str | None:
    """Makes somebody the owner; returns the hash of a new password."""
    password_hash = None
    if owner.login is not None:
        enrolled = enrol(world, act, owner.email, owner.login)
        assert not isinstance(enrolled, Refusal)  # checked before anything was made
        if enrolled.has_new_password:
            password_hash = owner.login.password_hash
            note_help(world, act, owner.email)
    world.members[merchant_id] = {}
    join(world, act, merchant_id, owner.email, "owner")
    return password_hash
