"""A payment link made by hand, under the rules of the interface."""

from __future__ import annotations

import secrets

from starlette.responses import Response

from laari.edge.merchant.payments import CREATE_PAYMENT, create
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.rules import ids
from laari.rules.money import read_rufiyaa
from laari.rules.refusals import Refusal, invalid

TEXTS = ("reference", "title", "description", "terminal_label", "bill_number", "return_url")


async def ask(desk: Desk) -> Response:
    suggested = {"reference": f"LINK-{secrets.token_hex(4).upper()}"}
    return desk.page("new_link.html", written=suggested)


async def make(desk: Desk) -> Response:
    command = _read(desk)
    outcome = await desk.submit(
        command if isinstance(command, Refusal) else create(desk.call(), command)
    )
    if isinstance(outcome, Refusal):
        return desk.page("new_link.html", problem=outcome, written=desk.form)
    return desk.go(f"/payments/{ids.show_id(ids.PAYMENT, outcome.id)}", done="created")


def _read(desk: Desk) -> dict[str, object] | Refusal:
    amount = read_rufiyaa(desk.form.get("amount", ""))
    if amount is None:
        return invalid("amount", "The amount must be a number such as 125 or 125.50.")
    body: dict[str, object] = {name: desk.form.get(name, "") for name in TEXTS}
    body["amount"] = amount
    if deadline := desk.form.get("expires_at", "").strip():
        # Browsers leave the seconds out where they are zero.
        body["expires_at"] = f"{deadline}:00" if deadline.count(":") == 1 else deadline
    return CREATE_PAYMENT.read(body)


ROUTES = [desk_route("/payments/new", get=ask, post=make)]
