"""The record of responses that are kept for idempotency keys."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct


class SavedResponse(Struct, frozen=True):
    """The response to a request with an idempotency key, kept for replay.

    `resource_id` is the resource that the body shows.
    """

    tenant_id: int
    operation: str
    key: str
    fingerprint: bytes
    status: int
    code: str  # of a refusal; otherwise empty
    body: bytes
    completed_at: datetime
    replays: int = 0
    last_replayed_at: datetime | None = None
    resource_id: UUID | None = None
