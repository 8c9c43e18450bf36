"""The statement of a month, as a page to print and as a file."""

from datetime import date

from laari.edge.pages.csv_files import ROWS_AT_ONCE, csv_lines, file_reply, guarded
from laari.edge.pages.request import FormProblem
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.receipts import words_of
from laari.edge.pages.wallet.request import WalletRequest
from laari.http.messages import Reply
from laari.rules.calendar import MALDIVES, local_day
from laari.rules.day_ranges import Days, month_of, newest_months, read_month
from laari.rules.money import rufiyaa
from laari.rules.records.tenants import local_time
from laari.store.reads import holders
from laari.store.reads.money import wallet_statements
from laari.store.reads.money.wallet_statements import Line, Place

PATH = "/app/statement"
MOST_LINES = 100  # on the page; the file has all
MOST_MONTHS = 120  # that are offered
COLUMNS = ["date", "time", "type", "name", "details", "reference", "amount", "balance"]


def _read(request: WalletRequest, today: date) -> Days | None:
    """This month, if the address names none."""
    month = request.query.get("month", "").strip()
    return read_month(month) if month else month_of(today)


async def show(request: WalletRequest) -> Reply:
    ask, account = request.backend.ask, request.customer.account
    status = await request.backend.wallets.get(account)
    holder = await ask(holders.by_account, account)
    assert status is not None  # a customer has a wallet, and wallets stay
    assert holder is not None
    now = local_time(request.now, status.clock)
    today = local_day(now)
    days = _read(request, today)
    if days is None:
        request.problem = FormProblem(422, request.language.text("statement.no_month"))
        days = month_of(today)
    sums, lines = await ask(wallet_statements.of_days, account, days, MOST_LINES)
    return request.page(
        "statement.html",
        days=days,
        holder=holder,
        sums=sums,
        lines=lines,
        months=_offered(local_day(holder.created_at), today, days.first),
        is_final=days.is_final(now),
        words_of=lambda line: words_of(line, request.language),
    )


def _offered(opened: date, today: date, asked: date) -> list[date]:
    """The first days of the months since the wallet was opened, the newest first."""
    age = (today.year - opened.year) * 12 + today.month - opened.month
    months = newest_months(today, max(1, min(age + 1, MOST_MONTHS)))
    return sorted({*months, asked}, reverse=True)


async def export(request: WalletRequest) -> Reply:
    days = _read(request, local_day(request.now))
    if days is None:
        return await show(request)
    account = request.customer.account

    async def find(after: Place | None) -> tuple[list[Line], Place | None]:
        return await request.backend.ask(wallet_statements.page, account, days, after, ROWS_AT_ONCE)

    lines = csv_lines(request, COLUMNS, find, lambda line: 0, _cells)
    return file_reply(request, f"statement-{account}-{days.first:%Y-%m}.csv", lines)


def _cells(found: Line) -> dict[str, str]:
    line, local = found.line, found.line.time.astimezone(MALDIVES)
    return {
        "date": f"{local:%Y-%m-%d}",
        "time": f"{local:%H:%M:%S}",
        "type": line.type,
        "name": guarded(line.name),
        "details": guarded(line.details),
        "reference": line.tid,
        "amount": rufiyaa(line.amount),
        "balance": rufiyaa(found.balance),
    }


ROUTES: Routes = [
    PageRoute(WalletRequest, "/statement", get=show),
    PageRoute(WalletRequest, "/statement.csv", get=export),
]
