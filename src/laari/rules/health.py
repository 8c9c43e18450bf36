"""The state of the service, and the checks that the person on call sees."""

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from laari.rules.limits.messages import RESERVED_PART
from laari.rules.money import rufiyaa
from laari.rules.records.tenants import Mode

LATE = 600  # seconds that a webhook or message may wait
AUDIT_AGE = timedelta(days=8)
BACKUP_AGE = timedelta(days=2)
# What to do before the first time.
FIRST = {
    "Last audit": "none yet: run laari audit",
    "Last backup": "none yet: run laari backup, or laari backup --record after another program",
}


class FailingMerchant(Struct, frozen=True):
    """A merchant whose webhooks fail now."""

    merchant_id: str
    name: str
    mode: Mode
    waiting: int
    most_attempts: int


class Noted(Struct, frozen=True):
    """What commands and the background process have noted; None if it never happened."""

    installed_at: datetime
    deliveries_failed: int
    messages_failed: int
    sms_of_last_hour: int
    last_seal_number: int | None
    last_seal_at: datetime | None
    last_audit_at: datetime | None
    last_audit_ok: bool | None
    last_backup_at: datetime | None


class ServiceProcess(Struct, frozen=True):
    """A process of the service, as the database sees its connections."""

    role: str  # interface or background
    pid: str
    machine: str
    connected_at: datetime
    last_used_at: datetime


class Health(Struct, frozen=True):
    deliveries_waiting: int
    deliveries_oldest_seconds: float
    messages_waiting: int
    messages_oldest_seconds: float
    noted: Noted
    failing: list[FailingMerchant]
    processes: list[ServiceProcess]


class Check(NamedTuple):
    """A line for the person on call; a notice is no problem, but worth a look."""

    name: str
    ok: bool
    text: str
    at: datetime | None = None
    notice: bool = False


def checks(
    found: Health, now: datetime, second_operator_above: int | None, sms_per_hour: int
) -> list[Check]:
    noted = found.noted
    roles = [process.role for process in found.processes]
    webhooks = f"{found.deliveries_waiting} waiting, {noted.deliveries_failed} given up"
    messages_sent = f"{found.messages_waiting} waiting, {noted.messages_failed} given up"
    return [
        Check("Webhooks", found.deliveries_oldest_seconds < LATE and not found.failing, webhooks),
        Check(
            "Messages",
            found.messages_oldest_seconds < LATE and noted.messages_failed == 0,
            messages_sent,
        ),
        Check(
            "SMS",
            noted.sms_of_last_hour < sms_per_hour * (1 - RESERVED_PART),
            f"{noted.sms_of_last_hour:,} in the last hour, at most {sms_per_hour:,}",
        ),
        Check(
            "Last seal",
            True,
            "" if noted.last_seal_at else "nothing is sealed yet",
            noted.last_seal_at,
        ),
        _last_audit(noted, now),
        _repeated("Last backup", noted.last_backup_at, noted, now, BACKUP_AGE),
        Check(
            "Processes",
            {"interface", "background"} <= set(roles),
            f"{roles.count('interface')} for requests, {roles.count('background')} in background",
        ),
        _second_person(second_operator_above),
    ]


def _second_person(above: int | None) -> Check:
    if above is None:
        return Check("Second person", True, "One person can move money alone.", notice=True)
    return Check("Second person", True, f"above MVR {rufiyaa(above)} for each person and day")


def _last_audit(noted: Noted, now: datetime) -> Check:
    if noted.last_audit_ok is False:
        return Check("Last audit", False, "found differences", noted.last_audit_at)
    return _repeated("Last audit", noted.last_audit_at, noted, now, AUDIT_AGE)


def _repeated(
    name: str, at: datetime | None, noted: Noted, now: datetime, limit: timedelta
) -> Check:
    """What people repeat. Before the first time, the age counts from the installation."""
    ok = now - (at or noted.installed_at) < limit
    if at is None:
        return Check(name, ok, FIRST[name])
    return Check(name, ok, "" if ok else f"more than {limit.days} days ago", at)
