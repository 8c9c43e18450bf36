"""Entries of the journal that commands add with their decision.

A command changes a setting by `write_setting`, which adds the entry too. The database refuses a
changed setting without one (`journal_change` in 0001_schema.sql); of code that is not a command it
writes the entry itself. Creates, charges by programs and the customers' own payments are not in the
journal: they have events and saved responses.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from msgspec import Struct, json, structs

from laari.rules import ids
from laari.rules.actors import OPERATOR_KINDS, Actor
from laari.rules.records.bank import BankHoliday
from laari.rules.records.journal import JournalEntry
from laari.rules.records.merchants import (
    Application,
    MerchantSettings,
    OAuthClient,
    ReusableLink,
    ScheduledFees,
)
from laari.rules.records.payouts import PayoutTerms
from laari.rules.records.people import (
    Case,
    ContactChange,
    Customer,
    CustomerIdentity,
    Invitation,
    Membership,
    Passkey,
    Person,
    RememberedDevice,
    SecondFactor,
    TrustedPerson,
    WalletKey,
)
from laari.rules.records.tenants import Mode, Tenant, TenantSettings
from laari.rules.records.tills import Till, TillDevice
from laari.rules.records.wallets import Tier, Transaction, Wallet
from laari.rules.tables import K, R, Table
from laari.rules.world import World

OPERATOR = "operator"  # the name of all its people for merchants
NOTHING: Mapping[str, object] = MappingProxyType({})
_BYTES = "\\x"  # before the digits of a digest
_DIGEST_DIGITS = 32


class Setting(NamedTuple):
    """The object of a record in the journal, and the fields whose changes need an entry.

    Of a field with a # the journal has the beginning of a digest: it shows that a password was
    changed, and helps nobody to guess it.
    """

    object_type: str
    object_id: Callable[[Any], str]
    watched: tuple[str, ...]


CUSTOMER = Setting(
    "customer",
    lambda customer: ids.show_id(ids.CUSTOMER, customer.id),
    (
        "name",
        "mode",
        "sandbox_of",
        "mobile",
        "email",
        "vpa",
        "language",
        "#password_hash",
        "created_at",
        "password_must_change",
        "password_first",
    ),
)
# Wrong codes are counted in `attempts`, without an entry.
CONTACT_CHANGE = Setting(
    "contact_change",
    lambda change: ids.show_id(ids.CONTACT_CHANGE, change.id),
    tuple(name for name in ContactChange.__struct_fields__ if name not in ("id", "attempts")),
)
CASE = Setting(
    "case",
    lambda case: ids.show_id(ids.CASE, case.id),
    tuple(name for name in Case.__struct_fields__ if name != "id"),
)
TRUSTED_PERSON = Setting(
    "trusted_person",
    lambda row: ids.show_id(ids.CUSTOMER, row.customer_id),
    tuple(name for name in TrustedPerson.__struct_fields__ if name != "customer_id"),
)
WALLET = Setting(
    "wallet",
    lambda wallet: str(wallet.account),
    ("customer_id", "mode", "tier", "frozen_at", "frozen_reason", "frozen_silently"),
)
PERSON = Setting(
    "person",
    lambda person: ids.show_id(ids.PERSON, person.id),
    (
        "email",
        "#password_hash",
        "created_at",
        "password_must_change",
        "password_first",
        "proven",
    ),
)
MEMBERSHIP = Setting(
    "membership",
    lambda row: f"{ids.show_id(ids.PERSON, row.person_id)} {row.merchant_id or 'operator'}",
    ("role", "till", "created_at"),
)
INVITATION = Setting(
    "invitation",
    lambda row: f"{row.merchant_id} {row.email}",
    tuple(name for name in Invitation.__struct_fields__ if name != "merchant_id"),
)
# An accepted or refused code changes the other columns, without an entry.
SECOND_FACTOR = Setting(
    "second_factor",
    lambda row: ids.show_id(ids.PERSON, row.person_id),
    ("created_at", "confirmed_at", "codes_made_at"),
)
MERCHANT = Setting(
    "merchant",
    lambda merchant: merchant.id,
    tuple(
        name
        for name in MerchantSettings.__struct_fields__
        if name not in ("id", "secret_encrypted", "old_secret_encrypted")
    ),
)
APPLICATION = Setting(
    "application",
    lambda application: ids.show_id(ids.APPLICATION, application.id),
    tuple(name for name in Application.__struct_fields__ if name != "id"),
)
# A sandbox's clock has entries of its own.
TENANT = Setting("tenant", lambda tenant: str(tenant.id), ("merchant_id", "mode", "max_payment"))
OAUTH_CLIENT = Setting(
    "oauth_client",
    lambda client: client.id,
    tuple(name for name in OAuthClient.__struct_fields__ if name != "id"),
)
SCHEDULED_FEES = Setting(
    "scheduled_fees",
    lambda fees: f"{fees.merchant_id} {math.floor(fees.starts_at.timestamp())}",
    tuple(name for name in ScheduledFees.__struct_fields__ if name != "merchant_id"),
)
PAYOUT_TERMS = Setting(
    "payout_terms",
    lambda terms: str(terms.tenant_id),
    tuple(name for name in PayoutTerms.__struct_fields__ if name != "tenant_id"),
)
BANK_HOLIDAY = Setting("bank_holiday", lambda holiday: str(holiday.day), ("name",))
TIER = Setting(
    "tier",
    lambda tier: tier.name,
    tuple(name for name in Tier.__struct_fields__ if name != "name"),
)
IDENTITY = Setting(
    "identity",
    lambda row: ids.show_id(ids.CUSTOMER, row.customer_id),
    ("#encrypted", "entered_at"),
)
WALLET_KEY = Setting(
    "wallet_key",
    lambda key: key.digest.hex(),
    tuple(name for name in WalletKey.__struct_fields__ if name != "digest"),
)
# A use changes the counter and the times of the last one, without an entry.
PASSKEY = Setting(
    "passkey",
    lambda passkey: ids.show_id(ids.PASSKEY, passkey.id),
    ("customer_id", "#credential", "#public_key", "name", "added_at", "ended_at"),
)
REMEMBERED_DEVICE = Setting(
    "remembered_device",
    lambda device: ids.show_id(ids.REMEMBERED_DEVICE, device.id),
    ("customer_id", "#digest", "name", "added_at", "ended_at"),
)
TILL = Setting(
    "till",
    lambda till: ids.show_id(ids.TILL, till.id),
    tuple(
        "#secret_encrypted" if name == "secret_encrypted" else name
        for name in Till.__struct_fields__
        if name != "id"
    ),
)
REUSABLE_LINK = Setting(
    "reusable_link",
    lambda link: ids.show_id(ids.REUSABLE_LINK, link.id),
    tuple(name for name in ReusableLink.__struct_fields__ if name != "id"),
)
TILL_DEVICE = Setting(
    "till_device",
    lambda device: device.digest.hex(),
    tuple(name for name in TillDevice.__struct_fields__ if name not in ("digest", "binding")),
)
SETTINGS: dict[type[Struct], Setting] = {
    Application: APPLICATION,
    ScheduledFees: SCHEDULED_FEES,
    PayoutTerms: PAYOUT_TERMS,
    BankHoliday: BANK_HOLIDAY,
    Tier: TIER,
    OAuthClient: OAUTH_CLIENT,
    MerchantSettings: MERCHANT,
    TenantSettings: TENANT,
    CustomerIdentity: IDENTITY,
    WalletKey: WALLET_KEY,
    Passkey: PASSKEY,
    RememberedDevice: REMEMBERED_DEVICE,
    Till: TILL,
    TillDevice: TILL_DEVICE,
    ReusableLink: REUSABLE_LINK,
    Customer: CUSTOMER,
    ContactChange: CONTACT_CHANGE,
    Case: CASE,
    TrustedPerson: TRUSTED_PERSON,
    Person: PERSON,
    Membership: MEMBERSHIP,
    Invitation: INVITATION,
    SecondFactor: SECOND_FACTOR,
    Wallet: WALLET,
}


class Act(NamedTuple):
    """Who changes a setting, by which action, and why."""

    actor: Actor
    action: str  # an object and a verb, such as `merchant.update`
    reason: str | None = None


def write_setting(
    world: World,
    table: Table[K, R],
    row: R,
    act: Act,
    *,
    merchant_id: str | None = None,
    mode: Mode | None = None,
    shown: Mapping[str, object] = NOTHING,
) -> None:
    """Adds or changes the row of a setting, with its entry if a watched field differs.

    `shown` has values that are in the entry for its readers alone.
    """
    key, rows = table.key_of(row), table.of(world)
    before = rows.get(key)
    if before is None and not rows.is_locked(key):
        rows.add(key, row)
    elif row != before:
        rows.change(key, row)
    _note_change(world, before, row, act, merchant_id=merchant_id, mode=mode, shown=shown)


def remove_setting(
    world: World,
    table: Table[K, R],
    row: R,
    act: Act,
    *,
    merchant_id: str | None = None,
    mode: Mode | None = None,
    shown: Mapping[str, object] = NOTHING,
) -> None:
    """Removes the row of a setting, with its entry."""
    table.of(world).remove(table.key_of(row))
    _note_change(world, row, None, act, merchant_id=merchant_id, mode=mode, shown=shown)


def _note_change(
    world: World,
    before: Struct | None,
    after: Struct | None,
    act: Act,
    *,
    merchant_id: str | None,
    mode: Mode | None,
    shown: Mapping[str, object],
) -> None:
    row = after or before
    assert row is not None
    setting = SETTINGS[type(row)]
    old = None if before is None else state(before)
    new = None if after is None else state(after)
    if old != new:
        note(
            world,
            act,
            setting.object_type,
            setting.object_id(row),
            merchant_id=merchant_id,
            mode=mode,
            before=None if old is None else {**old, **shown},
            after=None if new is None else {**new, **shown},
        )


def state(record: Struct) -> dict[str, object]:
    """The watched values of a record, in the form in which the database writes them."""
    return {
        name.removeprefix("#"): _digested(record, name[1:])
        if name.startswith("#")
        else _plain(getattr(record, name))
        for name in SETTINGS[type(record)].watched
    }


def _digested(record: Struct, name: str) -> str | None:
    value = _plain(getattr(record, name))
    if value is None:
        return None
    return hashlib.sha256(str(value).encode()).hexdigest()[:_DIGEST_DIGITS]


def _plain(value: object) -> object:
    match value:
        case datetime():
            text = value.astimezone(UTC).replace(tzinfo=None).isoformat()
            return (text.rstrip("0") if value.microsecond else text) + "+00:00"
        case bytes():
            return _BYTES + value.hex()
        case UUID():
            return str(value)
        case _:
            return value


def note(
    world: World,
    act: Act,
    object_type: str,
    object_id: str,
    *,
    merchant_id: str | None,
    mode: Mode | None,
    before: Mapping[str, object] | None,
    after: Mapping[str, object] | None,
) -> None:
    """Adds an entry to the batch: the action and its entry are committed together or not at all."""
    actor = act.actor
    world.journal.append(
        JournalEntry(
            time=world.now,  # real time, also for a sandbox
            actor_kind=actor.kind,
            actor_name=actor.name,
            actor_role=actor.role,
            address=actor.address,
            action=act.action,
            object_type=object_type,
            object_id=object_id,
            merchant_id=merchant_id,
            mode=mode,
            before=_text(before),
            after=_text(after),
            reason=act.reason,
        )
    )


def _text(values: Mapping[str, object] | None) -> str | None:
    return None if values is None else json.encode(values).decode()


class Change(NamedTuple):
    """One value before and after, as people read it; None if it had or has none."""

    name: str
    before: str | None
    after: str | None


def changes(before: str | None, after: str | None) -> list[Change]:
    """The values of an entry that differ, without digests in full."""
    old: dict[str, object] = {} if before is None else json.decode(before)
    new: dict[str, object] = {} if after is None else json.decode(after)
    return [
        Change(name, _shown(name, old.get(name)), _shown(name, new.get(name)))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


def _shown(name: str, value: object) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "yes" if value else "no"
        case str() if name == "password_hash":
            return "(set)"
        case str() if name.endswith("digest"):
            return f"{value.removeprefix(_BYTES)[:8]}…"
        case _:
            return str(value)


def for_merchant(entry: JournalEntry) -> JournalEntry:
    """As the merchant sees it: a person of the operator is a role without a name and address."""
    if entry.actor_kind not in OPERATOR_KINDS:
        return entry
    return structs.replace(entry, actor_kind=OPERATOR, actor_name=OPERATOR, address=None)


def note_of_tenant(
    world: World,
    act: Act,
    tenant: Tenant,
    object_type: str,
    object_id: str,
    *,
    before: Mapping[str, object],
    after: Mapping[str, object],
) -> None:
    """An entry about a resource of a merchant."""
    note(
        world,
        act,
        object_type,
        object_id,
        merchant_id=tenant.merchant_id,
        mode=tenant.mode,
        before=before,
        after=after,
    )


def note_wallet(
    world: World,
    actor: Actor,
    action: str,
    before: Wallet,
    after: Wallet,
    *,
    merchant_id: str | None = None,
    moved: Transaction | None = None,
    reason: str | None = None,
) -> None:
    """An entry about a wallet; `merchant_id` is set for a sandbox customer."""
    money = {} if moved is None else {"transaction": moved.tid, "balance": after.balance}
    note(
        world,
        Act(actor, action, reason),
        WALLET.object_type,
        WALLET.object_id(after),
        merchant_id=merchant_id,
        mode=after.mode,
        before=state(before) | ({} if moved is None else {"balance": before.balance}),
        after=state(after) | money,
    )
