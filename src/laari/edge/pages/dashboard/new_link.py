"""A payment link made by hand, under the rules of the interface."""

import secrets

from laari.edge.merchant.payments import CREATE
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.money import read_rufiyaa
from laari.rules.refusals import Refusal, invalid

METADATA_ROWS = 6  # by hand; a program may give more
TEXTS = ("reference", "title", "description", "terminal_label", "bill_number", "return_url")


async def ask(desk: Desk) -> Reply:
    return _page(desk, {"reference": f"LINK-{secrets.token_hex(4).upper()}"})


def _page(desk: Desk, written: dict[str, str], problem: Refusal | None = None) -> Reply:
    return desk.page("new_link.html", problem=problem, written=written, rows=METADATA_ROWS)


async def make(desk: Desk) -> Reply:
    body = _body(desk)
    if isinstance(body, Refusal):
        return _page(desk, desk.form, body)
    outcome = await desk.run(CREATE, body)
    if isinstance(outcome, Refusal):
        return _page(desk, desk.form, outcome)
    return desk.go(f"/payments/{ids.show_id(ids.PAYMENT, outcome.id)}", done="created")


def _body(desk: Desk) -> dict[str, object] | Refusal:
    """The form as a program would send it; the operation checks every field."""
    amount = read_rufiyaa(desk.form.get("amount", ""))
    if amount is None:
        return invalid("amount", "The amount must be a number such as 125 or 125.50.")
    body: dict[str, object] = {name: desk.form.get(name, "") for name in TEXTS}
    body["amount"] = amount
    metadata = _metadata(desk.form)
    if isinstance(metadata, Refusal):
        return metadata
    body["metadata"] = metadata
    if deadline := desk.form.get("expires_at", "").strip():
        # Browsers leave the seconds out where they are zero.
        body["expires_at"] = f"{deadline}:00" if deadline.count(":") == 1 else deadline
    return body


def _metadata(form: dict[str, str]) -> dict[str, str] | Refusal:
    """What the rows say, exactly as it was written; a row that is empty says nothing."""
    metadata: dict[str, str] = {}
    for row in range(1, METADATA_ROWS + 1):
        name, value = form.get(f"metadata_name_{row}", ""), form.get(f"metadata_value_{row}", "")
        if not name and not value:
            continue
        if not name:
            return invalid("metadata", "Each value of the metadata needs a name.")
        if name in metadata:
            return invalid("metadata", "Each name of the metadata may be there once.")
        metadata[name] = value
    return metadata


ROUTES = [desk_route("/payments/new", get=ask, post=make)]
