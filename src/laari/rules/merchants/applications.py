"""Applications of merchants to go live, and the operator's decision.

A merchant that signed up goes live only by an approval, which makes the live tenant. Its own people
choose the mode of the credentials then. One that the operator creates is approved from the
start. The operator can do both in one step
(`laari.rules.merchants.merchant_settings`).
"""

from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict, replace

from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import enter, not_valid
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.merchants.access import busy, refusal_for
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.bank_accounts import AccountOwner, BankDetails
from laari.rules.records.merchants import (
    Application,
    ApplicationAnswers,
    ApplicationStatus,
    MerchantSettings,
)
from laari.rules.records.payouts import PayoutTerms
from laari.rules.records.tenants import TenantSettings
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


class LiveTerms(Struct, frozen=True):
    """What the operator sets with an approval; fees that are None stay as they are."""

    minimum: int = 1  # of a payout, in laari
    hold: str | None = None  # the reason why payouts wait; the merchant reads it
    max_payment: int | None = None
    fee_bps: int | None = None
    fee_fixed: int | None = None

    @property
    def changes_fees(self) -> bool:
        return self.fee_bps is not None or self.fee_fixed is not None

    @property
    def changes_payouts(self) -> bool:
        return (self.minimum, self.hold) != (NO_TERMS.minimum, NO_TERMS.hold)


NO_TERMS = LiveTerms()
_LIVE_ALREADY = refuse("conflict", "This merchant is approved for live mode already.")
_NOTHING_OPEN = refuse("conflict", "This merchant has no open application.")
_REPLACED = refuse("conflict", "The merchant has changed its application. Read it again.")


def bank_details(answers: ApplicationAnswers) -> BankDetails:
    return BankDetails(answers.bank_holder, answers.bank_name, answers.bank_account)


def _open_of(world: World, merchant_id: str) -> Application | None:
    """The application of this merchant that waits; it may have been refused before the lock."""
    application_id = world.open_applications.get(merchant_id)
    found = None if application_id is None else world.applications.get(application_id)
    return found if found is not None and found.status == "submitted" else None


def _end(
    world: World,
    application: Application,
    status: ApplicationStatus,
    actor: Actor,
    action: str,
    *,
    reason: str | None = None,
) -> Application:
    ended = replace(
        application,
        status=status,
        decided_at=world.now,
        decided_by=actor.name,
        reason=reason,
    )
    act = Act(actor, action, reason)
    write_setting(world, World.applications, ended, act, merchant_id=ended.merchant_id)
    return ended


