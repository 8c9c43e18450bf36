"""Messages to people, by email or SMS. Their texts are written when they are sent."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from laari.rules.records.messages import (
    Channel,
    Contact,
    Language,
    Message,
    MessageChoice,
    MessageKind,
    Recipient,
)
from laari.rules.records.people import COUNTRY, Customer
from laari.rules.records.tenants import Tenant
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
    """The values for the receipt of a line of the history; `line` says what the line is."""

    line: str
    amount: int
    details: str
    time: datetime
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


class AccessContent(Struct, frozen=True):
    """A passkey, a remembered device or a key was added or ended; the link sets a password."""

    name: str
    at: datetime
    link: str


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


class ContactLostContent(Struct, frozen=True):
    """The same for a contact that the customer has lost: without the link."""

    effective_at: datetime


class ContactTakenContent(Struct, frozen=True):
    """The values for the notice that another customer entered this contact as theirs."""

    at: datetime


class CaseContent(Struct, frozen=True):
    """The values for the operator's answer to a case of a customer."""

    amount: int
    details: str  # of the line
    answer: str
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


class TrustContent(Struct, frozen=True):
    """A customer asks somebody to be their trusted person."""

    customer: str
    contact_end: str  # most of it is hidden
    amount: int  # messages are for payments above it
    link: str


class TrustAgreedContent(Struct, frozen=True):
    """The trusted person agreed."""

    number: str  # as the customer entered it
    amount: int
    link: str


class TrustEndContent(Struct, frozen=True):
    """The messages to a trusted person end, or have ended."""

    customer: str
    effective_at: datetime


class TrustedPaymentContent(Struct, frozen=True):
    """A large payment or withdrawal, for the trusted person and for the customer."""

    customer: str
    amount: int
    details: str  # the payee, or the words of the line
    at: datetime


class TrustedAuthorizationContent(Struct, frozen=True):
    """A merchant may charge the customer from now on."""

    customer: str
    merchant: str
    title: str


class TrustedAccountContent(Struct, frozen=True):
    """Another bank account for the customer's withdrawals."""

    customer: str
    bank: str
    number: str
    effective_at: datetime


class MovementContent(Struct, frozen=True):
    """The values for a notice of a movement that its owner did not make.

    The recipient chooses whether to get it (`MessageChoice`).
    """

    amount: int


class WalletMovementContent(MovementContent, frozen=True):
    """Money that came into a wallet, or a correction; with the words of its line of history."""

    details: str
    balance: int


class ReturnContent(WalletMovementContent, frozen=True):
    """Money of a withdrawal that the bank returned; the link corrects the bank account."""

    link: str


class WithdrawalContent(MovementContent, frozen=True):
    """Money of a withdrawal that is back in the wallet."""

    balance: int


class ShopMovementContent(MovementContent, frozen=True):
    """A refund, or a charge within an authorization."""

    merchant: str
    title: str
    balance: int
    link: str


class FreezeContent(Struct, frozen=True):
    """The values for the notice of a wallet that was frozen or unfrozen; never the reason."""

    at: datetime


class PayoutContent(MovementContent, frozen=True):
    """A payout that went to the bank, or that the bank returned."""

    merchant: str
    number: str
    details: str  # the bank account, or the reason
    link: str  # to the payout, or to correct the account


class CancelledPayoutContent(MovementContent, frozen=True):
    """A payout that the operator cancelled."""

    merchant: str
    number: str
    link: str


class FundsContent(MovementContent, frozen=True):
    """Money that the operator held, released or corrected."""

    merchant: str
    reason: str
    available: int
    held: int
    link: str


class DecisionContent(Struct, frozen=True):
    """The values for a decision of the operator about a merchant."""

    merchant: str
    reason: str
    link: str


class MerchantContent(Struct, frozen=True):
    """The same without a reason."""

    merchant: str
    link: str


