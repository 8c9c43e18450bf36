"""The records of merchants in one mode."""

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

Mode = Literal["live", "sandbox"]

MODES: tuple[Mode, Mode] = ("live", "sandbox")


class Tenant(Struct, frozen=True):
    """A merchant in one mode; `clock_offset_seconds` moves its time and is 0 in live mode.

    A command that takes money checks `active` again, under lock (`World.is_active`).
    """

    id: int
    merchant_id: str
    merchant_name: str
    mode: Mode
    fee_bps: int
    fee_fixed: int
    clock_offset_seconds: int
    sandbox_account: int
    active: bool
    max_payment: int | None = None  # the operator's limit for new payments, in laari


class TenantSettings(Struct, frozen=True):
    """What the operator and the sandbox set for a merchant in one mode."""

    id: int
    merchant_id: str
    mode: Mode
    clock_offset_seconds: int
    max_payment: int | None  # beside the general limit


class TenantClock(Struct, frozen=True):
    id: int
    clock_offset_seconds: int


def local_time(now: datetime, tenant: Tenant | TenantClock | TenantSettings | None) -> datetime:
    """The tenant's time: a sandbox's clock may be moved. Without a tenant, real time."""
    if tenant is None or tenant.clock_offset_seconds == 0:
        return now
    return now + timedelta(seconds=tenant.clock_offset_seconds)
