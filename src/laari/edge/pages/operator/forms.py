"""The form of an operation on a page of the desk."""

from collections.abc import Awaitable, Callable, Mapping

from laari.edge.pages.operator.request import OperatorRequest, S, Subject
from laari.edge.pages.person import fields_of
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.operations.operation import AnyOperation, Operation, waits
from laari.rules.people.permissions import Permission

ASKED = "asked"  # the name of what to say about a movement that waits


def form(
    page: Subject[S], path: str, declared: Operation[S], address: Callable[[S], str]
) -> PageRoute[OperatorRequest]:
    """Runs the operation for the subject of a page, and shows the page again."""

    async def run(request: OperatorRequest, subject: S) -> Reply:
        done = await perform(request, declared, subject)
        return request.back_to(address(subject), done)

    return page.form(path, run, needs=declared.needs, runs={declared.name: {}})


def plain_form(
    path: str,
    declared: AnyOperation,
    page: Callable[[OperatorRequest], Awaitable[Reply]],
    back: Callable[..., str],
    reads: Permission | None = None,
) -> PageRoute[OperatorRequest]:
    """Runs an operation whose subject, if it has one, is named by the form or its address.

    With `reads`, the page is at this address, for people with that permission.
    """
    return chosen_form(path, {"": declared}, page, back, reads)


def chosen_form(
    path: str,
    declared: Mapping[str, AnyOperation],
    page: Callable[[OperatorRequest], Awaitable[Reply]],
    back: Callable[..., str],
    reads: Permission | None = None,
) -> PageRoute[OperatorRequest]:
    """The same for a form whose field `kind` chooses the operation."""

    async def run(request: OperatorRequest) -> Reply:
        one = chosen(request, declared)
        subject = await named_subject(request, one)
        done = await perform(request, one, subject)
        return request.back_to(back(request, subject), done)

    (needs,) = {each.needs for each in declared.values()}
    runs = {each.name: {"kind": kind} if kind else {} for kind, each in declared.items()}
    return PageRoute(
        OperatorRequest,
        path,
        get=None if reads is None else page,
        post=run,
        page=page,
        needs=reads or needs,
        to_change=needs,
        runs=runs,
    )


def chosen(request: OperatorRequest, declared: Mapping[str, AnyOperation]) -> AnyOperation:
    """The operation that the form asks for; a value that only another one has is refused."""
    found = declared.get(request.form.get("kind", "") if "" not in declared else "")
    if found is None:
        raise RefusedForm(422, "Choose what to do.")
    own = {field.name for field in found.fields}
    for other in declared.values():
        for field in other.fields:
            if field.name not in own and request.form.get(field.name):
                raise RefusedForm(422, f"This action has no {field.words}.")
    return found


async def named_subject(request: OperatorRequest, declared: AnyOperation) -> object:
    """The subject that the form or its address names."""
    if declared.subject is None:
        return None
    given = fields_of(declared.subject.fields, request.form | request.params)
    found = await declared.subject.look_up(request.backend.ask, given)
    if isinstance(found, str):
        raise RefusedForm(404, f"{found[:1].upper()}{found[1:]}.")
    return found


async def perform(
    request: OperatorRequest, declared: AnyOperation, subject: object, **more: str
) -> str:
    """Runs the operation with the values of the form, and returns the name of what to say.

    `more` are texts that the form writes in another way.
    """
    result = await request.act(declared, subject, request.values(declared, **more))
    results = result if isinstance(result, list) else [result]
    if any(waits(each) for each in results):
        return ASKED
    return declared.text_after(result)
