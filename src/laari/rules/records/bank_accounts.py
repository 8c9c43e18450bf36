"""The records of accounts at banks, of merchants and wallets."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from laari.rules.records.messages import Recipient
from laari.rules.records.tenants import Mode


class BankDetails(NamedTuple):
    """What a bank needs to send money to an account."""

    holder: str
    bank: str
    account_number: str


SHOWN_DIGITS = 4  # of an account number, to people who may not see all of it


class BankAccount(Struct, frozen=True):
    """An account at a bank, of a merchant or a wallet, from `effective_at` on; never changed."""

    id: UUID
    tenant_id: int | None
    holder: str
    bank: str
    account_number: str
    created_at: datetime
    effective_at: datetime
    actor_kind: str
    actor_name: str
    account: int | None = None

    @property
    def owner(self) -> int:
        """The tenant's number or the wallet's, which are far apart."""
        return owner(self.tenant_id, self.account)

    @property
    def entered_by(self) -> str:
        """As `written` for an actor."""
        return f"{self.actor_kind} {self.actor_name}"

    @property
    def details(self) -> BankDetails:
        return BankDetails(self.holder, self.bank, self.account_number)


class AccountOwner(NamedTuple):
    """The merchant or the customer who has a bank account, and who hears of a change."""

    name: str
    mode: Mode
    merchant_id: str | None
    recipients: tuple[Recipient, ...]
    # When the last contact that the customer had lost was replaced: by a thief, perhaps.
    contact_lost_at: datetime | None = None


def owner(tenant_id: int | None, account: int | None) -> int:
    number = account if tenant_id is None else tenant_id
    assert number is not None  # by a constraint of the table
    return number
