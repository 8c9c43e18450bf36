"""The journal of the whole service: who changed what, with names."""

from urllib.parse import urlencode
from uuid import UUID

from msgspec.structs import replace

from laari.edge.pages.dashboard.journal import MOST_READ, PAGE, read_filters
from laari.edge.pages.dashboard.journal_words import action_words, reason_words, shown_changes
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import shown
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules.journal import changes
from laari.rules.refusals import Refusal
from laari.store.reads import journal
from laari.store.reads.journal import JournalPlace

_LISTING = "desk journal"
_EVERYONE = 0  # the owner of its cursors


@long
async def show(request: OperatorRequest) -> Reply:
    asked = read_filters(request, ("actor", "merchant"))
    if isinstance(asked, Refusal):
        request.problem = shown(asked)
        return request.page("journal.html", written=request.query, rows=[], older=None)
    cursors, written = request.backend.cursors, asked.written
    place = cursors.read(_LISTING, _EVERYONE, request.query.get("after", ""))
    after = None if place is None else JournalPlace(place[0], place[1].int)
    wanted = replace(asked.wanted, merchant_id=written.get("merchant"), actor=written.get("actor"))
    found = await request.backend.ask(journal.find, wanted, PAGE, after, most_read=MOST_READ)
    older = None
    if found.next is not None:
        cursor = cursors.make(_LISTING, _EVERYONE, found.next.time, UUID(int=found.next.id))
        older = urlencode({**written, "after": cursor})
    return await request.long_page(
        "journal.html",
        written={**written, **({} if after is None else {"after": ""})},
        rows=[(entry, shown_changes(changes(entry.before, entry.after))) for entry in found.rows],
        action_words=action_words,
        reason_words=reason_words,
        older=older,
        kept=urlencode(written),
        is_full=len(found.rows) == PAGE,
    )


ROUTES: Routes = [PageRoute(OperatorRequest, "/journal", get=show, needs="journal.read")]
