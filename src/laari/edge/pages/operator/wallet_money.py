"""Money: top-ups and adjustments, those that wait for a second person, and sales by day."""

from datetime import date, timedelta

from laari.edge.pages.csv_files import csv_reply
from laari.edge.pages.operator.forms import chosen_form, plain_form
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.operator.volume_file import volume_csv
from laari.edge.pages.person import long
from laari.edge.pages.request import FormProblem
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.waiting_movements import CONFIRM, REFUSE
from laari.operations.wallets import ADJUST, TOP_UP
from laari.rules.banking.waiting_movements import PERMISSIONS, not_confirmer
from laari.rules.calendar import local_day
from laari.rules.day_ranges import read_day
from laari.rules.people.persons import is_same_person
from laari.rules.records.second_person import PendingMovementKind
from laari.rules.records.tenants import MODES, Mode
from laari.store.reads.money import movement_lists, volume
from laari.store.reads.money.movement_lists import Waiting
from laari.store.reads.money.volume import MerchantDay

MOST_LISTED = 500
KINDS: dict[PendingMovementKind, str] = {
    "topup": "top-up",
    "adjustment": "adjustment",
    "refund": "refund of a payment",
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


@long
async def show(request: OperatorRequest) -> Reply:
    day, mode = _day(request, "day"), _mode(request)
    limit, helps = request.backend.settings.second_operator_above, await request.helps()
    return await request.long_page(
        "money.html",
        day=day,
        mode=mode,
        waiting=await request.backend.ask(movement_lists.waiting, MOST_LISTED),
        movements=await request.backend.ask(movement_lists.of_day, day, mode, MOST_LISTED),
        limit=limit,
        moved=await request.movements_made(),
        kinds=KINDS,
        permissions=PERMISSIONS,
        is_own=lambda movement: is_same_person(movement.requested_by, request.actor),
        barred=lambda movement: not_confirmer(movement, request.actor, helps, request.now),
    )


def _day(request: OperatorRequest, name: str) -> date:
    return read_day(request.query.get(name, "")) or local_day(request.now)


def _mode(request: OperatorRequest) -> Mode:
    return "sandbox" if request.query.get("mode") == MODES[1] else "live"


def _back(request: OperatorRequest, found: Waiting) -> str:
    return "/bank" if found.movement.kind == "import" else "/money"


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


ROUTES: Routes = [
    chosen_form(
        "/money",
        {"topup": TOP_UP, "adjustment": ADJUST},
        show,
        lambda *_: "/money",
        reads="wallets.read",
    ),
    plain_form("/money/movements/{movement_id}/make", CONFIRM, show, _back),
    plain_form("/money/movements/{movement_id}/refuse", REFUSE, show, lambda *_: "/money"),
    PageRoute(OperatorRequest, "/money/volume", get=show_volume, needs="money.read"),
    PageRoute(OperatorRequest, "/money/volume.csv", get=export_volume, needs="exports.read"),
]
