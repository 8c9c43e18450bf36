"""Reads of the wallet interface."""

from collections.abc import Collection
from typing import NamedTuple

from asyncpg import Connection

from laari.rules.records.tenants import Mode, TenantClock
from laari.rules.records.wallets import Tier, Transaction, Wallet
from laari.rules.wallets import limits_in_force, seen_by_customer
from laari.store.reads.tiers import LIMITS
from laari.store.tables import TRANSACTIONS


class WalletStatus(NamedTuple):
    """A wallet, its limits as the customer sees them, and the clock of its sandbox, if any."""

    wallet: Wallet
    tier: Tier
    clock: TenantClock | None


async def by_account(connection: Connection, accounts: list[int]) -> dict[int, WalletStatus]:
    wallet_columns = ", ".join(f"w.{field}" for field in Wallet.__struct_fields__)
    tier_columns = ", ".join(f"t.{limit}" for limit in ("name", *LIMITS))
    rows = await connection.fetch(
        f"SELECT s.id, s.clock_offset_seconds, {tier_columns}, {wallet_columns} FROM wallets w "
        "JOIN tiers t ON t.name = w.tier JOIN customers c ON c.id = w.customer_id "
        "LEFT JOIN tenants s ON s.id = c.sandbox_of WHERE w.account = ANY($1)",
        accounts,
    )
    end = 2 + 1 + len(LIMITS)
    statuses = (
        WalletStatus(
            wallet,
            limits_in_force(seen_by_customer(wallet), Tier(*row[2:end])),
            None if row[0] is None else TenantClock(row[0], row[1]),
        )
        for row in map(tuple, rows)
        for wallet in (Wallet(*row[end:]),)
    )
    return {wallet_status.wallet.account: wallet_status for wallet_status in statuses}


async def topups_by_slip(
    connection: Connection, slips: Collection[str]
) -> dict[tuple[Mode, str], Transaction]:
    columns = ", ".join(f"t.{field}" for field in Transaction.__struct_fields__)
    rows = await connection.fetch(
        f"SELECT s.mode, s.slip, {columns} FROM topup_slips s "
        "JOIN transactions t ON t.tid = s.tid WHERE s.slip = ANY($1)",
        list(slips),
    )
    return {(mode, slip): Transaction(*rest) for mode, slip, *rest in map(tuple, rows)}


async def history(
    connection: Connection, account: int, before: str | None, limit: int
) -> tuple[list[Transaction], bool] | None:
    """Up to `limit` transactions after `before`, newest first, and whether older ones remain.

    None if the account has no transaction `before`. Every insert holds its wallet's row lock, so no
    row appears behind a page that was shown.
    """
    place = None
    if before is not None:
        place = await connection.fetchval(
            "SELECT recorded FROM transactions WHERE tid = $1 AND account = $2", before, account
        )
        if place is None:
            return None
    rows = await connection.fetch(
        f"{TRANSACTIONS.select} WHERE account = $1 AND recorded < coalesce($2, {2**63 - 1}) "
        "ORDER BY recorded DESC LIMIT $3",
        account,
        place,
        limit + 1,
    )
    return [TRANSACTIONS.read(row) for row in rows[:limit]], len(rows) > limit


async def line(connection: Connection, account: int, tid: str) -> Transaction | None:
    """One line of the history of this wallet."""
    found = (await lines_by_tid(connection, [tid])).get(tid)
    return found if found is not None and found.account == account else None


async def lines_by_tid(connection: Connection, tids: Collection[str]) -> dict[str, Transaction]:
    rows = await connection.fetch(f"{TRANSACTIONS.select} WHERE tid = ANY($1)", list(tids))
    return {line.tid: line for line in map(TRANSACTIONS.read, rows)}
