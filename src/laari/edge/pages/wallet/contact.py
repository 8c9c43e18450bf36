"""The link in the notice of a changed contact: it stops the change, without a log-in."""

from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.request import WalletVisitor
from laari.http.messages import Reply
from laari.rules.people.contact_changes import STOP_LINK, StopContactChange
from laari.rules.records.people import ContactChange
from laari.rules.refusals import Refusal
from laari.store.reads import contact_changes
from laari.store.secrets import derive

MAX_TOKEN = 100


def _digest(request: WalletVisitor) -> bytes:
    token = request.params["token"][:MAX_TOKEN]
    return derive(request.backend.master_key, STOP_LINK, token)


async def _find(request: WalletVisitor) -> ContactChange | None:
    return await request.backend.ask(contact_changes.by_stop_digest, _digest(request))


async def show(request: WalletVisitor) -> Reply:
    change = await _find(request)
    if change is None:
        return _gone(request)
    return request.page("contact.html", change=change)


async def stop(request: WalletVisitor) -> Reply:
    change = await _find(request)
    if change is None:
        return _gone(request)
    command = StopContactChange(
        change.customer_id, change.id, _digest(request), request.http.client
    )
    outcome = await request.backend.spine.submit(command)
    if isinstance(outcome, Refusal):
        if outcome.code == "not_found":
            return _gone(request)
        raise RefusedForm.of(outcome)
    return request.page("contact_stopped.html", contact=request.backend.settings.support_contact)


def _gone(request: WalletVisitor) -> Reply:
    support = request.backend.settings.support_contact
    return request.page("contact_gone.html", 410, contact=support)


ROUTES: Routes = [PageRoute(WalletVisitor, "/contact/{token}", get=show, post=stop)]
