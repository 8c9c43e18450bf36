"""The closing of a till at its own counter; the dashboard closes any till."""

from typing import TypeVar

from laari.edge.pages.dashboard.money.closings import close_till, closer, shown_id
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.tills.counter import CashierRequest, CounterRequest, DeviceRequest
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.limits.texts import MAX_NOTE
from laari.rules.people.permissions import Permission
from laari.rules.records.tills import OpenTill
from laari.rules.refusals import Refusal
from laari.store.reads.money import tills

C = TypeVar("C", bound=CounterRequest)


async def _find_open(request: CounterRequest) -> OpenTill | None:
    found = await request.backend.ask(tills.show_open, request.tenant.id, request.label)
    return found[0] if found else None


async def ask_close(request: CounterRequest) -> Reply:
    return request.page("close.html", till=await _find_open(request), written=request.form)


async def close(request: CounterRequest) -> Reply:
    """A form that is sent twice closes once: both times the reply is the one closing."""
    outcome = await close_till(request, request.tenant, request.label, request.seller)
    if not isinstance(outcome, Refusal):
        return request.go(f"{request.counter}/closings/{shown_id(outcome.closing)}")
    text = request.language.text
    if outcome.field == "note":
        raise RefusedForm(422, text("counter.note_long", most=MAX_NOTE))
    raise RefusedForm(409, text("counter.close_meanwhile"))


async def show(request: CounterRequest) -> Reply:
    id = ids.read_id(ids.TILL_CLOSING, request.params["id"])
    ask, tenant_id = request.backend.ask, request.tenant.id
    found = None if id is None else await ask(tills.closing, tenant_id, id)
    if found is None or found.till != request.label:
        return request.go(request.counter)
    before = await ask(tills.numbered, tenant_id, found.till, found.number - 1)
    return request.page("closing.html", closing=found, closer=closer(found), before=before)


def _routes(
    kind: type[C], closing: Permission | None, reading: Permission | None
) -> list[PageRoute[C]]:
    return [
        PageRoute(kind, "/close", get=ask_close, post=close, needs=closing),
        PageRoute(kind, "/closings/{id}", get=show, needs=reading),
    ]


ROUTES: Routes = [
    *_routes(DeviceRequest, None, None),
    *_routes(CashierRequest, "tills.close", "payments.read"),
]
