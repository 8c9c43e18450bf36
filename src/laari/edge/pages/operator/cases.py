"""Cases of customers: those that wait for an answer, and each with its line."""

from laari.edge.pages.operator.forms import form
from laari.edge.pages.operator.request import OperatorRequest, Subject
from laari.edge.pages.person import long
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.cases import ANSWER
from laari.rules import ids
from laari.store.reads.people import cases
from laari.store.reads.people.cases import Reported

MOST_OPEN = 200
MOST_ANSWERED = 50


@long
async def show_all(request: OperatorRequest) -> Reply:
    return await request.long_page(
        "cases.html",
        waiting=await request.backend.ask(cases.open_ones, MOST_OPEN),
        answered=await request.backend.ask(cases.answered, MOST_ANSWERED),
    )


async def _find(request: OperatorRequest) -> Reported | None:
    case_id = ids.read_id(ids.CASE, request.params["case_id"])
    return None if case_id is None else await request.backend.ask(cases.by_id, case_id)


async def show(request: OperatorRequest, found: Reported) -> Reply:
    return request.page("case.html", case=found.case, line=found.line, name=found.name)


CASE = Subject("/cases/{case_id}", _find, show)


def _page_of(found: Reported) -> str:
    return f"/cases/{ids.show_id(ids.CASE, found.case.id)}"


ROUTES: Routes = [
    PageRoute(OperatorRequest, "/cases", get=show_all, needs="customers.read"),
    PageRoute(OperatorRequest, "/cases/{case_id}", get=CASE.show, needs="customers.read"),
    form(CASE, "/answer", ANSWER, _page_of),
]
