"""Changes of a customer's mobile number or email address, on the customer's page."""

from datetime import timedelta
from typing import get_args
from uuid import UUID

from laari.edge.pages.operator.customers import CUSTOMER, page_of
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import Routes
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.limits.texts import MAX_REASON
from laari.rules.people.contact_changes import (
    CancelContactChange,
    ConfirmContactChange,
    RequestContactChange,
)
from laari.rules.people.contacts import READERS
from laari.rules.people.factor_codes import read_code
from laari.rules.records.people import ContactKind
from laari.store.reads.holders import Holder

NOT_VALID: dict[ContactKind, str] = {
    "mobile": "The new mobile number must have seven digits.",
    "email": "The new email address must be like name@example.com.",
}


def _contact_of(request: OperatorRequest) -> ContactKind | None:
    named = request.form.get("contact")
    return next((each for each in get_args(ContactKind) if each == named), None)


async def _request(request: OperatorRequest, holder: Holder) -> Reply:
    contact = _contact_of(request)
    if contact is None:
        raise RefusedForm(422, "Choose the mobile number or the email address.")
    value = READERS[contact](request.form.get("value", ""))
    if value is None:
        raise RefusedForm(422, NOT_VALID[contact])
    reason = request.text_of("reason", MAX_REASON)
    change = await request.submit(
        RequestContactChange(
            request.actor,
            holder.customer_id,
            contact,
            value,
            reason=reason,
            lost=request.form.get("lost") == "on",
        )
    )
    return request.redirect(page_of(holder), done="code" if change.has_code else "contact")


def _change_of(request: OperatorRequest) -> tuple[ContactKind, UUID]:
    """The change on the operator's screen."""
    contact = _contact_of(request)
    change_id = ids.read_id("", request.form.get("change", ""))
    if contact is None or change_id is None:
        raise RefusedForm(409, "This customer has no such change of a contact.")
    return contact, change_id


async def _confirm(request: OperatorRequest, holder: Holder) -> Reply:
    contact, change_id = _change_of(request)
    said = request.form.get("caller_code")
    code = None if said is None else read_code(said)
    command = ConfirmContactChange(
        request.actor,
        holder.customer_id,
        contact,
        change_id,
        code=code,
        reason=request.text_of("reason", MAX_REASON) if code is None else None,
        delay=timedelta(hours=request.backend.settings.contact_delay_hours),
    )
    await request.submit(command)
    return request.redirect(page_of(holder), done="confirmed")


async def _cancel(request: OperatorRequest, holder: Holder) -> Reply:
    contact, change_id = _change_of(request)
    reason = request.text_of("reason", MAX_REASON)
    await request.submit(
        CancelContactChange(request.actor, holder.customer_id, contact, change_id, reason)
    )
    return request.redirect(page_of(holder), done="uncontact")


ROUTES: Routes = [
    CUSTOMER.form("/contact", _request, needs="customers.change"),
    CUSTOMER.form("/confirm-contact", _confirm, needs="customers.change"),
    CUSTOMER.form("/cancel-contact", _cancel, needs="customers.change"),
]
