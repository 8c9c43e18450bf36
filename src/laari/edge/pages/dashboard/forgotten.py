"""A forgotten password of one of a merchant's or the operator's people."""

from laari.edge.pages import forgotten
from laari.edge.pages.dashboard.request import FORGOTTEN, DashboardVisitor
from laari.edge.pages.login import person_named
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply


async def show(request: DashboardVisitor) -> Reply:
    can_send = "email" in request.backend.settings.channels
    contact = request.backend.settings.support_contact
    return request.page("forgotten.html", can_send=can_send, contact=contact)


async def ask(request: DashboardVisitor) -> Reply:
    if "email" not in request.backend.settings.channels:
        return await show(request)
    await forgotten.ask(request, person_named(request))
    return request.page("forgotten_sent.html")


async def show_new(request: DashboardVisitor) -> Reply:
    if await forgotten.whose_link(request, of_customer=False) is None:
        return forgotten.no_link(request)
    return request.page("new_password.html")


async def set_new(request: DashboardVisitor) -> Reply:
    is_set = await forgotten.set_password(request, of_customer=False)
    return request.go(f"{request.login}?done=password") if is_set else forgotten.no_link(request)


ROUTES: Routes = [
    PageRoute(DashboardVisitor, FORGOTTEN.removeprefix("/dashboard"), get=show, post=ask, own=True),
    PageRoute(DashboardVisitor, "/forgotten/{token}", get=show_new, post=set_new, own=True),
]
