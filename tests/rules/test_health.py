"""What the page Health and `laari health` say about audits and backups."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from laari.rules.health import AUDIT_AGE, BACKUP_AGE, Check, Health, Noted, checks

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
SHORT, LONG = timedelta(minutes=1), timedelta(days=400)


def said(name: str, installed: timedelta, **noted: Any) -> tuple[bool, str, datetime | None]:
    """What a check says of a service that was installed this long ago."""
    nothing: dict[str, Any] = dict.fromkeys(Noted.__struct_fields__)
    counts = {"deliveries_failed": 0, "messages_failed": 0, "sms_of_last_hour": 0}
    found = Noted(**{**nothing, **counts, "installed_at": NOW - installed, **noted})
    every = checks(Health(0, 0, 0, 0, found, [], []), NOW, None, 1000)
    check: Check = next(each for each in every if each.name == name)
    return check.ok, check.text, check.at


@pytest.mark.parametrize(
    ("name", "field", "limit", "first"),
    [
        ("Last audit", "last_audit_at", AUDIT_AGE, "none yet: run laari audit"),
        (
            "Last backup",
            "last_backup_at",
            BACKUP_AGE,
            "none yet: run laari backup, or laari backup --record after another program",
        ),
    ],
)
def test_what_people_repeat_has_an_age(name: str, field: str, limit: timedelta, first: str) -> None:
    assert said(name, limit - SHORT) == (True, first, None), "the installation is new"
    assert said(name, limit) == (False, first, None)
    recent, old = NOW - limit + SHORT, NOW - limit
    assert said(name, LONG, **{field: recent}) == (True, "", recent)
    assert said(name, LONG, **{field: old}) == (False, f"more than {limit.days} days ago", old)


def test_an_audit_that_found_differences_is_not_ok() -> None:
    found = said("Last audit", LONG, last_audit_at=NOW, last_audit_ok=False)
    assert found == (False, "found differences", NOW)
