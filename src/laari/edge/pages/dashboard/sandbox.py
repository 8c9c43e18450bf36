"""Sandbox controls: the customer's decisions, the customer's wallet, and the clock."""

from collections.abc import Mapping
from typing import TypeVar

from laari.edge.merchant import sandbox as interface
from laari.edge.merchant.operations import Write
from laari.edge.pages.dashboard import authorizations, payments, requests
from laari.edge.pages.dashboard.desk import Desk, DeskHandler, desk_route
from laari.edge.pages.dashboard.views import Show, run_and_show
from laari.http.messages import Reply
from laari.rules.money import read_rufiyaa
from laari.rules.refusals import Refusal, invalid
from laari.store.people.wallet_keys import sandbox_wallet_key
from laari.store.reads.tiers import all_tiers

T = TypeVar("T")

SECONDS = {"minutes": 60, "hours": 3600, "days": 86_400}


def _decisions(controls: Mapping[str, Write[None, T]], show: Show) -> DeskHandler:
    """What the sandbox customer does with one payment, request or authorization."""

    async def decide(desk: Desk) -> Reply:
        control = controls.get(desk.visit.params["action"])
        if control is None or not control.exists_for(desk.tenant):
            return desk.missing()
        return await run_and_show(desk, control, show, "controlled")

    return decide


async def show(desk: Desk, problem: Refusal | None = None) -> Reply:
    if desk.tenant.mode != "sandbox":
        return desk.missing()
    account = desk.tenant.sandbox_account
    return desk.page(
        "sandbox.html",
        problem=problem,
        wallet_status=await desk.backend.wallets.get(account),
        api_key=sandbox_wallet_key(desk.backend.master_key, account),
        tiers=await desk.backend.ask(all_tiers),
        units=SECONDS,
    )


async def set_wallet(desk: Desk) -> Reply:
    if desk.tenant.mode != "sandbox":
        return desk.missing()
    balance = read_rufiyaa(desk.form.get("balance", ""))
    if balance is None:
        return await show(desk, invalid("balance", "The balance must be a number such as 1250.50."))
    fields = {"balance": balance, "tier": desk.form.get("tier", "")}
    outcome = await desk.run(interface.SET_WALLET, fields)
    return await show(desk, outcome) if isinstance(outcome, Refusal) else _moved(desk, "wallet")


async def move_clock(desk: Desk) -> Reply:
    if desk.tenant.mode != "sandbox":
        return desk.missing()
    fields: dict[str, object] = {"reset": True}
    if "reset" not in desk.form:
        number, unit = desk.form.get("number", ""), SECONDS.get(desk.form.get("unit", ""))
        digits = number.strip().removeprefix("-")
        if unit is None or not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
            return await show(desk, invalid("number", "Say by how much, in whole numbers."))
        fields = {"advance_seconds": int(number) * unit}
    outcome = await desk.run(interface.MOVE_CLOCK, fields)
    return await show(desk, outcome) if isinstance(outcome, Refusal) else _moved(desk, "clock")


def _moved(desk: Desk, done: str) -> Reply:
    return desk.go("/sandbox", done=done)


ROUTES = [
    desk_route("/sandbox", get=show, read_only=False),
    desk_route("/sandbox/wallet", post=set_wallet),
    desk_route("/sandbox/clock", post=move_clock),
    desk_route(
        "/payments/{id}/sandbox/{action}",
        post=_decisions(interface.PAYMENT_CONTROLS, payments.show),
    ),
    desk_route(
        "/requests/{id}/sandbox/{action}",
        post=_decisions(interface.REQUEST_CONTROLS, requests.show),
    ),
    desk_route(
        "/authorizations/{id}/sandbox/{action}",
        post=_decisions(interface.AUTHORIZATION_CONTROLS, authorizations.show),
    ),
]
