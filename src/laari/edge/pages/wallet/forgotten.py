"""A forgotten password of a customer: a link by email, or a code by SMS."""

from laari.edge.pages import forgotten
from laari.edge.pages.login import customer_named
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.request import WalletVisitor
from laari.http.messages import Reply


async def show(request: WalletVisitor) -> Reply:
    settings = request.backend.settings
    return request.page(
        "forgotten.html", can_send=bool(settings.channels), contact=settings.support_contact
    )


async def ask(request: WalletVisitor) -> Reply:
    if not request.backend.settings.channels:
        return await show(request)
    handle = await forgotten.ask(request, customer_named(request, "live"))
    return request.page("forgotten_sent.html", handle=handle)


async def show_code(request: WalletVisitor) -> Reply:
    """Only in reply to a wrong code: the request's secret is in the form."""
    handle = request.form.get("handle")
    if handle is None:
        return request.go("/app/forgotten")
    return request.page("forgotten_sent.html", handle=handle[:100])


async def enter_code(request: WalletVisitor) -> Reply:
    return request.go(request.with_next(f"/app/forgotten/{await forgotten.exchange(request)}"))


async def show_new(request: WalletVisitor) -> Reply:
    if await forgotten.whose_link(request, of_customer=True) is None:
        return forgotten.no_link(request)
    return request.page("new_password.html")


async def set_new(request: WalletVisitor) -> Reply:
    is_set = await forgotten.set_password(request, of_customer=True)
    if not is_set:
        return forgotten.no_link(request)
    return request.go(request.paying or "/app/login?done=password")


ROUTES: Routes = [
    PageRoute(WalletVisitor, "/forgotten", get=show, post=ask),
    PageRoute(WalletVisitor, "/forgotten-code", get=show_code, post=enter_code),
    PageRoute(WalletVisitor, "/forgotten/{token}", get=show_new, post=set_new),
]
