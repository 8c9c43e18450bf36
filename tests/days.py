"""Days of the Maldives when a test asks for them: a run may last over midnight."""

from datetime import UTC, date, datetime, timedelta

from laari.rules.calendar import local_day


def today() -> date:
    return local_day(datetime.now(UTC))


def yesterday() -> date:
    return today() - timedelta(days=1)


def tomorrow() -> date:
    return today() + timedelta(days=1)
