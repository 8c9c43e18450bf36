"""Changes of a customer's mobile number or email address, on the customer's page."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import get_args
from uuid import UUID

from laari.edge.pages.operator.customers import CUSTOMER, MAX_REASON, NO_LOGIN, page_of
from laari.edge.pages.operator.request import OperatorRequest, in_words
from laari.edge.pages.request import FormProblem, Problem
from laari.edge.pages.routes import Routes
from laari.errors import LaariError
from laari.http.messages import Reply
from laari.rules.people.contacts import read_email, read_mobile
from laari.rules.people.second_factor import read_code
from laari.store.people import contact_changes, customers
from laari.store.people.contact_changes import Contact, ContactChange
from laari.store.reads.holders import Holder

READERS: dict[Contact, Callable[[str], str | None]] = {"mobile": read_mobile, "email": read_email}
NOT_VALID: dict[Contact, FormProblem] = {
    "mobile": FormProblem(422, "The new mobile number must have seven digits."),
    "email": FormProblem(422, "The new email address must be like name@example.com."),
}
WRONG_CODE = FormProblem(422, "The code is wrong. After three wrong codes, cancel the change.")
NO_CHANGE = FormProblem(409, "This customer has no such change of a contact.")


def _contact_of(request: OperatorRequest) -> Contact | None:
    named = request.form.get("contact")
    return next((each for each in get_args(Contact) if each == named), None)


async def _request(request: OperatorRequest, holder: Holder) -> Reply | Problem:
    if await request.backend.ask(customers.mode_of, holder.customer_id) is None:
        return NO_LOGIN
    contact = _contact_of(request)
    if contact is None:
        return FormProblem(422, "Choose the mobile number or the email address.")
    value = READERS[contact](request.form.get("value", ""))
    if value is None:
        return NOT_VALID[contact]
    reason = request.text_of("reason", MAX_REASON)
    try:
        change = await request.backend.write(
            contact_changes.request,
            *(request.actor, request.backend.master_key, holder.customer_id, contact, value),
            *(reason, request.backend.settings.channels),
        )
    except LaariError as error:
        return in_words(error)
    return request.redirect(page_of(holder), done="code" if change.has_code else "contact")


async def _open(request: OperatorRequest, holder: Holder) -> ContactChange | None:
    """The change of the form, if it is this customer's and open."""
    contact, change = _contact_of(request), None
    if contact is not None:
        change = await request.backend.ask(contact_changes.open_of, holder.customer_id, contact)
    return change


def _on_change(
    handler: Callable[[OperatorRequest, Holder, UUID], Awaitable[Reply | Problem]],
) -> Callable[[OperatorRequest, Holder], Awaitable[Reply | Problem]]:
    """Looks up the open change, and shows a refusal of the store above the page."""

    async def handle(request: OperatorRequest, holder: Holder) -> Reply | Problem:
        change = await _open(request, holder)
        # The change on the operator's screen: another one may have followed it.
        if change is None or change.id.hex != request.form.get("change"):
            return NO_CHANGE
        try:
            return await handler(request, holder, change.id)
        except LaariError as error:
            return in_words(error)

    return handle


async def _confirm(request: OperatorRequest, holder: Holder, change_id: UUID) -> Reply | Problem:
    code = read_code(request.form["code"]) if "code" in request.form else None
    reason = request.text_of("reason", MAX_REASON) if code is None else None
    settings = request.backend.settings
    change = await request.backend.write(
        contact_changes.confirm,
        *(request.actor, request.backend.master_key, change_id),
        code=code,
        reason=reason,
        delay=timedelta(hours=settings.contact_delay_hours),
        channels=settings.channels,
        origin=request.backend.origin,
    )
    return WRONG_CODE if change is None else request.redirect(page_of(holder), done="confirmed")


async def _cancel(request: OperatorRequest, holder: Holder, change_id: UUID) -> Reply:
    reason = request.text_of("reason", MAX_REASON)
    await request.backend.write(contact_changes.cancel, request.actor, change_id, reason)
    return request.redirect(page_of(holder), done="uncontact")


ROUTES: Routes = [
    CUSTOMER.form("/contact", _request, needs="customers.change"),
    CUSTOMER.form("/confirm-contact", _on_change(_confirm), needs="customers.change"),
    CUSTOMER.form("/cancel-contact", _on_change(_cancel), needs="customers.change"),
]
