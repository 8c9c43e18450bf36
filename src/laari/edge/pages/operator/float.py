"""The bank account by day: the books, the bank's closing balance, the sign-off, and the fees."""

from datetime import date, timedelta

from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import FormProblem, Problem, read_count
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules.banking.bank_days import cut_off_of
from laari.rules.banking.bank_lines import SignFloat
from laari.rules.banking.merchant_money import SweepFees
from laari.rules.calendar import local_day
from laari.rules.money import MAX_MONEY, read_rufiyaa
from laari.store.reads.money import bank as reads

MAX_NOTE = 500


def _day(request: OperatorRequest) -> date:
    """The day of the form or the query; yesterday without a possible one."""
    try:
        day = date.fromisoformat(request.form.get("day", request.query.get("day", "")))
        cut_off_of(day - timedelta(days=1)), cut_off_of(day + timedelta(days=1))
    except (ValueError, OverflowError):
        return local_day(request.now) - timedelta(days=1)
    return day


async def show(request: OperatorRequest) -> Reply:
    day = _day(request)
    return request.page(
        "float.html",
        found=await request.backend.ask(reads.float_of, day),
        fees=(await request.backend.ask(reads.earned_fees, ["live"]))["live"],
        ended=cut_off_of(day) <= request.now,
        before=day - timedelta(days=1),
        after=day + timedelta(days=1),
    )


async def _sign(request: OperatorRequest) -> Reply | Problem:
    """Signs a day off. The same words of the same person again change nothing."""
    day = _day(request)
    if str(day) != request.form.get("day"):
        return FormProblem(422, "The day must be a date.")
    if cut_off_of(day) > request.now:
        return FormProblem(422, f"{day} has not ended yet.")
    bank_closing = read_rufiyaa(request.form.get("bank_closing", ""))
    if bank_closing is None or abs(bank_closing) > MAX_MONEY:
        return FormProblem(422, "The bank's closing balance must be in rufiyaa, such as 125.50.")
    note = request.form.get("note", "").strip() or None
    if note is not None and (len(note) > MAX_NOTE or not note.isprintable()):
        return FormProblem(422, f"The note has at most {MAX_NOTE} printable characters.")
    await request.confirm()
    found = await request.backend.ask(reads.float_of, day)
    last, actor = found.signed, request.actor
    if last is None or (
        (last.closing, last.bank_closing, last.note, last.actor_kind, last.actor_name)
        != (found.closing, bank_closing, note, actor.kind, actor.name)
    ):
        await request.submit(SignFloat(actor, day, found.closing, bank_closing, note))
    return request.redirect("/float", day=str(day), done="signed")


async def _sweep(request: OperatorRequest) -> Reply | Problem:
    amount = read_rufiyaa(request.form.get("amount", ""))
    if amount is None or amount <= 0:
        return FormProblem(422, "The amount must be in rufiyaa, such as 125.50.")
    await request.confirm()
    last = read_count(request.form.get("last", ""))
    await request.submit(SweepFees(request.actor, "live", amount, last))
    return request.redirect("/float", day=str(_day(request)), done="swept")


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
