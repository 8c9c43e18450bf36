"""The customer's own contacts and bank account on the account page, and changes of a contact."""

from datetime import timedelta
from typing import NamedTuple, get_args
from uuid import UUID

from laari.edge.load.token_buckets import throttle_bucket
from laari.edge.pages.login import confirm, throttle
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.wallet.request import PASSWORD, WalletRequest
from laari.http.client_addresses import client_prefix
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.banking.bank_accounts import coming, in_effect, masked
from laari.rules.limits.messages import (
    LINKS_PER_ADDRESS,
    LINKS_PER_PERSON,
    LINKS_PER_PERSON_EVERYWHERE,
)
from laari.rules.people.contact_changes import (
    BY_CUSTOMER,
    CancelContactChange,
    ConfirmContactChange,
    RequestContactChange,
    can_change,
)
from laari.rules.people.contacts import READERS
from laari.rules.people.factor_codes import read_code
from laari.rules.records.bank_accounts import BankAccount
from laari.rules.records.people import ContactChange, ContactKind
from laari.rules.refusals import Refusal
from laari.store.reads import contact_changes, holders
from laari.store.reads.holders import Holder
from laari.store.reads.money import payouts

_KINDS: tuple[ContactKind, ...] = get_args(ContactKind)


class OwnContact(NamedTuple):
    """A contact on the account page."""

    kind: ContactKind
    value: str | None
    change: ContactChange | None  # the open one
    can_change: bool
    can_be_lost: bool  # whether it can be changed without a link to the present one


class Details(NamedTuple):
    holder: Holder
    contacts: list[OwnContact]
    account: BankAccount | None  # of withdrawals
    coming: list[BankAccount]
    number: str | None  # of the account, mostly hidden
    delay_hours: int


async def details_of(request: WalletRequest) -> Details:
    ask, settings = request.backend.ask, request.backend.settings
    holder = await ask(holders.by_account, request.customer.account)
    assert holder is not None  # a customer has a wallet, and wallets stay
    opened = await ask(contact_changes.open_of_customers, [holder.customer_id])
    changes = {each.contact: each for each in opened}
    accounts = (await ask(payouts.bank_accounts, [holder.account]))[holder.account]
    account = in_effect(accounts, request.now)
    values: dict[ContactKind, str | None] = {"mobile": holder.mobile, "email": holder.email}
    return Details(
        holder=holder,
        contacts=[
            OwnContact(
                kind,
                value,
                changes.get(kind),
                can_change(holder, kind, settings.channels, lost=False),
                value is not None and can_change(holder, kind, settings.channels, lost=True),
            )
            for kind, value in values.items()
        ],
        account=account,
        coming=coming(accounts, request.now),
        number=None if account is None else masked(account.account_number),
        delay_hours=settings.contact_delay_hours,
    )


def _kind_of(request: WalletRequest) -> ContactKind:
    named = request.form.get("contact")
    kind = next((each for each in _KINDS if each == named), None)
    if kind is None:
        raise RefusedForm(422, request.language.text("approval.busy"))
    return kind


async def change(request: WalletRequest) -> Reply:
    """Sends a code to the new contact. Strangers' contacts are throttled as at the sign-up."""
    kind, text = _kind_of(request), request.language.text
    value = READERS[kind](request.form.get("value", ""))
    if value is None:
        raise RefusedForm(422, text(f"details.no_{kind}"))
    await confirm(request, request.customer, always=True)
    address, own = client_prefix(request.http.client), request.customer.customer_id.hex
    throttle(
        request,
        [
            throttle_bucket(LINKS_PER_PERSON, "own contact", own),
            throttle_bucket(LINKS_PER_PERSON_EVERYWHERE, "new contact", value),
            throttle_bucket(LINKS_PER_ADDRESS, "new contact address", address),
        ],
    )
    command = RequestContactChange(
        request.actor,
        request.customer.customer_id,
        kind,
        value,
        reason=BY_CUSTOMER,
        lost=request.form.get("lost") == "on",
    )
    return await _decide(request, command, "code")


def _change_of(request: WalletRequest) -> UUID:
    """The change on the customer's screen."""
    change_id = ids.read_id("", request.form.get("change", ""))
    if change_id is None:
        raise RefusedForm(422, request.language.text("approval.busy"))
    return change_id


async def enter_code(request: WalletRequest) -> Reply:
    command = ConfirmContactChange(
        request.actor,
        request.customer.customer_id,
        _kind_of(request),
        _change_of(request),
        code=read_code(request.form.get("code", "")),
        reason=None,
        delay=timedelta(hours=request.backend.settings.contact_delay_hours),
    )
    return await _decide(request, command, "contact")


async def cancel(request: WalletRequest) -> Reply:
    command = CancelContactChange(
        request.actor,
        request.customer.customer_id,
        _kind_of(request),
        _change_of(request),
        BY_CUSTOMER,
    )
    return await _decide(request, command, "uncontact")


async def _decide(
    request: WalletRequest,
    command: RequestContactChange | ConfirmContactChange | CancelContactChange,
    done: str,
) -> Reply:
    outcome = await request.backend.spine.submit(command)
    if not isinstance(outcome, Refusal):
        return request.go(f"{PASSWORD}?done={done}")
    name = "details.wrong_code" if outcome.field == "code" else "details.changed"
    raise RefusedForm(outcome.status, request.language.text(name))
