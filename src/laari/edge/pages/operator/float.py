"""The bank account by day: the books, the bank's closing balance, the sign-off, and the fees."""

from datetime import date, timedelta

from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import FormProblem, Problem, read_count
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules import terms
from laari.rules.banking.bank_days import has_ended
from laari.rules.banking.bank_lines import SignFloat
from laari.rules.banking.merchant_money import SweepFees
from laari.rules.calendar import local_day
from laari.rules.day_ranges import read_day
from laari.rules.money import MAX_MONEY, read_rufiyaa
from laari.store.reads.money import bank as reads
from laari.store.reads.money.float_days import float_of


def _day(request: OperatorRequest) -> date:
    """The day of the form or the query; yesterday without a possible one."""
    day = read_day(request.form.get("day", request.query.get("day", "")))
    return day or local_day(request.now) - timedelta(days=1)


async def show(request: OperatorRequest) -> Reply:
    day = _day(request)
    return request.page(
        "float.html",
        found=await request.backend.ask(float_of, day),
        fees=(await request.backend.ask(reads.earned_fees, ["live"]))["live"],
        ended=has_ended(day, request.now),
        before=day - timedelta(days=1),
        after=day + timedelta(days=1),
    )


async def _sign(request: OperatorRequest) -> Reply | Problem:
    day = _day(request)
    if str(day) != request.form.get("day"):
        return FormProblem(422, "The day must be a date.")
    bank_closing = read_rufiyaa(request.form.get("bank_closing", ""))
    if bank_closing is None or abs(bank_closing) > MAX_MONEY:
        return FormProblem(422, "The bank's closing balance must be in rufiyaa, such as 125.50.")
    note = request.form.get("note", "").strip() or None
    if note is not None and (len(note) > terms.MAX_NOTE or not note.isprintable()):
        return FormProblem(422, f"The note has at most {terms.MAX_NOTE} printable characters.")
    await request.confirm()
    found = await request.backend.ask(float_of, day)
    await request.submit(SignFloat(request.actor, day, found.closing, bank_closing, note))
    return request.redirect("/float", day=str(day), done="signed")


async def _sweep(request: OperatorRequest) -> Reply | Problem:
    amount = read_rufiyaa(request.form.get("amount", ""))
    if amount is None or amount <= 0:
        return FormProblem(422, "The amount must be in rufiyaa, such as 125.50.")
    await request.confirm()
    last = read_count(request.form.get("last", ""))
    done = await request.move(SweepFees(request.actor, "live", amount, last), "swept")
    return request.redirect("/float", day=str(_day(request)), done=done)


ROUTES: Routes = [
    PageRoute(
        OperatorRequest,
        "/float",
        get=show,
        post=_sign,
        needs="statements.read",
        to_change="bank.import",
    ),
    PageRoute(OperatorRequest, "/float/sweep", post=_sweep, page=show, needs="payouts.run"),
]
