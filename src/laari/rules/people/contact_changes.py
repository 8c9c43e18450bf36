"""Changes of a customer's mobile number or email address: requested, confirmed, then in effect.

An operator or the customer requests and confirms one. The new contact proves itself by a code. The
present contacts get a notice with a link that stops the change before its moment. So a stolen call
to the operator, or a stolen password, is not enough to take over a wallet. A contact that the
customer has lost gets the notice without the link: its finder could stop the change. If an operator
asked for a change that the customer cannot stop, another operator confirms it.
"""

import hmac
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, get_args
from uuid import UUID

from msgspec import json
from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor, is_themselves
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.limits.contact_changes import (
    CONTACT_CODE_ATTEMPTS,
    CONTACT_CODE_DIGITS,
    CONTACT_CODE_LIFE,
)
from laari.rules.messages import (
    ContactChangeContent,
    ContactCodeContent,
    ContactLostContent,
    ContactTakenContent,
    send,
)
from laari.rules.needs import Needs
from laari.rules.people.contacts import masked_contact
from laari.rules.people.log_ins import withdraw_link
from laari.rules.people.permissions import lacks
from laari.rules.people.persons import end_sessions, helps_of, needs_helps, no_log_in, not_second
from laari.rules.records.messages import Channel, Recipient
from laari.rules.records.people import ContactChange, ContactKind, Customer, CustomerId
from laari.rules.records.second_person import Help
from laari.rules.records.tenants import Mode
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

NAMES: dict[ContactKind, str] = {"mobile": "mobile number", "email": "email address"}
CHANNELS: dict[ContactKind, Channel] = {"mobile": "sms", "email": "email"}

STOP_LINK = "contact-stop"  # the purpose of the digest of a link that stops a change
EXPIRED = "the code expired"  # the end of a change that was not confirmed in time
BY_CUSTOMER = "asked for in the wallet"  # the reason of a change that the customer requested
_SERVICE = Actor("service", "contact changes")


class HasContacts(Protocol):
    """A customer, as far as the contacts matter."""

    @property
    def mode(self) -> Mode: ...

    @property
    def mobile(self) -> str | None: ...

    @property
    def email(self) -> str | None: ...


def code_digest(world: World, change: ContactChange, code: str) -> bytes:
    """Of the new contact too: the code proves no other that is put into the row."""
    bound = (change.id, change.customer_id, change.contact, change.new_value, code)
    return world.digest("contact-code", json.encode(bound).decode())


def taken(contact: ContactKind) -> str:
    return f"Another customer has this {NAMES[contact]}."


