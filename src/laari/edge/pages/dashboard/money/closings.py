"""The form that closes a till, for the dashboard and the counter."""

from typing import NamedTuple

from laari.edge.pages.request import PageRequest
from laari.rules import ids
from laari.rules.actors import Actor, name_for_merchants
from laari.rules.limits.texts import MAX_NOTE
from laari.rules.payments.till_closings import CloseTill
from laari.rules.records.tenants import Tenant
from laari.rules.records.tills import TillClosing
from laari.rules.refusals import Refusal, invalid
from laari.store.reads.money import tills


class Closed(NamedTuple):
    closing: TillClosing
    again: bool  # it was closed already: the button was pressed twice, or by two people


def shown_id(closing: TillClosing) -> str:
    return ids.show_id(ids.TILL_CLOSING, closing.id)


def closer(closing: TillClosing) -> str:
    """Who closed a till, as the merchant's people know them."""
    return name_for_merchants(closing.actor_kind, closing.actor_name)


async def close_till(
    request: PageRequest, tenant: Tenant, till: str, actor: Actor
) -> Closed | Refusal:
    """Closes the till with the note of the form, if its number is still the next one."""
    note = request.form.get("note", "").strip()
    if len(note) > MAX_NOTE:
        return invalid("note", f"The note must have at most {MAX_NOTE} characters.")
    shown = request.form.get("number", "")
    number = int(shown) if shown.isascii() and shown.isdecimal() and len(shown) < 19 else None
    command = CloseTill(tenant, till, actor, note or None, number)
    outcome = await request.backend.spine.submit(command)
    if isinstance(outcome, TillClosing):
        return Closed(outcome, again=False)
    if number is not None:
        made = await request.backend.ask(tills.numbered, tenant.id, till, number)
        if made is not None:
            return Closed(made, again=True)
    return outcome
