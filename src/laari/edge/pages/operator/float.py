"""The bank account by day: the books, the bank's closing balance, the sign-off, and the fees."""

from datetime import date, timedelta

from laari.edge.pages.operator.forms import plain_form
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.routes import Routes
from laari.http.messages import Reply
from laari.operations.bank import SIGN
from laari.operations.merchant_money import SWEEP
from laari.rules.banking.bank_days import has_ended
from laari.rules.calendar import local_day
from laari.rules.day_ranges import read_day
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
        moved=await request.movements_made(),
        ended=has_ended(day, request.now),
        before=day - timedelta(days=1),
        after=day + timedelta(days=1),
    )


def _back(request: OperatorRequest, subject: None) -> str:
    return f"/float?day={_day(request)}"


ROUTES: Routes = [
    plain_form("/float", SIGN, show, _back, reads="statements.read"),
    plain_form("/float/sweep", SWEEP, show, _back),
]
