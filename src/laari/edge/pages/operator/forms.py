"""The form of an operation on a page of the desk."""

from collections.abc import Awaitable, Callable

from laari.edge.pages.operator.request import OperatorRequest, S, Subject
from laari.edge.pages.request import FormProblem, RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.operations.fields import Field, FieldError
from laari.operations.operation import AnyOperation, Operation


def form(
    page: Subject[S], path: str, declared: Operation[S], address: Callable[[S], str]
) -> PageRoute[OperatorRequest]:
    """Runs the operation for the subject of a page, and shows the page again."""

    async def run(request: OperatorRequest, subject: S) -> Reply:
        given = {field.name: _read(field, request) for field in declared.fields}
        done = await request.move(declared.command(request.actor, subject, **given), declared.name)
        return request.redirect(address(subject), done=done)

    return page.form(path, run, needs=declared.needs, operation=declared.name)


def plain_form(
    path: str,
    declared: AnyOperation,
    page: Callable[[OperatorRequest], Awaitable[Reply]],
    address: str,
) -> PageRoute[OperatorRequest]:
    """Runs an operation without a subject, and shows its page again."""

    async def run(request: OperatorRequest) -> Reply:
        given = {field.name: _read(field, request) for field in declared.fields}
        done = await request.move(declared.command(request.actor, **given), declared.name)
        return request.redirect(address, done=done)

    return PageRoute(
        OperatorRequest,
        path,
        post=run,
        page=page,
        needs=declared.needs,
        operation=declared.name,
    )


def _read(field: Field, request: OperatorRequest) -> object:
    try:
        return field.read(request.form.get(field.name), on_page=True)
    except FieldError as error:
        label = field.name.replace("_", " ")
        raise RefusedForm(FormProblem(422, f"The {label} {error}")) from None
