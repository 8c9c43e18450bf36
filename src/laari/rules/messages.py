"""Messages to people, by email or SMS. Their texts are written when they are sent."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from laari.rules.people.contacts import COUNTRY
from laari.rules.records import Channel, Contact, Message, MessageKind, Tenant
from laari.rules.shapes.envelopes import to_json
from laari.rules.world import World


class RequestContent(Struct, frozen=True):
    """The values for the text of a payment request."""

    merchant: str
    amount: int
    title: str
    expires_at: datetime
    link: str


class ReceiptContent(Struct, frozen=True):
    """The values for the text of a receipt."""

    merchant: str
    amount: int
    title: str
    paid_at: datetime
    payment_reference: str
    reference: str
    link: str


class InvitationContent(Struct, frozen=True):
    """The values for the text of an invitation to work for a merchant."""

    merchant: str
    role: str
    expires_at: datetime
    link: str


class DeviceContent(Struct, frozen=True):
    """The values for the notice of a log-in in a browser that the person has not used before."""

    device: str
    address: str
    at: datetime


class LinkContent(Struct, frozen=True):
    """The values for the link that sets a forgotten password."""

    link: str
    expires_at: datetime


class CodeContent(Struct, frozen=True):
    """The values for a code that sets a forgotten password or opens a wallet."""

    code: str
    expires_at: datetime


class SignUpKnownContent(Struct, frozen=True):
    """The values for the notice that somebody signs up with the number of a customer."""

    at: datetime


class ContactCodeContent(Struct, frozen=True):
    """The values for the code that proves a new mobile number or email address."""

    code: str
    expires_at: datetime


class ContactChangeContent(Struct, frozen=True):
    """The values for the notice of a new contact, mostly hidden. The link stops the change."""

    new_contact: str
    effective_at: datetime
    link: str


class BankAccountContent(Struct, frozen=True):
    """The values for the notice of a new bank account; most of its number is hidden."""

    merchant: str
    bank: str
    holder: str
    number: str
    actor: str
    effective_at: datetime


class OwnBankAccountContent(Struct, frozen=True):
    """The same for a customer."""

    bank: str
    number: str
    effective_at: datetime


CONTENTS: dict[MessageKind, type[Struct]] = {
    "payment_request": RequestContent,
    "receipt": ReceiptContent,
    "invitation": InvitationContent,
    "new_device": DeviceContent,
    "password_link": LinkContent,
    "password_code": CodeContent,
    "signup_code": CodeContent,
    "signup_known": SignUpKnownContent,
    "contact_code": ContactCodeContent,
    "contact_change": ContactChangeContent,
    "bank_account_changed": BankAccountContent,
    "own_bank_account_changed": OwnBankAccountContent,
}


def emit(
    world: World,
    tenant: Tenant,
    contact: Contact,
    kind: MessageKind,
    object_id: UUID,
    content: Struct,
) -> None:
    """Adds a message to the batch if the customer is live and the service can reach them."""
    reached = reach(contact.email, contact.mobile, world.channels)
    if tenant.mode == "sandbox" or reached is None:
        return
    channel, recipient = reached
    message = Message(
        id=world.new_id(),
        created_at=world.now,
        kind=kind,
        channel=channel,
        recipient=recipient,
        language=contact.language,
        parameters=to_json(content).decode(),
        tenant_id=tenant.id,
        customer_id=contact.customer_id,
        object_id=object_id,
    )
    world.messages.append(message)


def reach(
    email: str | None, mobile: str | None, channels: frozenset[str]
) -> tuple[Channel, str] | None:
    """The channel and its address: email before SMS."""
    if email is not None and "email" in channels:
        return "email", email
    if mobile is not None and "sms" in channels:
        return "sms", f"+{COUNTRY}{mobile}"
    return None
