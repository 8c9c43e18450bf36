"""Authorizations: a customer's permission to be charged later.

`expired` is never stored: commands use an authorization as it is at their moment (`as_of`).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import ClassVar, Literal
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor, Payer
from laari.rules.calendar import Interval
from laari.rules.command import TenantCommand
from laari.rules.events import EventType, emit
from laari.rules.journal import Act, note_of_tenant
from laari.rules.lifecycle import (
    AUTHORIZATION_TRANSITIONS,
    AuthorizationAction,
    TransitionError,
    authorization_state,
)
from laari.rules.needs import Needs
from laari.rules.payments.payments import default_deadline
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.authorizations import Authorization, AuthorizationStatus, AuthorizationType
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.shapes.authorizations import authorization_shape
from laari.rules.world import World

CURRENCY: Literal["MVR"] = "MVR"


def as_of(authorization: Authorization, now: datetime) -> Authorization:
    """The authorization as it is at this moment: expired if a deadline has passed."""
    state = authorization_state(authorization, now)
    return authorization if state == authorization.status else replace(authorization, status=state)


def _announce(
    world: World, tenant: Tenant, event_type: EventType, authorization: Authorization
) -> None:
    shape = authorization_shape(authorization, world.origin)
    emit(world, tenant, event_type, authorization.id, shape)


# Events by the action and the new status; other transitions have none.
_EVENTS: Mapping[tuple[AuthorizationAction, AuthorizationStatus], EventType] = {
    ("approve", "active"): "authorization.approved",
    ("reject", "rejected"): "authorization.rejected",
    ("cancel", "cancelled"): "authorization.cancelled",
    ("cancel", "revoked"): "authorization.revoked",
}


def move(
    world: World,
    tenant: Tenant,
    authorization: Authorization,
    action: AuthorizationAction,
    **changes: object,
) -> Authorization:
    """Makes a transition that the lifecycle allows, and emits its event."""
    status = AUTHORIZATION_TRANSITIONS[authorization.status].get(action)
    if status is None:
        raise TransitionError(f"{action} of an authorization that is {authorization.status}")
    moved = replace(authorization, status=status, updated_at=world.at(tenant), **changes)
    world.authorizations.change(moved.id, moved)
    event_type = _EVENTS.get((action, status))
    if event_type is not None:
        _announce(world, tenant, event_type, moved)
    return moved


@dataclass(frozen=True, slots=True)
class AuthorizationDraft:
    """The fields of an authorization that the merchant chooses, already checked."""

    reference: str
    title: str
    description: str | None = None
    type: AuthorizationType = "unscheduled"
    per_payment: int | None = None
    period_interval: Interval | None = None
    period_amount: int | None = None
    total: int | None = None
    max_payments: int | None = None
    return_url: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CreateAuthorization(TenantCommand[Authorization]):
    tenant: Tenant
    draft: AuthorizationDraft

    @property
    def _slot(self) -> tuple[int, str]:
        return (self.tenant.id, self.draft.reference)

    def needs(self, needs: Needs) -> None:
        needs.read(World.authorization_ids, self._slot)

    def decide(self, world: World) -> Authorization | Refusal:
        """A reference in use returns its authorization, whatever the other fields are."""
        now, draft = world.at(self.tenant), self.draft
        taken = world.authorization_ids.get(self._slot)
        if taken is not None:
            return as_of(world.authorizations[taken], now)
        if draft.expires_at is not None and draft.expires_at <= now:
            return invalid("expires_at", "expires_at must be in the future.")
        authorization = Authorization(
            id=world.new_id(),
            tenant_id=self.tenant.id,
            token=world.new_token(),
            currency=CURRENCY,
            created_at=now,
            approval_expires_at=default_deadline(now),
            updated_at=now,
            **asdict(draft),
        )
        world.authorizations.add(authorization.id, authorization)
        world.authorization_ids[self._slot] = authorization.id
        _announce(world, self.tenant, "authorization.created", authorization)
        return authorization


@dataclass(frozen=True, slots=True)
class OneAuthorization(TenantCommand[Authorization]):
    """A command about one authorization of the tenant, locked."""

    tenant: Tenant
    authorization_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.lock(World.authorizations, self.authorization_id)

    def busy(self) -> Refusal:
        return refuse("authorization_unavailable", "The authorization is being processed.")

    def decide(self, world: World) -> Authorization | Refusal:
        authorization = find(world, self.tenant, self.authorization_id)
        if authorization is None or not self.exists_for_actor(world, authorization):
            return refuse("authorization_not_found")
        return self.act(world, authorization)

    def exists_for_actor(self, world: World, authorization: Authorization) -> bool:
        """Whether the actor of the command may see this authorization."""
        return True

    def act(self, world: World, authorization: Authorization) -> Authorization | Refusal:
        raise NotImplementedError

    def allows(self, authorization: Authorization, action: AuthorizationAction) -> bool:
        return action in AUTHORIZATION_TRANSITIONS[authorization.status]


def find(world: World, tenant: Tenant, authorization_id: UUID) -> Authorization | None:
    """The authorization as it is now, if it belongs to this tenant."""
    authorization = world.authorizations.get(authorization_id)
    if authorization is None or authorization.tenant_id != tenant.id:
        return None
    return as_of(authorization, world.at(tenant))


@dataclass(frozen=True, slots=True)
class CustomerDecision(OneAuthorization):
    """A decision of a customer; any customer of the tenant's mode who has the link may decide."""

    payer: Payer

    def needs(self, needs: Needs) -> None:
        needs.lock(World.authorizations, self.authorization_id)
        needs.read(World.wallets, self.payer.account)

    def exists_for_actor(self, world: World, authorization: Authorization) -> bool:
        return world.knows(self.tenant, self.payer)


