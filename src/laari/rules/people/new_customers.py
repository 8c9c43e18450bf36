"""New customers with their wallets: of one mode, no two have the same contact."""

from collections.abc import Iterable
from datetime import date
from uuid import UUID

from msgspec import Struct

from laari.rules.journal import Act, write_setting
from laari.rules.needs import Needs
from laari.rules.records.messages import Language
from laari.rules.records.payments import CustomerType
from laari.rules.records.people import Customer
from laari.rules.records.tenants import Mode
from laari.rules.records.wallets import Tier, Wallet
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

_NEVER = date(1970, 1, 1)  # nothing was spent yet
TAKEN: dict[CustomerType, str] = {
    "mobile": "another customer has this mobile number",
    "email": "another customer has this email address",
    "vpa": "another customer has this virtual payment address",
}


class CustomerDraft(Struct, frozen=True):
    """A customer who is to get a wallet; only a live one is asked for a new password."""

    name: str
    mode: Mode
    mobile: str | None = None
    email: str | None = None
    vpa: str | None = None
    language: Language = "en"
    password_hash: str | None = None
    password_must_change: bool = False
    password_first: bool = False

    @property
    def contacts(self) -> dict[CustomerType, str]:
        given: dict[CustomerType, str | None] = {
            "mobile": self.mobile,
            "email": self.email,
            "vpa": self.vpa,
        }
        return {contact: value for contact, value in given.items() if value is not None}


def needs_contacts(needs: Needs, draft: CustomerDraft) -> None:
    """The customers who have these contacts."""
    for contact, value in draft.contacts.items():
        needs.read(World.contact_holders, (draft.mode, contact, value))


def taken(world: World, draft: CustomerDraft) -> Refusal | None:
    for contact, value in draft.contacts.items():
        if (draft.mode, contact, value) in world.contact_holders:
            return refuse("conflict", TAKEN[contact])
    return None


def open_wallet(
    world: World,
    act: Act,
    draft: CustomerDraft,
    customer_id: UUID,
    account: int,
    *,
    tier: str,
    sandbox_of: int | None = None,
    merchant_id: str | None = None,
) -> Wallet:
    """Makes the customer with an empty wallet; `merchant_id` is of a sandbox customer."""
    is_live = draft.mode == "live"
    customer = Customer(
        id=customer_id,
        name=draft.name,
        mode=draft.mode,
        sandbox_of=sandbox_of,
        vpa=draft.vpa,
        language=draft.language,
        password_hash=draft.password_hash,
        created_at=world.now,
        password_must_change=draft.password_must_change and is_live,
        password_first=draft.password_first and is_live,
        mobile=draft.mobile,
        email=draft.email,
    )
    wallet = Wallet(
        account=account,
        customer_id=customer_id,
        mode=draft.mode,
        tier=tier,
        balance=0,
        day_start=_NEVER,
        day_spent=0,
        week_start=_NEVER,
        week_spent=0,
        month_start=_NEVER,
        month_spent=0,
    )
    write_setting(world, World.customers, customer, act, merchant_id=merchant_id, mode=draft.mode)
    write_setting(world, World.wallets, wallet, act, merchant_id=merchant_id, mode=draft.mode)
    if merchant_id is not None:
        world.sandbox_shops[customer_id] = merchant_id
    if sandbox_of is None:
        for contact, value in draft.contacts.items():
            world.contact_holders[draft.mode, contact, value] = customer_id
    return wallet


def lowest_tier(tiers: Iterable[Tier]) -> str:
    """The first money limit decides; a tier without it is the highest."""

    def rank(tier: Tier) -> tuple[object, ...]:
        limits = (tier.per_transaction, tier.daily, tier.weekly, tier.monthly)
        return (*((limit is None, limit or 0) for limit in limits), tier.name)

    return min(tiers, key=rank).name
