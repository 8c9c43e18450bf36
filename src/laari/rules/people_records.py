"""The records of customers and people: the fields of each are the columns of its table."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from laari.rules.records import Language, Mode


class Customer(Struct, frozen=True):
    """A person with a wallet; `sandbox_of` is the tenant whose own sandbox customer this is."""

    id: UUID
    name: str
    mode: Mode
    sandbox_of: int | None
    vpa: str | None
    language: Language  # of messages
    password_hash: str | None
    created_at: datetime
    password_must_change: bool
    password_first: bool
    mobile: str | None
    email: str | None

    def value_of(self, contact: "ContactKind") -> str | None:
        return self.mobile if contact == "mobile" else self.email


ContactKind = Literal["mobile", "email"]
ContactChangeStatus = Literal["waiting", "confirmed", "done", "cancelled", "stopped", "failed"]


class ContactChange(Struct, frozen=True):
    """A new mobile number or email address of a customer, on its way to its effect."""

    id: UUID
    customer_id: UUID
    contact: ContactKind
    old_value: str | None  # at the time of the request
    new_value: str
    reason: str
    requested_at: datetime
    requested_by: str
    code_digest: bytes | None  # None if the service cannot reach the new contact
    code_expires_at: datetime | None
    attempts: int = 0  # wrong codes
    status: ContactChangeStatus = "waiting"
    confirmed_at: datetime | None = None
    confirmed_by: str | None = None
    effective_at: datetime | None = None
    stop_digest: bytes | None = None  # of the link to the present contacts
    ended_at: datetime | None = None
    ended_by: str | None = None
    end_reason: str | None = None

    @property
    def has_code(self) -> bool:
        """Whether a code was sent to the new contact."""
        return self.code_digest is not None
