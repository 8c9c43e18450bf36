"""Entries of the journal that commands add with their decision.

Changes of other settings are written by triggers (0005_journal.sql). Creates, charges and the
customers' own payments are not in the journal: they have events and saved responses.
"""

from collections.abc import Mapping

from msgspec import json

from laari.rules.actors import Actor
from laari.rules.records import JournalEntry, Mode, Tenant, Transaction, Wallet
from laari.rules.world import World


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
