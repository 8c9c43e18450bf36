"""Movements of money. Every one has two sides, so the books balance by construction."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from laari.rules import ids
from laari.rules.records import Mode, Transfer, TransferKind
from laari.rules.world import World

# Accounts that are not a customer's wallet. They carry no stored balance (it is the sum of their
# transfers), so however busy they are, they are never a row that payments queue for.
_SERVICE_ACCOUNTS: dict[tuple[str, Mode], int] = {
    ("fees", "live"): 1,
    ("fees", "sandbox"): 2,
    ("outside", "live"): 3,  # where top-ups come from and corrections are booked against
    ("outside", "sandbox"): 4,
}
_FIRST_MERCHANT_ACCOUNT = 1_000_000_000
FIRST_WALLET_ACCOUNT = 7_700_000_000_000


def fee_account(mode: Mode) -> int:
    return _SERVICE_ACCOUNTS["fees", mode]


def outside_account(mode: Mode) -> int:
    return _SERVICE_ACCOUNTS["outside", mode]


def merchant_account(tenant_id: int) -> int:
    return _FIRST_MERCHANT_ACCOUNT + tenant_id


def transfer(
    world: World,
    kind: TransferKind,
    debit: int,
    credit: int,
    amount: int,
    tid: str,
    created_at: datetime,
    payment_id: UUID | None = None,
) -> None:
    world.transfers.append(
        Transfer(ids.new_id(), kind, debit, credit, amount, payment_id, tid, created_at)
    )
