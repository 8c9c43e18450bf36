"""Bank accounts of merchants and customers: which one is used, from when, and who entered it.

A change takes effect after 48 hours, and the owners get a notice. They stop it by entering the
account in use again.
"""

import unicodedata
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple
from uuid import UUID

from laari.rules.actors import Actor, is_themselves, written
from laari.rules.banking.bank_file import MAX_HOLDER, is_account_number, is_bank_text
from laari.rules.banking.banks import BANKS, bank_code
from laari.rules.banking.second_person import (
    Asked,
    Booked,
    Controlled,
    Prepared,
)
from laari.rules.calendar import MALDIVES
from laari.rules.journal import Act, note
from laari.rules.ledger import FIRST_WALLET_ACCOUNT
from laari.rules.limits.second_person import RECENT
from laari.rules.messages import BankAccountContent, OwnBankAccountContent, send
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks, lacks_now
from laari.rules.records.bank_accounts import SHOWN_DIGITS, AccountOwner, BankAccount, BankDetails
from laari.rules.records.messages import MessageKind
from laari.rules.records.second_person import PendingMovement
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

DELAY = timedelta(hours=48)


def masked(account_number: str) -> str:
    """The number with all digits hidden except the last four."""
    return "•" * (len(account_number) - SHOWN_DIGITS) + account_number[-SHOWN_DIGITS:]


def not_valid(details: BankDetails) -> Refusal | None:
    if not is_bank_text(details.holder):
        allowed = f"1 to {MAX_HOLDER} letters, digits, spaces and . , ' & ( ) / -"
        return invalid("holder", f"The holder must have {allowed}, and begin with a letter.")
    if details.bank not in BANKS:
        return invalid("bank", f"The bank must be one of: {', '.join(BANKS)}.")
    if not is_account_number(details.account_number):
        return invalid("account_number", "The account number must have 4 to 20 digits.")
    return None


def read_details(holder: str, bank: str, number: str) -> BankDetails:
    """A bank account as people write it: the number with any spaces and hyphens."""
    digits = "".join(number.split()).replace("-", "")
    return BankDetails(" ".join(holder.split()), bank_code(" ".join(bank.split())), digits)


def is_same_name(one: str, other: str) -> bool:
    """Whether two names have the same letters and digits, whatever their case and signs."""
    return _folded(one) == _folded(other)


