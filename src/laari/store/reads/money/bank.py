"""Lines of the bank's statement, the movements that they may show, and the earned fees."""

from collections.abc import Collection, Sequence
from datetime import date
from uuid import UUID

from asyncpg import Connection

from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.line_targets import (
    Expected,
    Target,
    expected,
    mobiles_in,
    orders_in,
    target_of,
    wallets_in,
)
from laari.rules.ledger import FIRST_HELD_ACCOUNT, FIRST_MERCHANT_ACCOUNT
from laari.rules.records.bank import BankLine, BankMovement, EarnedFees
from laari.rules.records.tenants import Mode
from laari.rules.world import MovementKey
from laari.store.reads.money import payouts
from laari.store.reads.recipients import contacts_of
from laari.store.reads.wallets import topups_by_slip
from laari.store.tables import BANK_LINES

by_reference = BANK_LINES.finder("reference")


async def targets(connection: Connection, lines: Sequence[StatementLine]) -> list[Target]:
    """What each line names now."""
    orders = await payouts.order_by_reference(
        connection, [reference for line in lines for reference in orders_in(line)]
    )
    answered = await answers(connection, list(orders))
    live = await _live(connection, [account for line in lines for account in wallets_in(line)])
    mobiles = await contacts_of(
        connection, {("mobile", each) for line in lines for each in mobiles_in(line)}
    )
    by_mobile = {mobile: contact.account for (_, mobile), contact in mobiles.items()}
    slips = await topups_by_slip(connection, [line.reference for line in lines])
    return [
        target_of(
            line,
            orders=orders,
            live=live,
            mobiles=by_mobile,
            topup=slips.get(("live", line.reference)),
            answers=answered,
        )
        for line in lines
    ]


async def expectations(connection: Connection, lines: Sequence[StatementLine]) -> list[Expected]:
    """What the import would make of each line, with every conflict that is known now."""
    known = await by_reference(connection, [line.reference for line in lines])
    return [
        expected(line, target, known.get(line.reference))
        for line, target in zip(lines, await targets(connection, lines), strict=True)
    ]


async def _live(connection: Connection, accounts: Collection[int]) -> set[int]:
    rows = await connection.fetch(
        "SELECT account FROM wallets WHERE account = ANY($1) AND mode = 'live'", list(accounts)
    )
    return {row["account"] for row in rows}


async def imported_sums(connection: Connection, movement_ids: Collection[UUID]) -> dict[UUID, int]:
    """The money that the lines of these imports have credited to wallets and merchants."""
    rows = await connection.fetch(
        "SELECT movement_id, sum(amount)::bigint FROM bank_lines WHERE movement_id = ANY($1) "
        "AND (use = 'topup' AND booked_at = imported_at OR use = 'returned' AND tid IS NOT NULL) "
        "GROUP BY movement_id",
        list(movement_ids),
    )
    return dict.fromkeys(movement_ids, 0) | dict(rows)


async def importers(connection: Connection, day: date) -> frozenset[str]:
    """The people who imported lines of this day."""
    rows = await connection.fetch("SELECT DISTINCT imported_by FROM bank_lines WHERE day = $1", day)
    return frozenset(row["imported_by"] for row in rows)


async def answers(connection: Connection, references: Collection[str]) -> dict[str, frozenset[str]]:
    """The uses of the lines that name each of these orders."""
    rows = await connection.fetch(
        "SELECT order_reference, array_agg(use) FROM bank_lines "
        "WHERE order_reference = ANY($1) GROUP BY order_reference",
        list(references),
    )
    return {reference: frozenset(uses) for reference, uses in rows}


async def lines(connection: Connection, limit: int, *, only_open: bool) -> list[BankLine]:
    """The newest lines, or those that wait for a person."""
    where = "WHERE use IN ('receipt', 'none')" if only_open else ""
    rows = await connection.fetch(
        f"{BANK_LINES.select} {where} ORDER BY day DESC, reference DESC LIMIT $1", limit
    )
    return [BANK_LINES.read(row) for row in rows]


_SENT_BACK = """
SELECT 'sent_back' AS kind, l.reference AS name, l.amount, l.tid, l.handled_at AS time,
    m.reference AS matched
FROM bank_lines l LEFT JOIN bank_lines m ON m.tid = l.tid AND m.use = 'matched'
WHERE l.use = 'sent_back'
"""
_SWEPT = """
SELECT 'sweep' AS kind, s.number::text AS name, s.amount, t.tid, s.created_at AS time,
    m.reference AS matched
FROM fee_sweeps s JOIN transfers t ON t.id = s.transfer_id
LEFT JOIN bank_lines m ON m.tid = t.tid AND m.use = 'matched'
WHERE s.mode = 'live'
"""

