"""The bank's statement: import, and money that no line explains."""

from laari.edge.pages.operator.forms import ASKED, perform, plain_form
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import FormProblem, RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.bank import (
    ASSIGN,
    CHARGE,
    IMPORT,
    MATCH,
    SEND_BACK,
    UNMATCH,
    in_a_sentence,
)
from laari.rules.banking.bank_statement import MAX_BYTES, StatementError
from laari.rules.banking.waiting_movements import not_confirmer
from laari.rules.calendar import local_day
from laari.rules.people.persons import is_same_person
from laari.store import bank_statements
from laari.store.reads import holders
from laari.store.reads.find import customers_named
from laari.store.reads.money import bank as reads
from laari.store.reads.money import movement_lists

MOST_LISTED = 100
MOST_FOUND = 20  # customers for unallocated money
# How a line of the statement names a wallet.
REASONS = {"account": "account number", "mobile": "mobile number", "slip": "slip entered by hand"}
MOST_OPEN = 500
MOST_SHOWN = 1_000  # lines of a statement on one page; others have links


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


async def _kept(request: OperatorRequest) -> str:
    """The digest of the statement in the form, which is kept as it is."""
    file = request.files.get("file")
    content = request.form.get("statement", "").encode() if file is None else file.content
    try:
        await bank_statements.read(content, local_day(request.now))
    except StatementError as error:
        raise RefusedForm(422, in_a_sentence(error)) from None
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
        request.problem = FormProblem(422, in_a_sentence(error))
        return await show(request)
    asked = await ask(movement_lists.import_of, digest)
    first = _first_line(request.query.get("from", ""), len(found.lines))
    shown = found.lines[first : first + MOST_SHOWN]
    named = {each.target.account for each in shown if each.target.account is not None}
    barred = None
    if asked is not None:
        barred = not_confirmer(asked, request.actor, await request.helps(), request.now)
    return await request.long_page(
        "bank_preview.html",
        digest=digest,
        totals=found.totals,
        gaps_found=found.gaps,
        lines=shown,
        first=first,
        others=range(0, len(found.lines), MOST_SHOWN),
        holders=await ask(holders.names_of, named),
        reasons=REASONS,
        conflicts=found.conflicts[:MOST_SHOWN],
        asked=asked,
        is_own=asked is not None and is_same_person(asked.requested_by, request.actor),
        barred=barred,
    )


def _first_line(written: str, lines: int) -> int:
    """The place of the first line of the part with this line, which counts from 1."""
    number = int(written) if written.isascii() and written.isdigit() and len(written) < 9 else 1
    place = max(min(number, lines), 1) - 1
    return place - place % MOST_SHOWN


async def _book(request: OperatorRequest) -> Reply:
    digest = request.form.get("digest") or await _kept(request)
    done = await perform(request, IMPORT, None, digest=digest)
    waits = done == ASKED
    page = f"/bank/statements/{digest}" if waits else "/bank"
    return request.back_to(page, "import_asked" if waits else done)


async def _match(request: OperatorRequest) -> Reply:
    kind, _, name = request.form.get("movement", "").partition(" ")
    if not kind or not name:
        raise RefusedForm(422, "Choose the movement that the line shows.")
    done = await perform(request, MATCH, None, kind=kind, name=name)
    return request.back_to("/bank", done)


def _back(request: OperatorRequest, subject: None) -> str:
    return "/bank"


@long
async def show_assign(request: OperatorRequest) -> Reply:
    """Finds the wallet for a receipt by name, mobile number or account, and shows whose it is."""
    source = request.form or request.query
    reference, sought = source.get("reference", ""), source.get("q", "").strip()
    line = (await request.backend.ask(reads.by_reference, [reference])).get(reference)
    if line is None or line.use != "receipt":
        return request.missing() if request.problem is None else await show(request)
    found = None
    if sought:
        async with request.searching():
            found = await request.backend.ask(customers_named, sought, MOST_FOUND)
    return await request.long_page("bank_assign.html", line=line, sought=sought, found=found)


ROUTES: Routes = [
    PageRoute(OperatorRequest, "/bank/find", get=show_assign, needs="bank.import"),
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
        OperatorRequest,
        "/bank/book",
        post=_book,
        page=show,
        needs=IMPORT.needs,
        upload=MAX_BYTES,
        runs={IMPORT.name: {}},
    ),
    plain_form("/bank/assign", ASSIGN, show_assign, _back),
    plain_form("/bank/return", SEND_BACK, show, _back),
    plain_form("/bank/charge", CHARGE, show, _back),
    PageRoute(
        OperatorRequest,
        "/bank/match",
        post=_match,
        page=show,
        needs=MATCH.needs,
        runs={MATCH.name: {}},
    ),
    plain_form("/bank/unmatch", UNMATCH, show, _back),
]
