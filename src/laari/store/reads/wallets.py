"""Reads of the wallet interface, and the window that counts the requests of an account."""

from collections.abc import Collection
from typing import NamedTuple

from asyncpg import Connection

from laari.rules import terms
from laari.rules.records import Mode, TenantClock, Tier, Transaction, Wallet
from laari.rules.wallets import limits_in_force, seen_by_customer
from laari.store.reads.tiers import LIMITS
from laari.store.tables import TRANSACTIONS


class KeyUse(NamedTuple):
    """A request with a valid key: its account, and its number in the account's window."""

    account: int
    number: int
    seconds_left: int  # until the window ends, at least 1


_WINDOW = f"interval '{terms.WALLET_WINDOW_SECONDS} seconds'"
_STILL_OPEN = f"held.opened_at > excluded.opened_at - {_WINDOW}"

# Requests of one account in one statement are numbered in their order. Windows are locked in the
# order of accounts, and keys under the lock of the window, so two processes never deadlock. After a
# wait for the row a request may count in a window that opened after its own start.
_COUNT_USE = f"""
WITH asked AS (
    SELECT place, digest, account,
           row_number() OVER (PARTITION BY account ORDER BY place) AS nth,
           count(*) OVER (PARTITION BY account) AS requests
    FROM unnest($1::bytea[]) WITH ORDINALITY AS request (digest, place)
    JOIN wallet_keys USING (digest)
    WHERE revoked_at IS NULL
), counted AS (
    INSERT INTO wallet_windows AS held (account, opened_at, used)
    SELECT DISTINCT account, now(), requests FROM asked ORDER BY account
    ON CONFLICT (account) DO UPDATE SET
        opened_at = CASE WHEN {_STILL_OPEN} THEN held.opened_at ELSE excluded.opened_at END,
        used = CASE WHEN {_STILL_OPEN} THEN held.used ELSE 0 END + excluded.used
    RETURNING account, used, opened_at + {_WINDOW} AS closes_at
), noted AS (
    UPDATE wallet_keys SET last_used_at = now() FROM asked JOIN counted USING (account)
    WHERE wallet_keys.digest = asked.digest
    AND (last_used_at < now() - interval '{terms.USE_KNOWN_TO_SECONDS} seconds') IS NOT FALSE
)
SELECT place, account, used - requests + nth AS number,
       greatest(1, ceil(extract(epoch FROM closes_at - clock_timestamp())))::bigint AS seconds_left
FROM asked JOIN counted USING (account)
"""


async def count_use(connection: Connection, digests: list[bytes]) -> list[KeyUse | None]:
    """Finds the keys and counts the requests in one round trip; None for an invalid key."""
    uses: list[KeyUse | None] = [None] * len(digests)
    for place, *found in await connection.fetch(_COUNT_USE, digests):
        uses[place - 1] = KeyUse(*found)
    return uses


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