def _folded(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(each for each in folded if unicodedata.category(each)[0] in "LMN")


def in_effect(accounts: Iterable[BankAccount], now: datetime) -> BankAccount | None:
    """The bank account that is used at this moment: the newest one whose 48 hours have passed."""
    begun = [account for account in accounts if account.effective_at <= now]
    return max(begun, key=lambda account: (account.created_at, account.id), default=None)


def coming(accounts: Iterable[BankAccount], now: datetime) -> list[BankAccount]:
    """The bank accounts that will be used later, if nothing stops them; `accounts` by their age."""
    found: list[BankAccount] = []
    for account in accounts:
        if account.effective_at > now:
            found.append(account)
        else:
            found.clear()  # it is newer than the ones before
    return found


class Owned(NamedTuple):
    """The bank accounts of an owner by their age, and those that the bank has paid."""

    accounts: Sequence[BankAccount]
    paid: Container[UUID]

    def new(self, now: datetime) -> list[BankAccount]:
        """Those in use or coming that are younger than 30 days, or were never paid."""
        used = in_effect(self.accounts, now)
        shown = ([] if used is None else [used]) + coming(self.accounts, now)
        return [each for each in shown if _is_recent(each, now) or each.id not in self.paid]

    def entered_new(self, now: datetime) -> set[str]:
        """Who entered a new one, or one that was replaced in the last 30 days."""
        recent = [each for each in self.accounts if _is_recent(each, now)]
        return {each.entered_by for each in [*recent, *self.new(now)]}


def _is_recent(account: BankAccount, now: datetime) -> bool:
    return account.created_at > now - RECENT


def no_account(accounts: Iterable[BankAccount], now: datetime) -> Refusal:
    """Why there is no account in effect."""
    later = coming(accounts, now)
    if not later:
        return refuse("payout_not_possible", "There is no bank account.")
    begins = later[0].effective_at.astimezone(MALDIVES)
    message = f"The bank account is used from {begins:%-d %b %Y, %H:%M}."
    return refuse("payout_not_possible", message)


def no_owner() -> Refusal:
    return refuse("not_found", "There is no such merchant or wallet.")


def effective_from(
    accounts: Sequence[BankAccount], now: datetime, details: BankDetails, *, by_owner: bool
) -> datetime:
    """When a bank account takes effect: at once if its owner enters the first one.

    The account in use, entered again, does so too. It is newer than a change that has not begun,
    so it stops that change. All others wait, so that the owner can object.
    """
    current = in_effect(accounts, now)
    if current is not None and current.details == details:
        return now
    return now if not accounts and by_owner else now + DELAY


@dataclass(frozen=True, slots=True)
class AddBankAccount(Controlled[BankAccount]):
    """Adds an account of a tenant or a wallet; the newest one again changes nothing.

    An operator needs a second person for a holder with another name than the customer. `asked_for`
    is then the movement: its person entered the account, and no other was entered meanwhile. The
    owners get a notice. `permission` is for the account of a customer.
    """

    permission = "wallets.move"
    own_permission: ClassVar[Permission] = "bank.manage"  # of a merchant: owners, and admins
    actor: Actor
    owner: int
    details: BankDetails
    asked_for: PendingMovement | None = None

    def rows(self, needs: Needs) -> None:
        # Two at once are added one after the other, so that only one of them is the first.
        if self.owner >= FIRST_WALLET_ACCOUNT:
            needs.lock(World.wallets, self.owner)
        else:
            needs.lock(World.funds, self.owner)
            needs.role_at(self.owner, self.actor)
        needs.read(World.bank_accounts, self.owner)
        needs.read(World.account_owners, self.owner)

    def busy(self) -> Refusal:
        return refuse("conflict", "Another command is changing this bank account.")

    def forbidden(self, world: World) -> Refusal | None:
        if self.owner >= FIRST_WALLET_ACCOUNT:
            wallet = world.wallets.get(self.owner)
            is_own = wallet is not None and is_themselves(self.actor, wallet.customer_id)
            return None if is_own else lacks(self.actor, self.permission)
        owner = world.account_owners.get(self.owner)
        if owner is None or owner.merchant_id is None:
            return no_owner()
        return lacks_now(world, self.actor, owner.merchant_id, self.own_permission)

    def prepare(self, world: World) -> Prepared[BankAccount] | BankAccount | Refusal:
        refusal = not_valid(self.details)
        if refusal is not None:
            return refusal
        owner = world.account_owners.get(self.owner)
        if owner is None:
            return no_owner()
        is_wallet = self.owner >= FIRST_WALLET_ACCOUNT
        if is_wallet and owner.mode != "live":
            return refuse("conflict", "Only customers with real money have a bank account.")
        known = world.bank_accounts[self.owner]
        if known and known[-1].details == self.details:
            return known[-1]
        asked, waited = None, self.asked_for
        if waited is not None and known and known[-1].created_at > waited.requested_at:
            return refuse("conflict", "Another bank account was entered meanwhile.")
        if is_wallet and self.actor.is_operator and not self._is_holder(owner):
            asked = self._asked()
        return Prepared(asked, lambda: self._add(world, owner))

    def _is_holder(self, owner: AccountOwner) -> bool:
        return is_same_name(self.details.holder, owner.name)

    def _asked(self) -> Asked:
        holder, bank, number = self.details
        return Asked(
            "bank_account",
            "live",
            0,
            f"Bank account of {holder}: {bank} {masked(number)}",
            account=self.owner,
            bank_account=self.details,
            always=True,
        )

    def _add(self, world: World, owner: AccountOwner) -> Booked[BankAccount]:
        account = enter(world, self.actor, self.owner, owner, self.details, waited=self.asked_for)
        _notify(world, owner, account)
        return Booked(account)


def enter(
    world: World,
    actor: Actor,
    tenant_or_wallet: int,
    owner: AccountOwner,
    details: BankDetails,
    *,
    waited: PendingMovement | None = None,
) -> BankAccount:
    """Adds an account, with its entry in the journal.

    The person of the movement that `waited` entered it.
    """
    is_wallet = tenant_or_wallet >= FIRST_WALLET_ACCOUNT
    known = world.bank_accounts[tenant_or_wallet]
    # Somebody with a new contact for a lost one may be no owner.
    lost_at = owner.contact_lost_at
    is_sure = lost_at is None or lost_at <= world.now - RECENT
    by_owner = (not actor.is_operator and is_sure) or owner.mode == "sandbox"
    entered_by = written(actor) if waited is None else waited.requested_by
    actor_kind, _, actor_name = entered_by.partition(" ")
    account = BankAccount(
        id=world.new_id(),
        tenant_id=None if is_wallet else tenant_or_wallet,
        account=tenant_or_wallet if is_wallet else None,
        holder=details.holder,
        bank=details.bank,
        account_number=details.account_number,
        created_at=world.now,
        effective_at=effective_from(known, world.now, details, by_owner=by_owner),
        actor_kind=actor_kind,
        actor_name=actor_name,
    )
    world.bank_accounts[tenant_or_wallet] = (*known, account)
    world.new_bank_accounts.append(account)
    note(
        world,
        Act(actor, "bank_account.add"),
        "bank_account",
        str(account.id),
        merchant_id=owner.merchant_id,
        mode=owner.mode,
        before=None,
        after={
            "tenant_id": account.tenant_id,
            "account": account.account,
            "holder": account.holder,
            "bank": account.bank,
            "account_number": account.account_number,
            "effective_at": account.effective_at,
            "entered_by": account.entered_by,
        },
    )
    return account


def _notify(world: World, owner: AccountOwner, account: BankAccount) -> None:
    """A message to each owner of a live merchant, or to the customer."""
    number = masked(account.account_number)
    kind: MessageKind = "own_bank_account_changed"
    content: BankAccountContent | OwnBankAccountContent
    if account.account is not None:
        content = OwnBankAccountContent(account.bank, number, account.effective_at)
    else:
        kind = "bank_account_changed"
        content = BankAccountContent(
            merchant=owner.name,
            bank=account.bank,
            holder=account.holder,
            number=number,
            actor=account.actor_name,
            effective_at=account.effective_at,
        )
    if owner.mode != "live":
        return
    for recipient in owner.recipients:
        send(
            world,
            recipient,
            kind,
            content,
            tenant_id=account.tenant_id,
            object_id=account.id,
        )
