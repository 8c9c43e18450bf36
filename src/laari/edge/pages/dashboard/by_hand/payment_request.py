"""A payment request made by hand, under the rules of the merchant API."""

from laari.edge.merchant.payment_requests import CREATE
from laari.edge.pages.dashboard.by_hand.link import NAMES as LINK_NAMES
from laari.edge.pages.dashboard.by_hand.typed import (
    new_reference,
    read_amount,
    read_deadline,
)
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.people.contacts import read_mobile, read_vpa
from laari.rules.records.payments import CustomerType

NAMES = {**LINK_NAMES, "customer": "The customer"}
TEXTS = ("reference", "title", "description", "terminal_label", "bill_number")


async def show(request: DashboardRequest) -> Reply:
    customer = request.backend.settings.sandbox_vpa if request.tenant.mode == "sandbox" else ""
    written = request.form or {"reference": new_reference("REQ"), "customer": customer}
    return request.page("new_request.html", written=written)


async def create(request: DashboardRequest) -> Reply:
    form = request.form
    amount = read_amount(form, "amount", NAMES["amount"], MAX_PAYMENT_AMOUNT)
    written = form.get("customer", "").strip()
    kind = kind_of(written, request.backend.settings.vpa_suffixes)
    body: dict[str, object] = {name: form.get(name, "") for name in TEXTS}
    body |= {"amount": amount, "customer": {"type": kind, "value": written}, **read_deadline(form)}
    if request.till is not None:
        body["terminal_label"] = request.till  # whatever the form says
    outcome = await request.run(CREATE, body, NAMES)
    return request.redirect(
        f"/requests/{ids.show_id(ids.PAYMENT_REQUEST, outcome.id)}", done="asked"
    )


def kind_of(written: str, vpa_suffixes: tuple[str, ...]) -> CustomerType:
    """How a text names a customer: by a mobile number, a VPA or else an email address."""
    if read_mobile(written) is not None:
        return "mobile"
    if "@" not in written or read_vpa(written, vpa_suffixes) is not None:
        return "vpa"
    return "email"


ROUTES = [
    PageRoute(DashboardRequest, "/requests/new", get=show, post=create, needs="payments.create")
]
