"""The records of messages, and of those whom they reach."""

from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

Language = Literal["en", "dv"]


class Contact(Struct, frozen=True):
    """A live customer, and how a message can reach them."""

    account: int
    customer_id: UUID
    email: str | None
    mobile: str | None
    language: Language


Channel = Literal["email", "sms"]

ChosenChannel = Literal["email", "sms", "none"]


class MessageChoice(Struct, frozen=True):
    """Which messages about movements somebody wants; the others are always sent.

    Without a channel it is an email, or an SMS if there is no address.
    """

    channel: ChosenChannel | None = None
    least: int = 0  # laari: no message about a smaller movement


EVERY_MESSAGE = MessageChoice()


class Recipient(NamedTuple):
    """Somebody whom a message can reach; a person of a merchant is no customer."""

    email: str | None
    mobile: str | None
    language: Language
    customer_id: UUID | None
    choice: MessageChoice = EVERY_MESSAGE


MessageKind = Literal[
    "payment_request",
    "receipt",
    "invitation",
    "new_device",
    "passkey_added",
    "passkey_ended",
    "device_remembered",
    "device_forgotten",
    "key_created",
    "key_revoked",
    "password_link",
    "password_code",
    "signup_code",
    "signup_known",
    "contact_code",
    "contact_change",
    "contact_lost",
    "contact_taken",
    "case_answered",
    "bank_account_changed",
    "own_bank_account_changed",
    "trust_asked",
    "trust_agreed",
    "trust_ending",
    "trust_ended",
    "trust_stopped",
    "trusted_payment",
    "trusted_authorization",
    "trusted_bank_account",
    "topup",
    "refund",
    "charge",
    "correction",
    "withdrawal_returned",
    "withdrawal_cancelled",
    "wallet_frozen",
    "wallet_unfrozen",
    "payout_sent",
    "payout_returned",
    "payout_cancelled",
    "merchant_hold",
    "merchant_release",
    "merchant_correction",
    "payouts_paused",
    "payouts_resumed",
    "application_approved",
    "application_refused",
    "webhook_given_up",
]

MessageStatus = Literal["pending", "sent", "failed", "suppressed"]  # the last one is on purpose


class Message(Struct, frozen=True):
    """A message to a person, stored in the transaction that caused it and sent later.

    `parameters` is the content for the message's kind (`laari.rules.messages`), as JSON that is
    encrypted for this recipient.
    """

    id: UUID
    created_at: datetime
    kind: MessageKind
    channel: Channel
    recipient: str
    language: Language
    parameters: bytes
    tenant_id: int | None
    customer_id: UUID | None
    object_id: UUID | None


class OutboxMessage(Struct, frozen=True):
    """How far a stored message has come, as far as the operator changes it."""

    id: UUID
    status: MessageStatus
    attempts: int
    next_attempt_at: datetime
