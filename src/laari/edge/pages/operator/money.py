"""Money: top-ups and adjustments, those that wait for a second person, and sales by day."""

from datetime import date, timedelta

from laari.edge.pages.csv_files import BYTE_ORDER_MARK, csv_reply, csv_text, guarded
from laari.edge.pages.operator import bank
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import FormProblem, Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules import ids, terms
from laari.rules.banking.movements import PERMISSIONS, MakeMovement, RefuseMovement
from laari.rules.banking.second_person import is_same_person
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.calendar import local_day
from laari.rules.day_ranges import read_day
from laari.rules.money import read_rufiyaa, rufiyaa
from laari.rules.records import MODES, Mode, PendingMovement, PendingMovementKind
from laari.store.reads import tenants
from laari.store.reads.figures import Figures
from laari.store.reads.money import movement_lists, volume
from laari.store.reads.money.volume import MerchantDay

MOST_LISTED = 500
KINDS: dict[PendingMovementKind, str] = {
    "topup": "top-up",
    "adjustment": "adjustment",
    "release": "release of held money",
    "merchant_adjustment": "correction of a balance",
    "assign": "unallocated money to a wallet",
    "send_back": "unallocated money sent back",
    "charge": "charge of the bank",
    "sweep": "sweep of fees",
    "return": "payout returned by the bank",
    "bank_account": "bank account in another name",
    "import": "bank's statement",
}
MAX_SLIP = 100


@long
async def show(request: OperatorRequest) -> Reply:
    day, mode = _day(request, "day"), _mode(request)
    limit = request.backend.settings.second_operator_above
    return await request.long_page(
        "money.html",
        day=day,
        mode=mode,
        waiting=await request.backend.ask(movement_lists.waiting, MOST_LISTED),
        movements=await request.backend.ask(movement_lists.of_day, day, mode, MOST_LISTED),
        limit=limit,
        kinds=KINDS,
        permissions=PERMISSIONS,
        is_own=lambda movement: is_same_person(movement.requested_by, request.actor),
    )


def _day(request: OperatorRequest, name: str) -> date:
    return read_day(request.query.get(name, "")) or local_day(request.now)


def _mode(request: OperatorRequest) -> Mode:
    return "sandbox" if request.query.get("mode") == MODES[1] else "live"


async def _move(request: OperatorRequest) -> Reply | Problem:
    """Tops a wallet up or corrects it."""
    form = request.form
    kind = "adjustment" if form.get("kind") == "adjustment" else "topup"
    account = form.get("account", "").strip()
    amount = read_rufiyaa(form.get("amount", ""))
    if not (account.isascii() and account.isdigit() and len(account) <= 18):
        return FormProblem(422, "The account number has only digits.")
    if amount is None or amount == 0:
        return FormProblem(422, "The amount must be in rufiyaa, such as 125.50.")
    details = request.text_of("details", terms.MAX_REASON)
    slip = form.get("slip", "").strip() or None
    if slip is not None and (kind != "topup" or len(slip) > MAX_SLIP or not slip.isprintable()):
        return FormProblem(422, f"Only a top-up has a slip, of at most {MAX_SLIP} characters.")
    await request.confirm()
    below_zero = kind == "adjustment" and form.get("below_zero") == "on"
    how = {"slip": slip, "below_zero": below_zero}
    number = int(account)
    tenant = await request.backend.ask(tenants.of_wallet, number)
    moved = await request.submit(
        MoveMoney(request.actor, tenant, number, kind, amount, details, **how)  # type: ignore[arg-type]
    )
    if isinstance(moved, PendingMovement):
        return request.redirect("/money", done="asked")
    return request.redirect("/money", done="repeated" if moved.repeated else "moved")


async def _make(request: OperatorRequest) -> Reply | Problem:
    movement_id = ids.read_id(ids.MOVEMENT, request.params["id"])
    if movement_id is None:
        return request.missing()
    await request.confirm()
    made = await request.submit(MakeMovement(request.actor, movement_id))
    if made.movement.kind == "import":
        assert made.movement.reference is not None  # by a constraint of the table
        return await bank.book(request, made.movement.reference)
    return request.redirect("/money", done="moved")


async def _refuse(request: OperatorRequest) -> Reply:
    movement_id = ids.read_id(ids.MOVEMENT, request.params["id"])
    if movement_id is None:
        return request.missing()
    reason = request.text_of("reason", terms.MAX_REASON)
    await request.submit(RefuseMovement(request.actor, movement_id, reason))
    return request.redirect("/money", done="declined")


async def _volume(request: OperatorRequest) -> tuple[date, date, Mode, list[MerchantDay]]:
    last, mode = _day(request, "last"), _mode(request)
    first = _day(request, "first") if "first" in request.query else last - timedelta(days=6)
    first = max(min(first, last), last - timedelta(days=volume.MOST_DAYS - 1))
    return first, last, mode, await request.backend.ask(volume.by_day, mode, first, last)


@long
async def show_volume(request: OperatorRequest) -> Reply:
    first, last, mode, rows = await _volume(request)
    if len(rows) > volume.MOST:
        request.problem = FormProblem(422, "These days have too many rows. Choose fewer days.")
        rows = []
    return await request.long_page(
        "volume.html", first=first, last=last, mode=mode, rows=rows, total=volume.total(rows)
    )


async def export_volume(request: OperatorRequest) -> Reply:
    first, last, mode, rows = await _volume(request)
    if len(rows) > volume.MOST:
        return await show_volume(request)
    return csv_reply(f"laari-{mode}-{first}-{last}.csv", volume_csv(mode, rows))


def volume_csv(mode: Mode, rows: list[MerchantDay]) -> bytes:
    lines = [["day", "mode", "merchant_id", "merchant", *Figures._fields, "net"]]
    for row in rows:
        sums = row.figures
        lines.append(
            [
                *(str(row.day), mode, row.merchant_id, guarded(row.merchant_name)),
                *(str(sums.payments), rufiyaa(sums.gross), rufiyaa(sums.fees), str(sums.refunds)),
                *(rufiyaa(sums.refunded), rufiyaa(sums.net)),
            ]
        )
    return (BYTE_ORDER_MARK + csv_text(lines)).encode()


ROUTES: Routes = [
    PageRoute(
        OperatorRequest,
        "/money",
        get=show,
        post=_move,
        needs="wallets.read",
        to_change="wallets.move",
    ),
    PageRoute(
        OperatorRequest, "/money/movements/{id}/make", post=_make, page=show, needs="wallets.move"
    ),
    PageRoute(
        OperatorRequest,
        "/money/movements/{id}/refuse",
        post=_refuse,
        page=show,
        needs="wallets.move",
    ),
    PageRoute(OperatorRequest, "/money/volume", get=show_volume, needs="money.read"),
    PageRoute(OperatorRequest, "/money/volume.csv", get=export_volume, needs="exports.read"),
]