@dataclass(frozen=True, slots=True)
class RequestContactChange(Command[ContactChange]):
    """Begins a change, and sends a code to the new contact if the service can reach it.

    It replaces a change whose code expired. If another customer has the contact, an operator is
    refused. A customer does not learn who has a wallet: the owner gets a notice, and nobody a code.
    """

    actor: Actor
    customer_id: UUID
    contact: ContactKind
    value: str
    reason: str
    lost: bool = False  # the present contact

    def needs(self, needs: Needs) -> None:
        needs.open_contact_change(self.customer_id, self.contact)
        for mode in get_args(Mode):
            needs.read(World.contact_holders, (mode, self.contact, self.value))

    def busy(self) -> Refusal:
        return _busy()

    def decide(self, world: World) -> ContactChange | Refusal:
        refusal = may_not(self.actor, self.customer_id)
        if refusal is not None:
            return refusal
        customer = world.customers.get(self.customer_id)
        if customer is None or customer.sandbox_of is not None:
            return no_log_in(CustomerId(self.customer_id))
        name = NAMES[self.contact]
        if self.value == customer.value_of(self.contact):
            return refuse("conflict", f"The customer has this {name} already.")
        is_own = is_themselves(self.actor, self.customer_id)
        if is_own and not can_change(customer, self.contact, world.channels, lost=self.lost):
            return refuse("conflict", "Only the operator can make this change.")
        is_taken = (customer.mode, self.contact, self.value) in world.contact_holders
        if is_taken and not is_own:
            return refuse("conflict", taken(self.contact))
        earlier = _open(world, self.customer_id, self.contact)
        if earlier is not None and not _is_expired(world, earlier):
            return refuse("conflict", f"A change of this {name} is open: cancel it first.")
        if earlier is not None:
            _end(world, customer, earlier, Act(self.actor, "contact_change.expire"), EXPIRED)
        return self._begin(world, customer, is_taken=is_taken)

    def _begin(self, world: World, customer: Customer, *, is_taken: bool) -> ContactChange:
        change_id, code, expires_at = world.new_id(), None, None
        if customer.mode == "live" and CHANNELS[self.contact] in world.channels:
            code, expires_at = world.new_code(CONTACT_CODE_DIGITS), world.now + CONTACT_CODE_LIFE
            to = _recipient(customer, self.contact, self.value)
            if is_taken:
                send(world, to, "contact_taken", ContactTakenContent(world.now))
            else:
                send(world, to, "contact_code", ContactCodeContent(code, expires_at))
        change = ContactChange(
            id=change_id,
            customer_id=self.customer_id,
            contact=self.contact,
            old_value=customer.value_of(self.contact),
            new_value=self.value,
            reason=self.reason,
            lost=self.lost,
            requested_at=world.now,
            requested_by=self.actor.name,
            code_digest=None,
            code_expires_at=expires_at,
        )
        if code is not None:
            change = replace(change, code_digest=code_digest(world, change, code))
        act = Act(self.actor, "contact_change.request", self.reason)
        world.open_contact_changes[self.customer_id, self.contact] = change_id
        write_setting(world, World.contact_changes, change, act, mode=customer.mode)
        return change


@dataclass(frozen=True, slots=True)
class OnOpenChange(Command[ContactChange]):
    """An operator or the customer decides about the open change of a contact.

    `change_id` is the one on their screen: another one may have followed it.
    """

    actor: Actor
    customer_id: UUID
    contact: ContactKind
    change_id: UUID | None

    def needs(self, needs: Needs) -> None:
        needs.open_contact_change(self.customer_id, self.contact)

    def busy(self) -> Refusal:
        return _busy()

    def decide(self, world: World) -> ContactChange | Refusal:
        refusal = may_not(self.actor, self.customer_id)
        if refusal is not None:
            return refusal
        change = _open(world, self.customer_id, self.contact)
        if change is None or self.change_id not in (None, change.id):
            message = f"This customer has no open change of the {NAMES[self.contact]}."
            return refuse("conflict", message)
        return self.decide_open(world, world.customers[self.customer_id], change)

    @abstractmethod
    def decide_open(
        self, world: World, customer: Customer, change: ContactChange
    ) -> ContactChange | Refusal: ...


@dataclass(frozen=True, slots=True)
class ConfirmContactChange(OnOpenChange):
    """Confirms a change by its code. If none could be sent, an operator confirms it by a reason.

    A wrong code is refused, and counts.
    """

    code: str | None
    reason: str | None
    delay: timedelta  # until the effect

    def needs(self, needs: Needs) -> None:
        OnOpenChange.needs(self, needs)
        needs_helps(needs)

    def decide_open(
        self, world: World, customer: Customer, change: ContactChange
    ) -> ContactChange | Refusal:
        if change.status != "waiting":
            return refuse("conflict", "This change does not wait for a confirmation.")
        reason = not_confirmer(
            customer, change, self.actor, helps_of(world), world.now, channels=world.channels
        )
        if reason is not None and world.second_operator_above is not None:
            return refuse("conflict", reason)
        refusal = self._not_proven(world, change)
        if refusal is not None:
            return refusal
        secret = world.new_secret()
        confirmed = replace(
            change,
            status="confirmed",
            confirmed_at=world.now,
            confirmed_by=self.actor.name,
            effective_at=world.now + self.delay,
            stop_digest=world.digest(STOP_LINK, secret),
        )
        act = Act(self.actor, "contact_change.confirm", self.reason)
        write_setting(world, World.contact_changes, confirmed, act, mode=customer.mode)
        _notify(world, customer, confirmed, f"{world.origin}/app/contact/{secret}")
        return confirmed

    def _not_proven(self, world: World, change: ContactChange) -> Refusal | None:
        if change.code_digest is None:
            if self.reason is None:
                return invalid("reason", "A confirmation without a code needs a reason.")
            return lacks(self.actor, "customers.change")
        if self.code is None:
            message = "This change needs the code that was sent to the new contact."
            return refuse("conflict", message)
        if change.attempts >= CONTACT_CODE_ATTEMPTS or _is_expired(world, change):
            message = "The code no longer works: cancel the change and request it again."
            return refuse("conflict", message)
        given = code_digest(world, change, self.code)
        if not hmac.compare_digest(change.code_digest, given):
            world.contact_changes.change(change.id, replace(change, attempts=change.attempts + 1))
            message = "The code is wrong. After three wrong codes, cancel the change."
            return invalid("code", message)
        return None


