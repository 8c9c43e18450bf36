"""The operator refunds a payment of a merchant: its money goes back to the wallet that paid.

The command line uses it, never a page of a merchant: the merchant's own people decide alone.
"""

from dataclasses import dataclass
from uuid import UUID

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.banking.second_person import (
    Asked,
    Booked,
    Controlled,
    Prepared,
    needs_reference,
)
from laari.rules.needs import Needs
from laari.rules.payments.refunds import Refunded, RefundPayment
from laari.rules.records.payments import RefundReason
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class RefundForMerchant(Controlled[Refunded]):
    """Returns an amount to the payer, or all that is left; without the fee."""

    permission = "wallets.move"
    tenant_id: int
    actor: Actor
    payment_id: UUID
    amount: int | None = None
    reason: RefundReason | None = None
    note: str | None = None

    def rows(self, needs: Needs) -> None:
        needs.read(World.tenants, self.tenant_id)
        needs.refunding(self.tenant_id, self.payment_id)
        needs_reference(needs, self._about)

    @property
    def _about(self) -> str:
        return ids.show_id(ids.PAYMENT, self.payment_id)

    def prepare(self, world: World) -> Prepared[Refunded] | Refusal:
        tenant = world.tenants.get(self.tenant_id)
        if tenant is None:
            return refuse("not_found", "No such merchant.")
        refund = RefundPayment(
            tenant, self.payment_id, self.actor, self.amount, self.reason, note=self.note
        )
        amount = refund.amount_of(world)
        if isinstance(amount, Refusal):
            return amount
        payment = world.payments[self.payment_id]
        asked = Asked(
            "refund",
            tenant.mode,
            amount,
            f"Refund of {payment.reference}",
            account=payment.payer_account,
            tenant_id=tenant.id,
            reference=self._about,
            refund_reason=self.reason,
            refund_note=self.note,
        )
        return Prepared(asked, lambda: _booked(refund.refund(world, amount)))


def _booked(refunded: Refunded) -> Booked[Refunded]:
    return Booked(refunded, refunded.refund.tid)
