"""The records of a merchant's funds: how far its balance may fall, and what the operator moved."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from laari.rules.tables import BigInt


class MerchantFunds(Struct, frozen=True):
    """How far a merchant's balance may fall. Money leaves only while this row is locked."""

    tenant_id: int
    refunded_fees: BigInt = 0  # of all payments that were refunded, in part or whole
    last_payout: int = 0  # its number
    paid_out_upto: datetime | None = None  # its cut-off

    @property
    def lowest(self) -> int:
        """Fees are not returned, so that refunds alone can make a balance negative."""
        return -self.refunded_fees


class FundMovement(Struct, frozen=True):
    """Why the operator held, released or corrected money of a merchant."""

    transfer_id: UUID
    tenant_id: int
    reason: str
    actor_kind: str
    actor_name: str
    created_at: datetime
