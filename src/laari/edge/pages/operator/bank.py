"""The bank's statement: import, and money that no line explains."""

from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import FormProblem, Problem, RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules.banking.bank_lines import (
    Expected,
    HandleLine,
    ImportLine,
    MatchLine,
)
from laari.rules.banking.bank_statement import (
    MAX_REFERENCE,
    StatementError,
    read_statement,
)
from laari.rules.world import MovementKey
from laari.store.reads.money import bank as reads

MOST_LISTED = 100
MOST_OPEN = 500
LONGEST = 400 * 1024  # bytes of the form; a longer statement takes the command line


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


async def _read(request: OperatorRequest) -> list[Expected]:
    try:
        lines = read_statement(request.form.get("statement", "").encode())
    except StatementError as error:
        text = str(error)
        raise RefusedForm(FormProblem(422, f"{text[:1].upper()}{text[1:]}.")) from None
    return await request.backend.ask(reads.expectations, lines)


async def _dry_run(request: OperatorRequest) -> Reply:
    found = await _read(request)
    return await request.long_page(
        "bank_preview.html",
        lines=found,
        new=sum(not each.repeated for each in found),
        conflicts=sum(each.conflict is not None for each in found),
        statement=request.form["statement"],
    )


async def _book(request: OperatorRequest) -> Reply | Problem:
    """Books one line after the other. Each counts once, so the form may be sent again.

    A file with a line that is known to conflict is refused before anything is booked.
    """
    found = await _read(request)
    for each in found:
        if each.conflict is not None:
            message = f"Line {each.line.number}: {each.conflict} Nothing was booked."
            return FormProblem(409, message)
    await request.confirm()
    for each in found:
        try:
            await request.submit(ImportLine(request.actor, each.line, each.target))
        except RefusedForm as refused:
            message = f"Line {each.line.number}: {refused.problem.message}"
            return refused.problem._replace(message=message)
    return request.redirect("/bank", done="imported")


def _reference(request: OperatorRequest) -> str:
    reference = request.form.get("reference", "")
    if not 1 <= len(reference) <= MAX_REFERENCE:
        raise RefusedForm(FormProblem(422, "Choose a line."))
    return reference


async def _assign(request: OperatorRequest) -> Reply | Problem:
    reference, account = _reference(request), request.form.get("account", "").strip()
    if not (account.isascii() and account.isdigit() and len(account) <= 18):
        return FormProblem(422, "The account number has only digits.")
    return await _handle(request, HandleLine(request.actor, reference, int(account)), "assigned")


async def _return(request: OperatorRequest) -> Reply:
    command = HandleLine(request.actor, _reference(request))
    return await _handle(request, command, "sent_back")


async def _charge(request: OperatorRequest) -> Reply:
    command = HandleLine(request.actor, _reference(request), charge=True)
    return await _handle(request, command, "charged")


async def _match(request: OperatorRequest) -> Reply | Problem:
    kind, _, name = request.form.get("movement", "").partition(" ")
    if kind not in ("sent_back", "sweep") or not 1 <= len(name) <= MAX_REFERENCE:
        return FormProblem(422, "Choose the movement that the line shows.")
    movement: MovementKey = ("sweep" if kind == "sweep" else "sent_back", name)
    command = MatchLine(request.actor, _reference(request), movement)
    return await _handle(request, command, "matched")


async def _handle(request: OperatorRequest, command: HandleLine | MatchLine, done: str) -> Reply:
    await request.confirm()
    await request.submit(command)
    return request.redirect("/bank", done=done)


ROUTES: Routes = [
    PageRoute(
        OperatorRequest, "/bank", get=show, post=_dry_run, needs="bank.import", longest=LONGEST
    ),
    PageRoute(
        OperatorRequest, "/bank/book", post=_book, page=show, needs="bank.import", longest=LONGEST
    ),
    PageRoute(OperatorRequest, "/bank/assign", post=_assign, page=show, needs="bank.import"),
    PageRoute(OperatorRequest, "/bank/return", post=_return, page=show, needs="bank.import"),
    PageRoute(OperatorRequest, "/bank/charge", post=_charge, page=show, needs="bank.import"),
    PageRoute(OperatorRequest, "/bank/match", post=_match, page=show, needs="bank.import"),
]
