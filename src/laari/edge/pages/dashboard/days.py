"""The days that an address names: a first and a last day, a month, or a preset."""

from datetime import date

from laari.edge.pages.dashboard.request import DashboardRequest
from laari.rules.calendar import local_day
from laari.rules.day_ranges import Days, last_days, preset, read_day, read_month
from laari.rules.refusals import Refusal, invalid
from laari.store.reads.figures import Span

DAY_FIELDS = ("preset", "month", "first", "last")


def read_days(request: DashboardRequest, default: Days | int = 1) -> Days | Refusal:
    """One day if the address names one; the last `default` days if it names none."""
    today = local_day(request.tenant_now)
    query = request.query
    if name := query.get("preset", "").strip():
        return preset(name, today) or invalid("preset", "This period does not exist.")
    if month := query.get("month", "").strip():
        return read_month(month) or invalid("month", "Write a month as in 2026-11.")
    asked: dict[str, date] = {}
    for name in ("first", "last"):
        text = query.get(name, "").strip()
        if not text:
            continue
        day = read_day(text)
        if day is None:
            return invalid(name, "Write a day as in 2026-11-17.")
        asked[name] = day
    if not asked:
        return last_days(default, today) if isinstance(default, int) else default
    first = asked.get("first", asked.get("last", today))
    last = asked.get("last", first)
    if last < first:
        return invalid("last", "The last day must not be before the first day.")
    return Days(first, last)


def read_span(request: DashboardRequest, default: Days | int = 1) -> Span | Refusal:
    days = read_days(request, default)
    return days if isinstance(days, Refusal) else Span(request.tenant.id, *days)
