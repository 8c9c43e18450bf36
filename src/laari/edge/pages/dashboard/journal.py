"""The merchant's journal: who did what, with filters, and as a file.

The operator's people have a role here, but no name and no address.
"""

from datetime import date, timedelta
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from msgspec.structs import replace

from laari.edge.pages.csv_files import ROWS_AT_ONCE, csv_lines, file_reply, guarded
from laari.edge.pages.dashboard.journal_words import action_words, reason_words, shown_changes
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import PageRequest, shown
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules.calendar import local_day, start_of
from laari.rules.calendar import show as show_time
from laari.rules.day_ranges import read_day
from laari.rules.journal import changes, for_merchant
from laari.rules.records.journal import JournalEntry
from laari.rules.refusals import Refusal, invalid
from laari.store.counters import failed_logins
from laari.store.reads import journal
from laari.store.reads.journal import Filter, JournalPage, JournalPlace

PAGE = 40  # entries: more would be a page of over 60 KB
MOST_READ = 10_000  # entries that a filter looks at before it shows the page
FAILED_DAYS = 10  # newest days with failed log-ins
LONGEST = 300  # characters of a filter
COLUMNS = [
    "time",
    "actor",
    "kind",
    "role",
    "address",
    "action",
    "object_type",
    "object",
    "mode",
    "changes",
    "reason",
]
_LISTING = "journal"


class Asked(NamedTuple):
    written: dict[str, str]  # the filters of the form that are set
    wanted: Filter


def _read(request: DashboardRequest) -> Asked | Refusal:
    asked = read_filters(request, ("actor",))
    if isinstance(asked, Refusal):
        return asked
    wanted = replace(
        asked.wanted,
        merchant_id=request.merchant.id,
        mode=request.tenant.mode,
        actor_for_merchant=asked.written.get("actor"),
    )
    return asked._replace(wanted=wanted)


def read_filters(request: PageRequest, others: tuple[str, ...]) -> Asked | Refusal:
    """The filters in the address, with these `others`; days are real days in Maldives time."""
    names = (*others, "action", "object", "first", "last")
    given = {name: request.query.get(name, "").strip()[:LONGEST] for name in names}
    written = {name: value for name, value in given.items() if value}
    days: dict[str, date] = {}
    for name in ("first", "last"):
        if name in written:
            day = read_day(written[name])
            if day is None:
                return invalid(name, "Write a day as in 2026-11-17.")
            days[name] = day
    first, last = days.get("first"), days.get("last")
    wanted = Filter(
        action=written.get("action"),
        object_id=written.get("object"),
        since=None if first is None else start_of(first),
        before=None if last is None else start_of(last + timedelta(days=1)),
    )
    return Asked(written, wanted)


@long
async def show(request: DashboardRequest) -> Reply:
    asked = _read(request)
    if isinstance(asked, Refusal):
        return _refused(request, asked)
    place = request.backend.cursors.read(
        _LISTING, request.tenant.id, request.query.get("after", "")
    )
    after = None if place is None else JournalPlace(place[0], place[1].int)
    ask, merchant_id = request.backend.ask, request.merchant.id
    found = await ask(journal.find, asked.wanted, PAGE, after, most_read=MOST_READ)
    older = None
    if found.next is not None:
        cursor = request.backend.cursors.make(
            _LISTING, request.tenant.id, found.next.time, UUID(int=found.next.id)
        )
        older = urlencode({**asked.written, "after": cursor})
    return await request.long_page(
        "journal.html",
        written={**asked.written, **({} if after is None else {"after": ""})},
        rows=[
            (for_merchant(entry), shown_changes(changes(entry.before, entry.after)))
            for entry in found.rows
        ],
        action_words=action_words,
        reason_words=reason_words,
        older=older,
        is_full=len(found.rows) == PAGE,
        export=urlencode(asked.written),
        actors=await ask(journal.names, merchant_id, "actor"),
        actions=await ask(journal.names, merchant_id, "action"),
        failed=await ask(failed_logins.of_merchant, merchant_id, FAILED_DAYS),
    )


def _refused(request: DashboardRequest, problem: Refusal) -> Reply:
    request.problem = shown(problem)
    return request.page(
        "journal.html",
        written=request.query,
        rows=[],
        actors=[],
        actions={},
        failed=[],
    )


async def export(request: DashboardRequest) -> Reply:
    asked = _read(request)
    if isinstance(asked, Refusal):
        return _refused(request, asked)

    async def find(after: JournalPlace | None) -> JournalPage:
        return await request.backend.ask(
            journal.find, asked.wanted, ROWS_AT_ONCE, after, most_read=MOST_READ
        )

    name = f"journal-{request.tenant.mode}-{local_day(request.now)}.csv"
    return file_reply(request, name, csv_lines(request, COLUMNS, find, _length, _cells))


def _length(entry: JournalEntry) -> int:
    return len(entry.before or "") + len(entry.after or "")


def _cells(entry: JournalEntry) -> dict[str, str]:
    entry = for_merchant(entry)
    changed = "; ".join(
        f"{each.name}: {each.before or '-'} → {each.after or '-'}"
        for each in changes(entry.before, entry.after)
    )
    cells = (
        show_time(entry.time),
        entry.actor_name,
        entry.actor_kind,
        entry.actor_role,
        entry.address,
        entry.action,
        entry.object_type,
        entry.object_id,
        entry.mode,
        changed,
        entry.reason,
    )
    return {name: guarded(cell or "") for name, cell in zip(COLUMNS, cells, strict=True)}


ROUTES = [
    PageRoute(DashboardRequest, "/journal", get=show, needs="journal.read"),
    PageRoute(DashboardRequest, "/journal.csv", get=export, hands_out=True, needs="exports.read"),
]