@dataclass(frozen=True, slots=True)
class SubmitApplication(Command[Application]):
    """Opens an application; it replaces one that is open."""

    permission: ClassVar[Permission] = "bank.manage"
    actor: Actor
    merchant_id: str
    answers: ApplicationAnswers

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.merchant_id, self.actor)
        needs.read(World.live_tenants, self.merchant_id)
        needs.open_application(self.merchant_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Application | Refusal:
        refusal = refusal_for(world, self.actor, self.merchant_id, self.permission) or not_valid(
            bank_details(self.answers)
        )
        if refusal is not None:
            return refusal
        if self.merchant_id in world.live_tenants:
            return _LIVE_ALREADY
        action = "application.submit"
        replaced = _open_of(world, self.merchant_id)
        if replaced is not None:
            _end(world, replaced, "withdrawn", self.actor, action)
        made = Application(
            **asdict(self.answers),
            id=world.new_id(),
            merchant_id=self.merchant_id,
            submitted_at=world.now,
            submitted_by=self.actor.name,
        )
        world.open_applications[self.merchant_id] = made.id
        act = Act(self.actor, action)
        write_setting(world, World.applications, made, act, merchant_id=self.merchant_id)
        return made


@dataclass(frozen=True, slots=True)
class WithdrawApplication(Command[Application]):
    """The merchant takes its open application back."""

    permission: ClassVar[Permission] = "bank.manage"
    actor: Actor
    merchant_id: str

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.merchant_id, self.actor)
        needs.open_application(self.merchant_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Application | Refusal:
        refusal = refusal_for(world, self.actor, self.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        found = _open_of(world, self.merchant_id)
        if found is None:
            return _NOTHING_OPEN
        return _end(world, found, "withdrawn", self.actor, "application.withdraw")


@dataclass(frozen=True, slots=True)
class RefuseApplication(Command[Application]):
    """Ends an open application; the merchant reads the reason and can apply again."""

    permission: ClassVar[Permission] = "merchants.approve"
    actor: Actor
    application_id: UUID
    reason: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.applications, self.application_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Application | Refusal:
        found = world.applications.get(self.application_id)
        refusal = lacks(self.actor, self.permission)
        if refusal is not None or found is None:
            return refusal or refuse("not_found", "There is no such application.")
        if found.status != "submitted":
            return refuse("conflict", f"The application is {found.status} already.")
        return _end(world, found, "refused", self.actor, "application.refuse", reason=self.reason)


@dataclass(frozen=True, slots=True)
class ApproveMerchant(Command[TenantSettings]):
    """Makes the merchant's live side with its terms, and ends an open application as approved.

    Payouts go to the bank account of the application. The owners entered it themselves, so they get
    a welcome (`laari.store.movement_messages`) and not the alarm about a changed account.
    `application_id` names the one on the operator's screen: the merchant may have replaced it.
    """

    permission: ClassVar[Permission] = "merchants.approve"
    actor: Actor
    merchant_id: str
    terms: LiveTerms = NO_TERMS
    reason: str | None = None
    application_id: UUID | None = None

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.merchant_id, self.actor)
        needs.read(World.live_tenants, self.merchant_id)
        needs.read(World.new_tenants, (self.merchant_id, "live"))
        needs.open_application(self.merchant_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> TenantSettings | Refusal:
        application = _open_of(world, self.merchant_id)
        refusal = self._refusal(world, application)
        if refusal is not None:
            return refusal
        tenant = TenantSettings(
            id=world.new_tenants[self.merchant_id, "live"],
            merchant_id=self.merchant_id,
            mode="live",
            clock_offset_seconds=0,
            max_payment=self.terms.max_payment,
        )
        act = Act(self.actor, "merchant.approve", self.reason)
        write_setting(
            world,
            World.tenant_settings,
            tenant,
            act,
            merchant_id=self.merchant_id,
            mode="live",
        )
        world.live_tenants[self.merchant_id] = tenant.id
        merchant = world.merchant_settings[self.merchant_id]
        self._set_terms(world, merchant, tenant)
        if application is not None:
            action = "application.approve"
            _end(world, application, "approved", self.actor, action, reason=self.reason)
            owner = AccountOwner(merchant.name, "live", merchant.id, recipients=())
            world.bank_accounts[tenant.id] = ()
            enter(world, self.actor, tenant.id, owner, bank_details(application))
        return tenant

    def _refusal(self, world: World, application: Application | None) -> Refusal | None:
        refusal = refusal_for(world, self.actor, self.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        if self.merchant_id in world.live_tenants:
            return _LIVE_ALREADY
        seen = self.application_id
        if seen is not None and (application is None or application.id != seen):
            return _REPLACED
        return None if application is None else not_valid(bank_details(application))

    def _set_terms(self, world: World, merchant: MerchantSettings, tenant: TenantSettings) -> None:
        terms = self.terms
        if terms.changes_payouts:
            payouts = PayoutTerms(tenant.id, minimum=terms.minimum, paused_reason=terms.hold)
            write_setting(
                world,
                World.payout_terms,
                payouts,
                Act(self.actor, "payout_terms.change", terms.hold),
                merchant_id=merchant.id,
                mode="live",
            )
        if terms.changes_fees:
            given = {"fee_bps": terms.fee_bps, "fee_fixed": terms.fee_fixed}
            fees = {name: fee for name, fee in given.items() if fee is not None}
            write_setting(
                world,
                World.merchant_settings,
                replace(merchant, **fees),
                Act(self.actor, "merchant.update"),
                merchant_id=merchant.id,
            )
