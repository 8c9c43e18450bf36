"""The form of a declared operation on a page of the dashboard: its subject is the merchant."""

from collections.abc import Awaitable, Callable

from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.operations.operation import AnyOperation
from laari.rules.people.permissions import Permission


def form(
    path: str,
    declared: AnyOperation,
    page: Callable[[DashboardRequest], Awaitable[Reply]],
    address: str,
    reads: Permission | None = None,
    *,
    confirms: bool = True,
) -> PageRoute[DashboardRequest]:
    """Runs the operation for the merchant of the page, and shows the page again.

    With `reads`, the page is at this address, for people with that permission. It `confirms` with
    the password, unless the action is harmless.
    """

    async def run(request: DashboardRequest) -> Reply:
        given = request.values(declared)
        if confirms:
            await request.confirm()
        await request.act(declared, request.merchant, given)
        return request.redirect(address, done=declared.name)

    return PageRoute(
        DashboardRequest,
        path,
        get=None if reads is None else page,
        post=run,
        page=page,
        needs=reads or declared.needs,
        to_change=declared.needs,
        runs={declared.name: {}},
    )
