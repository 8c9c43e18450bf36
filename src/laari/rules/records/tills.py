"""The records of tills, their devices and their closings."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct


class TillClosing(Struct, frozen=True):
    """The sums of a till since its previous closing; never changed, never deleted."""

    id: UUID
    tenant_id: int
    till: str  # empty for payments that name none
    number: int  # counts the closings of the till
    payments: int
    gross: int
    fees: int
    refunds: int
    refunded: int
    note: str | None
    actor_kind: str
    actor_name: str
    snapshot: str  # the transactions whose movements it has, as PostgreSQL writes them
    created_at: datetime

    @property
    def net(self) -> int:
        return self.gross - self.fees - self.refunded


class Till(Struct, frozen=True):
    """A place of a shop that sells: its name is the label of the payments made there."""

    id: UUID
    tenant_id: int
    name: str
    token: str  # of the address of its static code
    created_at: datetime
    # Of its digits without a connection (`laari.rules.merchants.offline`).
    secret_encrypted: bytes
    active: bool = True
    # A code pairs one device until its end; null without one.
    pairing_digest: bytes | None = None
    pairing_expires_at: datetime | None = None


class TillDevice(Struct, frozen=True):
    """A device that was paired with a till: it may use its counter, and nothing else."""

    digest: bytes
    binding: bytes
    till_id: UUID
    name: str  # "Chrome on Android"
    paired_at: datetime
    ended_at: datetime | None = None


class OpenTill(Struct, frozen=True):
    """A till since its last closing, in one snapshot."""

    till: str
    number: int  # of the next closing
    since: datetime | None  # the last closing; None if there is none
    payments: int
    gross: int
    fees: int
    refunds: int
    refunded: int
    snapshot: str

    @property
    def net(self) -> int:
        return self.gross - self.fees - self.refunded

    @property
    def moved(self) -> bool:
        return self.payments + self.refunds > 0
