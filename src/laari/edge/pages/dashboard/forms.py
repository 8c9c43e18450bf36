"""The form of a declared operation on a page of the dashboard: its subject is the merchant."""

from collections.abc import Awaitable, Callable

from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.request import FormProblem, RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.operations.fields import FieldError, read_form
from laari.operations.operation import AnyOperation, Context
from laari.rules.refusals import Refusal


def form(
    path: str,
    declared: AnyOperation,
    page: Callable[[DashboardRequest], Awaitable[Reply]],
    address: str,
) -> PageRoute[DashboardRequest]:
    """Runs the operation for the merchant of the page, and shows the page again."""

    async def run(request: DashboardRequest) -> Reply:
        try:
            given = read_form(declared.fields, request.form)
        except FieldError as error:
            raise RefusedForm(FormProblem(422, str(error))) from None
        await request.confirm()
        backend = request.backend
        context = Context(
            request.actor, backend.ask, backend.spine.submit, backend.settings, request.now
        )
        result = await declared.act(context, request.merchant, given)
        if isinstance(result, Refusal):
            raise RefusedForm(FormProblem(result.status, result.message))
        return request.redirect(address, done=declared.name)

    return PageRoute(DashboardRequest, path, post=run, page=page, needs=declared.needs)
