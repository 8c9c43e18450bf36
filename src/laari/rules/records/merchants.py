"""The records of merchants: settings, applications, credentials and links."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from laari.rules.records.tenants import Mode


class MerchantActivity(Struct, frozen=True):
    """A merchant may take money only while it is active."""

    id: str
    active: bool


class MerchantSettings(Struct, frozen=True):
    """A merchant with its settings and its keys. Its lock also protects who works there."""

    id: str
    created_at: datetime
    sandbox_account: int
    name: str
    mode: Mode  # which of its tenants its credentials open
    active: bool
    inactive_reason: str | None  # shown to its people
    secret_digest: bytes
    secret_encrypted: bytes
    old_secret_digest: bytes | None
    old_secret_encrypted: bytes | None
    old_secret_until: datetime | None
    fee_bps: int
    fee_fixed: int
    webhook_url: str | None
    webhooks_enabled: bool
    requires_factor: bool  # of all its people


ApplicationStatus = Literal["submitted", "approved", "refused", "withdrawn"]


class ApplicationAnswers(Struct, frozen=True):
    """What a shop says about itself to go live; the names are columns."""

    legal_name: str
    registration_number: str
    tax_number: str | None  # None: not registered for tax
    address: str
    bank_name: str
    bank_holder: str
    bank_account: str
    monthly_volume: int  # expected, in laari
    contact: str


class Application(ApplicationAnswers, frozen=True):
    """The answers of a shop, and the operator's decision. A decided one never changes."""

    id: UUID
    merchant_id: str
    submitted_at: datetime
    submitted_by: str
    status: ApplicationStatus = "submitted"
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None  # shown to the merchant

    @property
    def answers(self) -> ApplicationAnswers:
        return ApplicationAnswers(
            **{name: getattr(self, name) for name in ApplicationAnswers.__struct_fields__}
        )


class OAuthClient(Struct, frozen=True):
    """A client of a merchant's programs; its last use is not a setting."""

    id: str
    merchant_id: str
    secret_digest: bytes
    name: str | None  # for people
    scope: str  # as OAuth writes it
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None = None


class AccessToken(Struct, frozen=True):
    """An issued Bearer token, known by its digest only. Times are real time.

    `binding` ties it to its client and scope, by the master key.
    `sandbox_offset_seconds` is the clock's offset at issue: the token also ages on that clock.
    """

    digest: bytes
    client_id: str
    scope: str  # space-separated, as OAuth writes it
    issued_at: datetime
    expires_at: datetime
    sandbox_offset_seconds: int
    binding: bytes


class ScheduledFees(Struct, frozen=True):
    """Fees of a merchant that begin later."""

    merchant_id: str
    starts_at: datetime
    fee_bps: int
    fee_fixed: int
    scheduled_by: str
    scheduled_at: datetime


class ReusableLink(Struct, frozen=True):
    """An address at which many customers pay, each with a payment of their own."""

    id: UUID
    tenant_id: int
    token: str  # of its address
    title: str
    amount: int | None  # None: the customer types it
    ends_at: datetime | None  # on the tenant's clock; None for never
    created_at: datetime
    ended_at: datetime | None = None  # by a person

    def takes_payments(self, now: datetime) -> bool:
        return self.ended_at is None and (self.ends_at is None or now < self.ends_at)