# A person recorded only the return of these orders, and the bank's line for it came later.
_CAME_BACK = """
SELECT 'order' AS kind, o.reference AS name, o.amount, NULL AS tid, o.returned_at AS time,
    m.reference AS matched
FROM bank_lines l JOIN bank_orders o ON o.reference = l.order_reference
LEFT JOIN bank_lines m ON m.order_reference = o.reference AND m.use IN ('matched', 'settled')
WHERE l.use = 'returned' AND l.tid IS NULL AND o.settled_at IS NULL
"""


async def movements(
    connection: Connection, wanted: Collection[MovementKey]
) -> dict[MovementKey, BankMovement]:
    """Money that the books know as gone from the bank account, by its kind and name."""
    names: dict[str, list[str]] = {"sent_back": [], "sweep": [], "order": []}
    for kind, name in wanted:
        names[kind].append(name)
    rows = await connection.fetch(f"{_SENT_BACK} AND l.reference = ANY($1)", names["sent_back"])
    rows += await connection.fetch(f"{_SWEPT} AND s.number::text = ANY($1)", names["sweep"])
    rows += await connection.fetch(f"{_CAME_BACK} AND o.reference = ANY($1)", names["order"])
    found = [BankMovement(**row) for row in rows]
    return {(each.kind, each.name): each for each in found}


async def unmatched(connection: Connection, amounts: Collection[int]) -> list[BankMovement]:
    """Movements of these amounts that no line of the statement shows yet, newest first."""
    rows = await connection.fetch(
        f"{_SENT_BACK} AND l.amount = ANY($1) AND m.reference IS NULL "
        f"UNION ALL {_SWEPT} AND s.amount = ANY($1) AND m.reference IS NULL "
        f"UNION ALL {_CAME_BACK} AND l.amount = ANY($1) AND m.reference IS NULL "
        "ORDER BY time DESC",
        list(amounts),
    )
    return [BankMovement(**row) for row in rows]


# The fee of a payout is earned when it is sent. Until then a cancellation returns the fee, so that
# no sweep may take it.
_EARNED = """
SELECT (
    coalesce((SELECT sum(f.fees) FROM daily_figures f JOIN tenants t ON t.id = f.tenant_id
        WHERE t.mode = $1), 0)
    + coalesce((SELECT sum(amount) FROM transfers WHERE kind = 'fee' AND credit_account = $2
        AND xid > (SELECT xid FROM figures_upto)), 0)
    + coalesce((SELECT sum(p.fee) FROM payouts p JOIN tenants t ON t.id = p.tenant_id
        WHERE t.mode = $1 AND p.status IN ('sent', 'settled', 'returned')), 0)
    - coalesce((SELECT sum(amount) FROM fee_sweeps WHERE mode = $1), 0)
)::bigint
"""
# Fees are not returned with a refund, so a merchant may owe them. Nobody has paid those yet.
_OWED = f"""
SELECT coalesce(sum(-least(b.amount, 0)), 0)::bigint FROM (
    SELECT sum(part.amount) AS amount FROM (
        SELECT tenant_id, available + held AS amount FROM merchant_totals
        UNION ALL
        SELECT side.account % {FIRST_MERCHANT_ACCOUNT}, side.amount
        FROM transfers t CROSS JOIN LATERAL (
            VALUES (t.credit_account, t.amount), (t.debit_account, -t.amount)
        ) AS side (account, amount)
        WHERE t.xid > (SELECT xid FROM figures_upto)
            AND side.account >= {FIRST_MERCHANT_ACCOUNT}
            AND side.account < {FIRST_HELD_ACCOUNT + FIRST_MERCHANT_ACCOUNT}
    ) AS part JOIN tenants ON tenants.id = part.tenant_id AND tenants.mode = $1
    GROUP BY part.tenant_id
) AS b
"""
_FEES = f"SELECT ({_EARNED}) AS earned, ({_OWED}) AS owed"
_FEE_ACCOUNTS: dict[Mode, int] = {"live": 1, "sandbox": 2}


async def earned_fees(connection: Connection, modes: Collection[Mode]) -> dict[Mode, EarnedFees]:
    """The fees that can be swept. The number comes first: a sweep in between takes it."""
    found = {}
    for mode in modes:
        last = await connection.fetchval(
            "SELECT coalesce(max(number), 0) FROM fee_sweeps WHERE mode = $1", mode
        )
        row = await connection.fetchrow(_FEES, mode, _FEE_ACCOUNTS[mode])
        balance = row["earned"] - row["owed"]
        found[mode] = EarnedFees(balance=balance, owed=row["owed"], last_sweep=last)
    return found
