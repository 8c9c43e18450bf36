"""What the operator does with a customer's wallet."""

import re

from asyncpg import Connection

from laari.operations.fields import Field, Lines, Text, flag, reason
from laari.operations.operation import Context, Operation, Shape, Subject, command
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.banking.wallet_controls import FreezeWallet, SetTier, UnfreezeWallet
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.limits.texts import MAX_CUSTOMER_NOTE
from laari.rules.people.customers import AddNote
from laari.rules.people.log_ins import EndSessions
from laari.rules.people.passkeys import EndPasskeys
from laari.rules.people.remembered_devices import ForgetDevices
from laari.rules.people.trusted import EndTrust
from laari.rules.records.people import CustomerId
from laari.rules.refusals import refuse
from laari.store.bank_statements import Ask
from laari.store.reads import holders
from laari.store.reads.holders import Holder
from laari.store.reads.people import customers, trusted

MOST_NOTES = 1000  # that a command lists
_ACCOUNT = re.compile(r"[0-9]{1,18}", re.ASCII)


async def find(connection: Connection, customer: str) -> Holder | None:
    """By the customer's id or the account number of the wallet."""
    customer_id = ids.read_id(ids.CUSTOMER, customer)
    if customer_id is not None:
        return await holders.by_customer(connection, customer_id)
    if _ACCOUNT.fullmatch(customer):
        return await holders.by_account(connection, int(customer))
    return None


def described(holder: Holder) -> dict[str, object]:
    return {
        "customer_id": ids.show_id(ids.CUSTOMER, holder.customer_id),
        "account_number": str(holder.account),
        "name": holder.name,
        "mode": holder.mode,
        "tier": holder.tier,
        "balance": holder.balance,
        "frozen": holder.frozen_at is not None,
        "frozen_at": show_or_none(holder.frozen_at),
        "frozen_reason": holder.frozen_reason,
        "frozen_silently": holder.frozen_silently,
        "mobile": holder.mobile,
        "email": holder.email,
        "vpa": holder.vpa,
        "language": holder.language,
        "merchant_id": holder.merchant_id,
        "created_at": show_time(holder.created_at),
    }


CUSTOMER = Subject(
    name="customer",
    about="CUSTOMER is an id or an account number.",
    fields=(Field("customer", Text(255), positional=True),),
    find=find,
    missing="no customer has the id or account number {customer!r}",
    shape=described,
)


def _freeze(actor: Actor, holder: Holder, reason: str, silent: bool, change: bool) -> FreezeWallet:
    return FreezeWallet(actor, holder.account, reason, silent, change)


FREEZE = Operation(
    "customer.freeze",
    needs=FreezeWallet.permission,
    subject=CUSTOMER,
    fields=(
        reason("always"),
        flag("silent", "Do not name the freeze on the customer's pages."),
        flag("change", "Replace the reason and silence of a freeze."),
    ),
    run=command(_freeze),
    done="The wallet is frozen. Nothing leaves it from now on.",
    about="""Stop money from leaving a customer's wallet.

    Payments and charges are refused as if they exceeded the wallet's limits. Refunds and top-ups
    still arrive, and the customer can still log in and read. A second freeze for another reason
    is refused unless you use --change.
    """,
)


def _unfreeze(actor: Actor, holder: Holder, reason: str | None) -> UnfreezeWallet:
    return UnfreezeWallet(actor, holder.account, reason)


UNFREEZE = Operation(
    "customer.unfreeze",
    needs=UnfreezeWallet.permission,
    subject=CUSTOMER,
    fields=(reason(),),
    run=command(_unfreeze),
    done="Money can leave the wallet again.",
    about="Let money leave a frozen wallet again.",
)


def _set_tier(actor: Actor, holder: Holder, tier: str, reason: str | None) -> SetTier:
    return SetTier(actor, holder.account, tier, reason)


SET_TIER = Operation(
    "customer.set-tier",
    needs=SetTier.permission,
    subject=CUSTOMER,
    fields=(Field("tier", Text(100), positional=True), reason()),
    run=command(_set_tier),
    done="The tier is changed.",
    about="""Set the tier of a customer's wallet.

    See `laari tier list` for the tiers.
    """,
)


def _end_passkeys(actor: Actor, holder: Holder) -> EndPasskeys:
    return EndPasskeys(actor, holder.customer_id)


END_PASSKEYS = Operation(
    "customer.end-passkeys",
    needs=EndPasskeys.permission,
    subject=CUSTOMER,
    fields=(),
    run=command(_end_passkeys),
    done="The customer has no passkeys now. The password still works.",
    about="""End all passkeys of a customer.

    For a stolen phone or computer. All sessions end too. The customer gets a message, and the
    password still works.
    """,
)


def _end_devices(actor: Actor, holder: Holder) -> ForgetDevices:
    return ForgetDevices(actor, holder.customer_id)


END_DEVICES = Operation(
    "customer.end-devices",
    needs=ForgetDevices.permission,
    subject=CUSTOMER,
    fields=(),
    run=command(_end_devices),
    done="No device pays for the customer without the password now.",
    about="""End all remembered devices of a customer.

    For a stolen phone or computer. The customer gets a message. Sessions and passkeys stay: end
    them too.
    """,
)


async def _end_trust(context: Context, holder: Holder, reason: str) -> object:
    found = await context.ask(trusted.of_customer, holder.customer_id, context.now)
    if found is None:
        return refuse("conflict", "The customer has no trusted person.")
    command = EndTrust(context.actor, holder.customer_id, found.trusted_id, reason)
    return await context.submit(command)


END_TRUST = Operation(
    "customer.end-trust",
    needs=EndTrust.permission,
    subject=CUSTOMER,
    fields=(reason("always"),),
    run=_end_trust,
    done="The trusted person gets no messages now. Both have a message about it.",
    about="""End the messages to the trusted person of a customer.

    This takes effect at once; the customer's own request takes a day. Verify the caller first. Both
    get a message.
    """,
)


def _end_sessions(actor: Actor, holder: Holder) -> EndSessions:
    return EndSessions(actor, CustomerId(holder.customer_id))


# `session end` names a customer or a person of a merchant, so it has logic of its own.
END_SESSIONS = Operation(
    "customer.end-sessions",
    needs="sessions.end",
    subject=CUSTOMER,
    fields=(),
    run=command(_end_sessions),
    done="All sessions of this customer have ended.",
    typed="session end",
    about="""End all sessions of a customer.

    The password stays the same.
    """,
)


def _note(actor: Actor, holder: Holder, note: str) -> AddNote:
    return AddNote(actor, holder.customer_id, note)


async def note_shapes(ask: Ask, holder: Holder, added: object = None) -> list[Shape]:
    """All notes about the customer, the newest first."""
    found = await ask(customers.notes, holder.customer_id, MOST_NOTES)
    return [
        {"time": show_time(each.time), "author": each.author, "text": each.text} for each in found
    ]


NOTE = Operation(
    "customer.note",
    needs="customers.note",
    subject=CUSTOMER,
    fields=(Field("note", Lines(MAX_CUSTOMER_NOTE), positional=True, typed="text"),),
    run=command(_note),
    shape=note_shapes,
    done="The note is added.",
    about="""Add a note about a customer and list all notes.

    Without TEXT, this lists them. Only operators see notes, and nobody can change them.
    """,
)