CONTENTS: dict[MessageKind, type[Struct]] = {
    "payment_request": RequestContent,
    "receipt": ReceiptContent,
    "invitation": InvitationContent,
    "new_device": DeviceContent,
    "passkey_added": AccessContent,
    "passkey_ended": AccessContent,
    "device_remembered": AccessContent,
    "device_forgotten": AccessContent,
    "key_created": AccessContent,
    "key_revoked": AccessContent,
    "password_link": LinkContent,
    "password_code": CodeContent,
    "signup_code": CodeContent,
    "signup_known": SignUpKnownContent,
    "contact_code": ContactCodeContent,
    "contact_change": ContactChangeContent,
    "contact_lost": ContactLostContent,
    "contact_taken": ContactTakenContent,
    "case_answered": CaseContent,
    "bank_account_changed": BankAccountContent,
    "own_bank_account_changed": OwnBankAccountContent,
    "trust_asked": TrustContent,
    "trust_agreed": TrustAgreedContent,
    "trust_ending": TrustEndContent,
    "trust_ended": TrustEndContent,
    "trust_stopped": TrustEndContent,
    "trusted_payment": TrustedPaymentContent,
    "trusted_authorization": TrustedAuthorizationContent,
    "trusted_bank_account": TrustedAccountContent,
    "topup": WalletMovementContent,
    "refund": ShopMovementContent,
    "charge": ShopMovementContent,
    "correction": WalletMovementContent,
    "withdrawal_returned": ReturnContent,
    "withdrawal_cancelled": WithdrawalContent,
    "wallet_frozen": FreezeContent,
    "wallet_unfrozen": FreezeContent,
    "payout_sent": PayoutContent,
    "payout_returned": PayoutContent,
    "payout_cancelled": CancelledPayoutContent,
    "merchant_hold": FundsContent,
    "merchant_release": FundsContent,
    "merchant_correction": FundsContent,
    "payouts_paused": DecisionContent,
    "payouts_resumed": MerchantContent,
    "application_approved": MerchantContent,
    "application_refused": DecisionContent,
    "webhook_given_up": MerchantContent,
}


def addressed(
    message_id: UUID, kind: MessageKind, channel: Channel, recipient: str, language: Language
) -> bytes:
    """What the content of a message is encrypted for: nobody else can open it."""
    return f"message {message_id} {kind} {channel} {language} {recipient}".encode()


def emit(
    world: World,
    tenant: Tenant,
    contact: Contact,
    kind: MessageKind,
    object_id: UUID,
    *,
    content: Struct,
) -> None:
    """Adds a message to the batch if the customer is live and the service can reach them."""
    if tenant.mode == "live":
        to = Recipient(contact.email, contact.mobile, contact.language, contact.customer_id)
        send(world, to, kind, content, tenant_id=tenant.id, object_id=object_id)


def send(
    world: World,
    to: Recipient,
    kind: MessageKind,
    content: Struct,
    *,
    tenant_id: int | None = None,
    object_id: UUID | None = None,
) -> None:
    """Adds a message to the batch if the recipient wants it and the service can reach them."""
    if isinstance(content, MovementContent) and not wants(to.choice, content.amount):
        return
    reached = reach_by_choice(to, world.channels)
    if reached is None:
        return
    channel, address = reached
    message_id = world.new_id()
    context = addressed(message_id, kind, channel, address, to.language)
    message = Message(
        id=message_id,
        created_at=world.now,
        kind=kind,
        channel=channel,
        recipient=address,
        language=to.language,
        parameters=world.encrypt(to_json(content), context),
        tenant_id=tenant_id,
        customer_id=to.customer_id,
        object_id=object_id,
    )
    world.messages.append(message)


def wants(choice: MessageChoice, amount: int) -> bool:
    """Whether somebody wants a message about a movement of this amount."""
    return choice.channel != "none" and abs(amount) >= choice.least


def reach_by_choice(to: Recipient, channels: frozenset[str]) -> tuple[Channel, str] | None:
    """The chosen channel if it reaches them, or else any: a message is worth more than a choice."""
    chosen = channels & {to.choice.channel}
    return reach(to.email, to.mobile, chosen) or reach(to.email, to.mobile, channels)


def reach(
    email: str | None, mobile: str | None, channels: frozenset[str]
) -> tuple[Channel, str] | None:
    """The channel and its address: email before SMS."""
    if email is not None and "email" in channels:
        return "email", email
    if mobile is not None and "sms" in channels:
        return "sms", f"+{COUNTRY}{mobile}"
    return None


def tell_access(world: World, customer: Customer, kind: MessageKind, names: Iterable[str]) -> None:
    """Tells what opens a wallet, pays from it or reads it: a passkey, a remembered device, a key.

    Sandbox customers get no messages.
    """
    if customer.mode != "live":
        return
    content = AccessContent(", ".join(names), world.now, f"{world.origin}/app/forgotten")
    send(world, customer.recipient, kind, content)
