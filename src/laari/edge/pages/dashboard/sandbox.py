"""Sandbox controls: the customer's decisions, the customer's wallet, and the clock."""

from __future__ import annotations

from typing import Any

from laari.edge.http import Reply
from laari.edge.merchant import sandbox as interface
from laari.edge.pages.dashboard import authorizations, payments, requests
from laari.edge.pages.dashboard.desk import Desk, DeskHandler, desk_route
from laari.rules.money import read_rufiyaa
from laari.rules.refusals import Refusal, invalid
from laari.store.tiers import all_tiers
from laari.store.wallet_keys import sandbox_wallet_key

CONTROLS = {operation.path: operation for operation in interface.OPERATIONS}
SECONDS = {"minutes": 60, "hours": 3600, "days": 86_400}


async def _run(desk: Desk, path: str, body: dict[str, Any]) -> Any:
    """One of the interface's sandbox controls, as the merchant's own program would use it."""
    operation = CONTROLS[path]
    assert operation.command is not None
    fields = body if operation.body is None else operation.body.read(body)
    if isinstance(fields, Refusal):
        return fields
    return await desk.submit(operation.command(desk.call(), fields))


def _decisions(section: str, kind: str, show: Any) -> DeskHandler:
    """What the sandbox customer does with one payment, request or authorization."""

    async def decide(desk: Desk) -> Reply:
        path = f"/sandbox/{kind}/{{id}}/{desk.visit.params['action']}"
        if desk.tenant.mode != "sandbox" or path not in CONTROLS:
            return desk.missing()
        outcome = await _run(desk, path, {})
        if isinstance(outcome, Refusal):
            response: Reply = await show(desk, outcome)
            return response
        return desk.go(f"/{section}/{desk.visit.params['id']}", done="controlled")

    return decide


async def show(desk: Desk, problem: Refusal | None = None) -> Reply:
    if desk.tenant.mode != "sandbox":
        return desk.missing()
    account = desk.tenant.sandbox_account
    return desk.page(
        "sandbox.html",
        problem=problem,
        standing=await desk.backend.wallets.get(account),
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
    outcome = await _run(
        desk, "/sandbox/wallet", {"balance": balance, "tier": desk.form.get("tier", "")}
    )
    return await show(desk, outcome) if isinstance(outcome, Refusal) else _moved(desk, "wallet")


async def move_clock(desk: Desk) -> Reply:
    if desk.tenant.mode != "sandbox":
        return desk.missing()
    body: dict[str, Any] = {"reset": True}
    if "reset" not in desk.form:
        number, unit = desk.form.get("number", ""), SECONDS.get(desk.form.get("unit", ""))
        digits = number.strip().removeprefix("-")
        if unit is None or not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
            return await show(desk, invalid("number", "Say by how much, in whole numbers."))
        body = {"advance_seconds": int(number) * unit}
    outcome = await _run(desk, "/sandbox/clock", body)
    return await show(desk, outcome) if isinstance(outcome, Refusal) else _moved(desk, "clock")


def _moved(desk: Desk, done: str) -> Reply:
    return desk.go("/sandbox", done=done)


ROUTES = [
    desk_route("/sandbox", get=show, read_only=False),
    desk_route("/sandbox/wallet", post=set_wallet),
    desk_route("/sandbox/clock", post=move_clock),
    desk_route(
        "/payments/{id}/sandbox/{action}",
        post=_decisions("payments", "payments", payments.show),
    ),
    desk_route(
        "/requests/{id}/sandbox/{action}",
        post=_decisions("requests", "payment-requests", requests.show),
    ),
    desk_route(
        "/authorizations/{id}/sandbox/{action}",
        post=_decisions("authorizations", "authorizations", authorizations.show),
    ),
]