@dataclass(frozen=True, slots=True)
class CancelContactChange(OnOpenChange):
    """Ends a change that has no effect yet."""

    reason: str

    def decide_open(self, world: World, customer: Customer, change: ContactChange) -> ContactChange:
        act = Act(self.actor, "contact_change.cancel", self.reason)
        return _end(world, customer, change, act, self.reason)


@dataclass(frozen=True, slots=True)
class StopContactChange(Command[ContactChange]):
    """The customer stops a change by the link in the notice, once."""

    customer_id: UUID
    change_id: UUID
    stop_digest: bytes
    address: str | None  # the network address of the request

    def needs(self, needs: Needs) -> None:
        needs.contact_change(self.customer_id, self.change_id)

    def busy(self) -> Refusal:
        return _busy()

    def decide(self, world: World) -> ContactChange | Refusal:
        change = world.contact_changes[self.change_id]
        if change.status != "confirmed" or change.stop_digest != self.stop_digest:
            return refuse("not_found")
        shown = ids.show_id(ids.CUSTOMER, self.customer_id)
        act = Act(Actor("customer", shown, address=self.address), "contact_change.stop")
        stopped = replace(change, status="stopped", ended_at=world.now, ended_by="the customer")
        _write_end(world, world.customers[self.customer_id], stopped, act)
        return stopped


@dataclass(frozen=True, slots=True)
class ApplyContactChange(Command[ContactChange]):
    """Makes a change whose moment has come, or ends it if that is not possible.

    The sessions and password links of the customer end, because the old contact may be in other
    hands.
    """

    customer_id: UUID
    change_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.contact_change(self.customer_id, self.change_id)
        needs.log_in(CustomerId(self.customer_id))

    def busy(self) -> Refusal:
        return _busy()

    def decide(self, world: World) -> ContactChange | Refusal:
        change = world.contact_changes[self.change_id]
        is_due = change.effective_at is not None and change.effective_at <= world.now
        if change.status != "confirmed" or not is_due:
            return refuse("conflict", "This change does not wait for its effect.")
        customer = world.customers[self.customer_id]
        problem = _problem(world, customer, change)
        if problem is None:
            customer = self._apply(world, customer, change)
        verb = "apply" if problem is None else "fail"
        ended = replace(
            change,
            status="done" if problem is None else "failed",
            ended_at=world.now,
            ended_by=_SERVICE.name,
            end_reason=problem,
        )
        _write_end(world, customer, ended, Act(_SERVICE, f"contact_change.{verb}", problem))
        return ended

    def _apply(self, world: World, customer: Customer, change: ContactChange) -> Customer:
        if change.contact == "mobile":
            changed = replace(customer, mobile=change.new_value)
        else:
            changed = replace(customer, email=change.new_value)
        act = Act(_SERVICE, "customer.set_contact", change.reason)
        write_setting(world, World.customers, changed, act, mode=customer.mode)
        world.contact_holders[customer.mode, change.contact, change.new_value] = customer.id
        end_sessions(world, customer.id)
        withdraw_link(world, customer.id)
        return changed


def _problem(world: World, customer: Customer, change: ContactChange) -> str | None:
    """Why the change cannot be made."""
    if customer.value_of(change.contact) != change.old_value:
        return f"the {NAMES[change.contact]} was changed meanwhile"
    if (customer.mode, change.contact, change.new_value) in world.contact_holders:
        return f"another customer has this {NAMES[change.contact]}"
    return None


