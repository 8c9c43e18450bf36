"""Entries of the journal that commands add with their decision.

Changes of other settings are written by triggers (0005_journal.sql). Creates, charges and the
customers' own payments are not in the journal: they have events and saved responses.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import json, structs

from laari.rules.actors import OPERATOR_KINDS, Actor
from laari.rules.records import JournalEntry, Mode, Tenant, Transaction, Wallet
from laari.rules.world import World

OPERATOR = "operator"  # the name of all its people for merchants
_BYTES = "\\x"  # before the digits of a digest


def note(
    world: World,
    actor: Actor,
    action: str,
    object_type: str,
    object_id: str,
    *,
    merchant_id: str | None,
    mode: Mode | None,
    before: Mapping[str, object] | None,
    after: Mapping[str, object] | None,
    reason: str | None = None,
) -> None:
    """Adds an entry to the batch: the action and its entry are committed together or not at all."""
    world.journal.append(
        JournalEntry(
            time=world.now,  # real time, also for a sandbox
            actor_kind=actor.kind,
            actor_name=actor.name,
            actor_role=actor.role,
            address=actor.address,
            action=action,
            object_type=object_type,
            object_id=object_id,
            merchant_id=merchant_id,
            mode=mode,
            before=_text(before),
            after=_text(after),
            reason=reason,
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
    actor: Actor,
    tenant: Tenant,
    action: str,
    object_type: str,
    object_id: str,
    before: Mapping[str, object],
    after: Mapping[str, object],
    reason: str | None = None,
) -> None:
    """An entry about a resource of a merchant."""
    note(
        world,
        actor,
        action,
        object_type,
        object_id,
        merchant_id=tenant.merchant_id,
        mode=tenant.mode,
        before=before,
        after=after,
        reason=reason,
    )


def _watched(wallet: Wallet) -> dict[str, object]:
    """All watched values, so that the last entry of a wallet is its present state."""
    return {
        "tier": wallet.tier,
        "frozen_at": wallet.frozen_at,
        "frozen_reason": wallet.frozen_reason,
        "frozen_silently": wallet.frozen_silently,
    }


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
        actor,
        action,
        "wallet",
        str(after.account),
        merchant_id=merchant_id,
        mode=after.mode,
        before=_watched(before) | ({} if moved is None else {"balance": before.balance}),
        after=_watched(after) | money,
        reason=reason,
    )
