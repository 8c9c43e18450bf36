"""Charges: the merchant takes a payment under an authorization, within its limits."""

from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.command import TenantCommand
from laari.rules.journal import Act, note_of_tenant
from laari.rules.lifecycle import AuthorizationAction
from laari.rules.needs import Needs
from laari.rules.payments import references
from laari.rules.payments.authorization_limits import (
    counted,
    current_period,
    exceeded,
    remaining,
    usage_after,
)
from laari.rules.payments.authorizations import CURRENCY, find, move
from laari.rules.payments.payment_commands import PAYMENTS, announce
from laari.rules.payments.payments import PaymentDraft, book_payment, new_payment, too_large
from laari.rules.people.permissions import Permission, may_not
from laari.rules.records.authorizations import Authorization
from laari.rules.records.payments import Payment, ReferenceClaim
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.authorizations import RemainingLimits
from laari.rules.wallets import take_payment
from laari.rules.world import World


def may_charge(authorization: Authorization, amount: int, left: RemainingLimits) -> Refusal | None:
    """All checks of a new charge except those of the customer's wallet."""
    if authorization.status == "pending":
        return refuse("authorization_unapproved")
    if authorization.status == "expired":
        return refuse("authorization_expired")
    if authorization.status != "active":
        return refuse("authorization_inactive", f"The authorization is {authorization.status}.")
    if authorization.currency != CURRENCY:
        return refuse("currency_mismatch")
    code = exceeded(left, amount)
    return None if code is None else refuse(code)


@dataclass(frozen=True, slots=True)
class ChargeAuthorization(TenantCommand[Payment]):
    tenant: Tenant
    authorization_id: UUID
    draft: PaymentDraft

    def needs(self, needs: Needs) -> None:
        needs.read(World.references, (self.tenant.id, self.draft.reference))
        needs.charging(self.tenant, self.authorization_id)

    def busy(self) -> Refusal:
        return refuse("payment_in_progress")

    def decide(self, world: World) -> Payment | Refusal:
        tenant, draft, moment = self.tenant, self.draft, world.moment(self.tenant)
        authorization = find(world, tenant, self.authorization_id)
        if authorization is None or not self._payer_is_of_mode(world, authorization):
            return refuse("authorization_not_found")
        claim = world.references.get((tenant.id, draft.reference))
        if claim is not None:
            return self._retry(world, claim)
        refusal = too_large(tenant, draft.amount)
        if refusal is not None:
            return refusal
        period = current_period(authorization, moment)
        refusal = may_charge(authorization, draft.amount, remaining(authorization, period))
        if refusal is not None:
            return refusal
        account = authorization.account
        assert account is not None
        tid = take_payment(world, tenant, account, draft.amount, draft.title or authorization.title)
        if isinstance(tid, Refusal):
            return tid
        if period is not None:
            world.enter_periods(tenant, counted(authorization), [period])
        action: AuthorizationAction = "consume" if authorization.type == "one_time" else "charge"
        usage = usage_after(authorization, draft.amount, period, moment)
        move(world, tenant, authorization, action, **usage)
        made = new_payment(world, tenant, "charge", draft, authorization_id=authorization.id)
        payment = replace(made, status="paid", **book_payment(world, tenant, made, account, tid))
        references.claim(world, tenant, draft.reference, "charge", payment.id)
        world.payments.add(payment.id, payment)
        announce(PAYMENTS, world, tenant, "payment.paid", payment)
        return payment

    def _payer_is_of_mode(self, world: World, authorization: Authorization) -> bool:
        """Whether the payer, if there is one, belongs to the tenant's mode."""
        account = authorization.account
        return account is None or world.same_mode(self.tenant, account)

    def _retry(self, world: World, claim: ReferenceClaim) -> Payment | Refusal:
        if claim.kind != "charge":
            return references.other_kind(claim, "charge")
        original = world.payments[claim.resource_id]
        if original.authorization_id != self.authorization_id:
            return references.differs(claim, "authorization")
        if original.amount != self.draft.amount:
            return references.differs(claim, "amount")
        return original


@dataclass(frozen=True, slots=True)
class ChargeByHand(ChargeAuthorization):
    """A charge by a person of the merchant, whom the journal names. Programs use credentials."""

    permission: ClassVar[Permission] = "authorizations.charge"
    actor: Actor

    def needs(self, needs: Needs) -> None:
        ChargeAuthorization.needs(self, needs)
        needs.role(self.tenant.merchant_id, self.actor)

    def decide(self, world: World) -> Payment | Refusal:
        refusal = may_not(world, self.actor, self.tenant.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        outcome = ChargeAuthorization.decide(self, world)
        if isinstance(outcome, Payment) and outcome.id in world.payments.added:
            note_of_tenant(
                world,
                Act(self.actor, "authorization.charge"),
                self.tenant,
                "authorization",
                ids.show_id(ids.AUTHORIZATION, self.authorization_id),
                before={},
                after={"amount": outcome.amount, "payment": ids.show_id(ids.PAYMENT, outcome.id)},
            )
        return outcome
