"""The bank's statement: import, and money that no line explains."""

from typing import cast, get_args

from laari.edge.pages.operator.forms import plain_form
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import FormProblem, Problem, RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations import bank as operations
from laari.rules.banking.bank_matches import MatchLine
from laari.rules.banking.bank_statement import MAX_BYTES, MAX_REFERENCE, StatementError
from laari.rules.banking.second_person import is_same_person
from laari.rules.calendar import local_day
from laari.rules.records import BankMovementKind, PendingMovement
from laari.rules.refusals import Refusal
from laari.rules.world import MovementKey
from laari.store import bank_statements
from laari.store.reads.money import bank as reads
from laari.store.reads.money import movement_lists

MOST_LISTED = 100
MOST_OPEN = 500
MOST_SHOWN = 1_000  # lines of a statement


@long
async def show(request: OperatorRequest) -> Reply:
    waiting = await request.backend.ask(reads.lines, MOST_OPEN, only_open=True)
    unexplained = [line for line in waiting if line.use == "none"]
    return await request.long_page(
        "bank.html",
        receipts=[line for line in waiting if line.use == "receipt"],
        unexplained=unexplained,
        movements=await request.backend.ask(
            reads.unmatched, {-each.amount for each in unexplained}
        ),
        lines=await request.backend.ask(reads.lines, MOST_LISTED, only_open=False),
    )


def _unreadable(error: StatementError) -> FormProblem:
    text = str(error)
    return FormProblem(422, f"{text[:1].upper()}{text[1:]}.")


async def _kept(request: OperatorRequest) -> str:
    """The digest of the statement in the form, which is kept as it is."""
    file = request.files.get("file")
    content = request.form.get("statement", "").encode() if file is None else file.content
    try:
        await bank_statements.read(content, local_day(request.now))
    except StatementError as error:
        raise RefusedForm(_unreadable(error)) from None
    digest = await bank_statements.digest_of(content)
    await request.backend.write(bank_statements.keep, digest, content, request.now)
    return digest


async def _upload(request: OperatorRequest) -> Reply:
    return request.redirect(f"/bank/statements/{await _kept(request)}")


@long
async def show_statement(request: OperatorRequest) -> Reply:
    ask, digest = request.backend.ask, request.params["digest"]
    content = await ask(bank_statements.content_of, digest)
    if content is None:
        return request.missing()
    try:
        found = await bank_statements.check(ask, content, local_day(request.now))
    except StatementError as error:  # such as a day that is too long ago now
        request.problem = _unreadable(error)
        return await show(request)
    asked = await ask(movement_lists.import_of, digest)
    return await request.long_page(
        "bank_preview.html",
        digest=digest,
        totals=found.totals,
        gaps_found=found.gaps,
        lines=found.lines[:MOST_SHOWN],
        conflicts=found.conflicts[:MOST_SHOWN],
        asked=asked,
        is_own=asked is not None and is_same_person(asked.requested_by, request.actor),
    )


async def _book(request: OperatorRequest) -> Reply | Problem:
    digest = request.form.get("digest") or await _kept(request)
    await request.confirm()
    return await book(request, digest)


async def book(request: OperatorRequest, digest: str) -> Reply | Problem:
    """Books a statement that was kept, or asks a second person for it."""
    ask, submit, today = (
        request.backend.ask,
        request.backend.spine.submit,
        local_day(request.now),
    )
    try:
        outcome = await bank_statements.book(ask, submit, request.actor, digest, today)
    except StatementError as error:
        return _unreadable(error)
    if isinstance(outcome, Refusal):
        return FormProblem(outcome.status, outcome.message)
    if isinstance(outcome, PendingMovement):
        return request.redirect(f"/bank/statements/{digest}", done="import_asked")
    return request.redirect("/bank", done="imported")


def _reference(request: OperatorRequest) -> str:
    reference = request.form.get("reference", "")
    if not 1 <= len(reference) <= MAX_REFERENCE:
        raise RefusedForm(FormProblem(422, "Choose a line."))
    return reference


async def _match(request: OperatorRequest) -> Reply | Problem:
    kind, _, name = request.form.get("movement", "").partition(" ")
    if kind not in get_args(BankMovementKind) or not 1 <= len(name) <= MAX_REFERENCE:
        return FormProblem(422, "Choose the movement that the line shows.")
    movement: MovementKey = (cast("BankMovementKind", kind), name)
    await request.submit(MatchLine(request.actor, _reference(request), movement))
    return request.redirect("/bank", done="matched")


ROUTES: Routes = [
    PageRoute(
        OperatorRequest,
        "/bank",
        get=show,
        post=_upload,
        needs="bank.import",
        upload=MAX_BYTES,
    ),
    PageRoute(
        OperatorRequest, "/bank/statements/{digest}", get=show_statement, needs="bank.import"
    ),
    PageRoute(
        OperatorRequest, "/bank/book", post=_book, page=show, needs="bank.import", upload=MAX_BYTES
    ),
    plain_form("/bank/assign", operations.ASSIGN, show, "/bank"),
    plain_form("/bank/return", operations.SEND_BACK, show, "/bank"),
    plain_form("/bank/charge", operations.CHARGE, show, "/bank"),
    PageRoute(OperatorRequest, "/bank/match", post=_match, page=show, needs="bank.import"),
    plain_form("/bank/unmatch", operations.UNMATCH, show, "/bank"),
]
