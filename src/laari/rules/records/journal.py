"""The record of the journal."""

from datetime import datetime

from msgspec import Struct

from laari.rules.records.tenants import Mode


class JournalEntry(Struct, frozen=True):
    """An action on an object: who, from where and why, with values before and after as JSON."""

    time: datetime
    actor_kind: str
    actor_name: str
    actor_role: str | None
    address: str | None
    action: str
    object_type: str
    object_id: str
    merchant_id: str | None
    mode: Mode | None
    before: str | None
    after: str | None
    reason: str | None
