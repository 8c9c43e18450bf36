"""Identity data on a customer's page: shown only in the answer to a form with a reason."""

from laari.edge.pages.operator.customers import CUSTOMER, page_of, show_page
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import Routes
from laari.http.messages import Reply
from laari.rules.calendar import local_day
from laari.rules.limits.texts import MAX_REASON
from laari.rules.people.identities import (
    FACTS,
    MAX_NUMBER,
    CompareIdentity,
    EnterIdentity,
    RemoveIdentity,
    ViewIdentity,
    read_identity,
)
from laari.store.reads.holders import Holder


async def _enter(request: OperatorRequest, holder: Holder) -> Reply:
    identity = read_identity(request.form, local_day(request.now))
    if isinstance(identity, str):
        raise RefusedForm(422, identity)
    reason = request.text_of("reason", MAX_REASON)
    await request.submit(EnterIdentity(request.actor, holder.customer_id, identity, reason))
    return request.redirect(page_of(holder), done="identity")


async def _view(request: OperatorRequest, holder: Holder) -> Reply:
    reason = request.text_of("reason", MAX_REASON)
    found = await request.submit(ViewIdentity(request.actor, holder.customer_id, reason))
    return await show_page(request, holder, found)


async def _compare(request: OperatorRequest, holder: Holder) -> Reply:
    """Compares what a caller said, and keeps the result as a note."""
    fact, said = request.form.get("fact", ""), request.text_of("said", MAX_NUMBER)
    if fact not in FACTS:
        raise RefusedForm(422, "Choose the date of birth or the number of the document.")
    command = CompareIdentity(request.actor, holder.customer_id, fact, said)
    fits = await request.submit(command)
    return request.redirect(page_of(holder), done="caller_fits" if fits else "caller_fails")


async def _remove(request: OperatorRequest, holder: Holder) -> Reply:
    reason = request.text_of("reason", MAX_REASON)
    await request.submit(RemoveIdentity(request.actor, holder.customer_id, reason))
    return request.redirect(page_of(holder), done="unidentified")


ROUTES: Routes = [
    CUSTOMER.form("/identity", _enter, needs="identity.change"),
    CUSTOMER.form("/view-identity", _view, needs="identity.read"),
    CUSTOMER.form("/compare-identity", _compare, needs="identity.read"),
    CUSTOMER.form("/remove-identity", _remove, needs="identity.change"),
]