class ApproveAuthorization(CustomerDecision):
    """The payer who approves becomes the customer: charges are taken from this account."""

    def needs(self, needs: Needs) -> None:
        CustomerDecision.needs(self, needs)
        needs.lock(World.merchants, self.tenant.merchant_id)

    def act(self, world: World, authorization: Authorization) -> Authorization | Refusal:
        now = world.at(self.tenant)
        refusal = _undecidable(authorization)
        if refusal is not None:
            return refusal
        if not world.is_active(self.tenant):
            return refuse("authorization_unavailable", "The merchant is not taking payments.")
        if authorization.expires_at is not None and authorization.expires_at <= now:
            return refuse("authorization_expired")  # it could not be charged any more
        account = self.payer.account
        if world.wallets[account].frozen_at is not None:
            return refuse("authorization_unavailable")  # with no hint at the reason
        return move(world, self.tenant, authorization, "approve", account=account, approved_at=now)


class RejectAuthorization(CustomerDecision):
    """The customer declines; this is final."""

    def act(self, world: World, authorization: Authorization) -> Authorization | Refusal:
        refusal = _undecidable(authorization)
        if refusal is not None:
            return refusal
        now = world.at(self.tenant)
        return move(world, self.tenant, authorization, "reject", rejected_at=now)


def _undecidable(authorization: Authorization) -> Refusal | None:
    """Why the customer can no longer approve or reject, or None."""
    if authorization.status == "pending":
        return None
    if authorization.status == "expired" and authorization.approved_at is None:
        return refuse("authorization_expired")
    return refuse("authorization_not_pending")


_CHARGED_NOW = refuse("authorization_not_cancellable", "A charge is being processed.")


def _end(world: World, tenant: Tenant, authorization: Authorization) -> Authorization | Refusal:
    if authorization.status in ("cancelled", "revoked"):
        return authorization
    if "cancel" not in AUTHORIZATION_TRANSITIONS[authorization.status]:
        return refuse("authorization_not_cancellable")
    ended = "cancelled_at" if authorization.status == "pending" else "revoked_at"
    return move(world, tenant, authorization, "cancel", **{ended: world.at(tenant)})


def _note(
    world: World,
    actor: Actor,
    tenant: Tenant,
    verb: str,
    before: Authorization,
    *,
    after: Authorization | Refusal,
) -> None:
    """Adds the entry of an action to the journal, unless it changed nothing."""
    if isinstance(after, Refusal) or after.status == before.status:
        return
    note_of_tenant(
        world,
        Act(actor, f"authorization.{verb}"),
        tenant,
        "authorization",
        ids.show_id(ids.AUTHORIZATION, after.id),
        before={"status": before.status},
        after={"status": after.status},
    )


@dataclass(frozen=True, slots=True)
class CancelAuthorization(OneAuthorization):
    """The merchant ends the authorization."""

    actor: Actor

    def busy(self) -> Refusal:
        return _CHARGED_NOW

    def act(self, world: World, authorization: Authorization) -> Authorization | Refusal:
        outcome = _end(world, self.tenant, authorization)
        _note(world, self.actor, self.tenant, "cancel", authorization, after=outcome)
        return outcome


def _is_payer(world: World, tenant: Tenant, authorization: Authorization, payer: Payer) -> bool:
    return authorization.account == payer.account and world.knows(tenant, payer)


class RevokeAuthorization(CustomerDecision):
    """The payer withdraws the permission."""

    def busy(self) -> Refusal:
        return _CHARGED_NOW

    def act(self, world: World, authorization: Authorization) -> Authorization | Refusal:
        return _end(world, self.tenant, authorization)

    def exists_for_actor(self, world: World, authorization: Authorization) -> bool:
        return _is_payer(world, self.tenant, authorization, self.payer)


@dataclass(frozen=True, slots=True)
class PauseCommand(OneAuthorization):
    """The payer or the operator suspends or resumes; in a sandbox, also the merchant's tests."""

    action: ClassVar[AuthorizationAction]
    done: ClassVar[AuthorizationStatus]
    permission: ClassVar[Permission] = "customers.change"  # of the operator
    actor: Payer | Actor | Tenant

    def needs(self, needs: Needs) -> None:
        needs.lock(World.authorizations, self.authorization_id)
        if isinstance(self.actor, Payer):
            needs.read(World.wallets, self.actor.account)

    def exists_for_actor(self, world: World, authorization: Authorization) -> bool:
        match self.actor:
            case Payer():
                return _is_payer(world, self.tenant, authorization, self.actor)
            case Actor():
                return self.actor.is_operator
            case Tenant():
                return self.actor.id == self.tenant.id and self.actor.mode == "sandbox"

    def act(self, world: World, authorization: Authorization) -> Authorization | Refusal:
        refusal = lacks(self.actor, self.permission) if isinstance(self.actor, Actor) else None
        if refusal is not None:
            return refusal
        if authorization.status == self.done:
            return authorization
        if self.allows(authorization, self.action):
            moved = move(world, self.tenant, authorization, self.action)
            if isinstance(self.actor, Actor):
                _note(world, self.actor, self.tenant, self.action, authorization, after=moved)
            return moved
        if authorization.status == "pending":
            return refuse("authorization_unapproved")
        if authorization.status == "expired":
            return refuse("authorization_expired")
        return refuse("authorization_unavailable")


class SuspendAuthorization(PauseCommand):
    action, done = "suspend", "suspended"


class ResumeAuthorization(PauseCommand):
    action, done = "resume", "active"
