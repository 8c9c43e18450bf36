"""The form of a declared operation on a page of the dashboard: its subject is the merchant."""

from collections.abc import Awaitable, Callable

from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.operations.operation import AnyOperation


def form(
    path: str,
    declared: AnyOperation,
    page: Callable[[DashboardRequest], Awaitable[Reply]],
    address: str,
) -> PageRoute[DashboardRequest]:
    """Runs the operation for the merchant of the page, and shows the page again."""

    async def run(request: DashboardRequest) -> Reply:
        given = request.values(declared)
        await request.confirm()
        await request.act(declared, request.merchant, given)
        return request.redirect(address, done=declared.name)

    return PageRoute(
        DashboardRequest,
        path,
        post=run,
        page=page,
        needs=declared.needs,
        runs={declared.name: {}},
    )
