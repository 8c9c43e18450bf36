"""A payment link made by hand, under the rules of the merchant API."""

from laari.edge.merchant.payments import CREATE
from laari.edge.pages.dashboard.by_hand.typed import (
    new_reference,
    read_amount,
    read_deadline,
)
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT

METADATA_ROWS = 6  # in the form; a program may send more
# The fields in the words of the form.
NAMES = {
    "amount": "The amount",
    "reference": "The reference",
    "title": "The text of “What for”",
    "description": "The description",
    "terminal_label": "The till",
    "bill_number": "The bill number",
    "return_url": "The return address",
    "expires_at": "The time of expiry",
    "metadata": "The metadata",
}
TEXTS = ("reference", "title", "description", "terminal_label", "bill_number", "return_url")


async def show(request: DashboardRequest) -> Reply:
    written = request.form or {"reference": new_reference("LINK")}
    return request.page("new_link.html", written=written, rows=METADATA_ROWS)


async def create(request: DashboardRequest) -> Reply:
    body = _body(request.form)
    if request.till is not None:
        body["terminal_label"] = request.till  # whatever the form says
    outcome = await request.run(CREATE, body, NAMES)
    payment_id = ids.show_id(ids.PAYMENT, outcome.id)
    return request.redirect(f"/payments/{payment_id}", done="created")


def _body(form: dict[str, str]) -> dict[str, object]:
    """The form as a program would send it; the operation checks every field."""
    amount = read_amount(form, "amount", NAMES["amount"], MAX_PAYMENT_AMOUNT)
    metadata = _metadata(form)
    texts = {name: form.get(name, "") for name in TEXTS}
    return {**texts, "amount": amount, "metadata": metadata, **read_deadline(form)}


def _metadata(form: dict[str, str]) -> dict[str, str]:
    """Names and values exactly as written; empty rows do not count."""
    metadata: dict[str, str] = {}
    for row in range(1, METADATA_ROWS + 1):
        name, value = form.get(f"metadata_name_{row}", ""), form.get(f"metadata_value_{row}", "")
        if not name and not value:
            continue
        if not name:
            raise RefusedForm(400, "Every metadata value needs a name.")
        if name in metadata:
            raise RefusedForm(400, "Use each metadata name only once.")
        metadata[name] = value
    return metadata


ROUTES = [
    PageRoute(DashboardRequest, "/payments/new", get=show, post=create, needs="payments.create")
]
