"""The record of events."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct


class Event(Struct, frozen=True):
    """A notification with its exact bytes, stored in the transaction that caused it."""

    id: UUID
    tenant_id: int
    type: str
    object_id: UUID
    created_at: datetime
    body: bytes
