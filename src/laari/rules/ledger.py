"""Movements of money. Every one has two sides, so the books balance by construction."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from laari.rules.records.ledger import Transfer, TransferKind
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.records.wallets import Wallet
from laari.rules.tables import UnlockedRowError
from laari.rules.world import World

# These accounts have no stored balance: it is the sum of their transfers. So payments never wait
# for the row of a busy account.
_SERVICE_ACCOUNTS: dict[tuple[str, Mode], int] = {
    ("fees", "live"): 1,
    ("fees", "sandbox"): 2,
    ("outside", "live"): 3,  # the bank account: top-ups come from there
    ("outside", "sandbox"): 4,
    ("in transit", "live"): 5,  # sent to the bank, not confirmed
    ("in transit", "sandbox"): 6,
    ("corrections", "live"): 7,  # the other side of adjustments
    ("corrections", "sandbox"): 8,
    ("unallocated", "live"): 9,  # received, not yet assigned
    ("unallocated", "sandbox"): 10,
}
FIRST_MERCHANT_ACCOUNT = 1_000_000_000
FIRST_HELD_ACCOUNT = 2_000_000_000
FIRST_WALLET_ACCOUNT = 7_700_000_000_000


class Account(NamedTuple):
    """One side of a transfer. Every account belongs to one mode."""

    number: int
    mode: Mode


class ModesMixedError(Exception):
    """A transfer between the modes: a defect, and nothing is committed."""


def fee_account(mode: Mode) -> Account:
    return Account(_SERVICE_ACCOUNTS["fees", mode], mode)


def outside_account(mode: Mode) -> Account:
    return Account(_SERVICE_ACCOUNTS["outside", mode], mode)


def in_transit_account(mode: Mode) -> Account:
    return Account(_SERVICE_ACCOUNTS["in transit", mode], mode)


def corrections_account(mode: Mode) -> Account:
    return Account(_SERVICE_ACCOUNTS["corrections", mode], mode)


def unallocated_account(mode: Mode) -> Account:
    return Account(_SERVICE_ACCOUNTS["unallocated", mode], mode)


def merchant_account(tenant: Tenant) -> Account:
    """The money that is available to a merchant."""
    return Account(FIRST_MERCHANT_ACCOUNT + tenant.id, tenant.mode)


def held_account(tenant: Tenant) -> Account:
    return Account(FIRST_HELD_ACCOUNT + tenant.id, tenant.mode)


def wallet_account(wallet: Wallet) -> Account:
    return Account(wallet.account, wallet.mode)


def transfer(
    world: World,
    kind: TransferKind,
    debit: Account,
    credit: Account,
    amount: int,
    *,
    tid: str,
    created_at: datetime,
    payment_id: UUID | None = None,
) -> Transfer:
    """Adds a transfer to the batch, and returns it."""
    if debit.mode != credit.mode:
        raise ModesMixedError(f"{kind} from account {debit.number} to {credit.number}")
    id = world.new_id()
    made = Transfer(
        id=id,
        kind=kind,
        debit_account=debit.number,
        credit_account=credit.number,
        amount=amount,
        payment_id=payment_id,
        tid=tid,
        created_at=created_at,
    )
    world.transfers.append(made)
    return made


def available(world: World, tenant: Tenant) -> int:
    """A merchant's balance, with the transfers of this batch; its funds must be locked."""
    return _with_batch(world, tenant, merchant_account(tenant), world.balances)


def held(world: World, tenant: Tenant) -> int:
    """The money of a merchant that is held; the same applies."""
    return _with_batch(world, tenant, held_account(tenant), world.held)


def _with_batch(world: World, tenant: Tenant, account: Account, loaded: dict[int, int]) -> int:
    if not world.funds.is_locked(tenant.id):
        raise UnlockedRowError(f"the balance of tenant {tenant.id} was read without a lock")
    moved = sum(
        each.amount if each.credit_account == account.number else -each.amount
        for each in world.transfers
        if account.number in (each.credit_account, each.debit_account)
    )
    return loaded[tenant.id] + moved
