"""The link in the notice of a changed contact: it stops the change, without a log-in."""

from laari.edge.pages.request import Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.request import WalletVisitor
from laari.http.messages import Reply
from laari.store.people import contact_changes

MAX_TOKEN = 100


async def show(request: WalletVisitor) -> Reply:
    token = request.params["token"][:MAX_TOKEN]
    change = await request.backend.ask(contact_changes.by_link, token)
    if change is None:
        return _gone(request)
    return request.page("contact.html", change=change, name=contact_changes.NAMES[change.contact])


async def stop(request: WalletVisitor) -> Reply | Problem:
    token = request.params["token"][:MAX_TOKEN]
    if not await request.backend.write(contact_changes.stop, token, request.http.client):
        return _gone(request)
    return request.page("contact_stopped.html", contact=request.backend.settings.support_contact)


def _gone(request: WalletVisitor) -> Reply:
    support = request.backend.settings.support_contact
    return request.page("contact_gone.html", 410, contact=support)


ROUTES: Routes = [PageRoute(WalletVisitor, "/contact/{token}", get=show, post=stop)]