def may_not(actor: Actor, customer_id: UUID) -> Refusal | None:
    """The refusal for somebody who is neither this customer nor an operator who may change it."""
    return None if is_themselves(actor, customer_id) else lacks(actor, "customers.change")


def can_change(
    customer: HasContacts, contact: ContactKind, channels: frozenset[str], *, lost: bool
) -> bool:
    """Whether a customer can change this contact alone: a code reaches the new one.

    If the present one is lost, the link that stops a thief has to reach the other one.
    """
    if customer.mode != "live" or CHANNELS[contact] not in channels:
        return False
    other, other_value = (
        ("email", customer.email) if contact == "mobile" else ("sms", customer.mobile)
    )
    return not lost or (other_value is not None and other in channels)


def not_confirmer(
    customer: HasContacts,
    change: ContactChange,
    actor: Actor,
    helps: Sequence[Help],
    now: datetime,
    *,
    channels: frozenset[str],
) -> str | None:
    """Why this actor does not confirm the change, with the rule of the second person; or None.

    An operator who asked could otherwise take over the wallet: nobody else can stop the change.
    """
    asked_by_customer = change.requested_by == ids.show_id(ids.CUSTOMER, change.customer_id)
    if customer.mode != "live" or asked_by_customer or not actor.is_operator:
        return None
    if not change.lost and _can_stop(customer, channels):
        return None
    kind = "operator" if "@" in change.requested_by else "command_line"
    own = "Another operator has to confirm this change: the customer may not be able to stop it."
    return not_second(f"{kind} {change.requested_by}", actor, helps, now, own)


def _can_stop(customer: HasContacts, channels: frozenset[str]) -> bool:
    """Whether the service can send the link that stops the change to a present contact."""
    values: dict[ContactKind, str | None] = {"mobile": customer.mobile, "email": customer.email}
    return any(
        value is not None and CHANNELS[contact] in channels for contact, value in values.items()
    )


def _open(world: World, customer_id: UUID, contact: ContactKind) -> ContactChange | None:
    change_id = world.open_contact_changes.get((customer_id, contact))
    return None if change_id is None else world.contact_changes[change_id]


def _is_expired(world: World, change: ContactChange) -> bool:
    """Whether a change waits for a code that no longer works."""
    expires_at = change.code_expires_at
    return change.status == "waiting" and expires_at is not None and expires_at <= world.now


def _end(
    world: World, customer: Customer, change: ContactChange, act: Act, reason: str
) -> ContactChange:
    """An operator ends a change without an effect."""
    ended = replace(
        change,
        status="cancelled",
        ended_at=world.now,
        ended_by=act.actor.name,
        end_reason=reason,
    )
    _write_end(world, customer, ended, act)
    return ended


def _write_end(world: World, customer: Customer, ended: ContactChange, act: Act) -> None:
    write_setting(world, World.contact_changes, ended, act, mode=customer.mode)
    world.open_contact_changes.pop((ended.customer_id, ended.contact), None)


def _recipient(customer: Customer, contact: ContactKind, value: str) -> Recipient:
    """The customer at this contact alone."""
    email, mobile = (None, value) if contact == "mobile" else (value, None)
    return Recipient(email, mobile, customer.language, customer.id)


def _notify(world: World, customer: Customer, change: ContactChange, link: str) -> None:
    """A notice to every present contact that the service can reach: one of them may be lost."""
    if customer.mode != "live" or change.effective_at is None:
        return
    content = ContactChangeContent(masked_contact(change.new_value), change.effective_at, link)
    for contact in get_args(ContactKind):
        value = customer.value_of(contact)
        if value is None:
            continue
        to = _recipient(customer, contact, value)
        if change.lost and contact == change.contact:
            send(world, to, "contact_lost", ContactLostContent(change.effective_at))
        else:
            send(world, to, "contact_change", content)


def _busy() -> Refusal:
    return refuse("conflict", "Another command is changing this contact. Try again.")
