"""Lines of the bank's statement, the days of the bank account, and the earned fees."""

from collections.abc import Collection, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from asyncpg import Connection

from laari.rules.banking.bank_days import cut_off_of
from laari.rules.banking.bank_file import references_in
from laari.rules.banking.bank_lines import Expected, Target, accounts_in, expected
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.payouts import tenant_of
from laari.rules.records import BankLine, BankMovement, EarnedFees, FloatSignoff, Mode
from laari.rules.world import MovementKey
from laari.store.reads.money import payouts
from laari.store.reads.wallets import topups_by_slip
from laari.store.tables import BANK_LINES, FLOAT_SIGNOFFS

by_reference = BANK_LINES.finder("reference")


async def targets(connection: Connection, lines: Sequence[StatementLine]) -> list[Target]:
    """What each line names: one order, or one live wallet. A line that names two names none.

    Without a number, a slip that was entered by hand says which wallet it was.
    """
    texts = [f"{line.reference} {line.description}" for line in lines]
    orders = await payouts.order_by_reference(
        connection, [reference for text in texts for reference in references_in(text)]
    )
    paid = await payouts.by_id(connection, [order.payout_id for order in orders.values()])
    by_id = await payouts.tenants_of(connection, paid.values())
    accounts = await _live(connection, [number for text in texts for number in accounts_in(text)])
    slips = await topups_by_slip(connection, [line.reference for line in lines])
    found = []
    for line, text in zip(lines, texts, strict=True):
        topup = slips.get(("live", line.reference))
        named = [orders[each] for each in references_in(text) if each in orders]
        wallets = [each for each in accounts_in(text) if each in accounts]
        if len(named) == 1:
            tenant = tenant_of(by_id, paid[named[0].payout_id])
            found.append(Target(order=named[0], tenant=tenant, topup=topup))
        elif not named and len(wallets) == 1:
            found.append(Target(account=wallets[0], topup=topup))
        elif not named and not wallets and topup is not None:
            found.append(Target(account=topup.account, topup=topup))
        else:
            found.append(Target(topup=topup))
    return found


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
SELECT 'sent_back', l.reference, l.amount, l.tid, l.handled_at, m.reference
FROM bank_lines l LEFT JOIN bank_lines m ON m.tid = l.tid AND m.use = 'matched'
WHERE l.use = 'sent_back'
"""
_SWEPT = """
SELECT 'sweep', s.number::text, s.amount, t.tid, s.created_at, m.reference
FROM fee_sweeps s JOIN transfers t ON t.id = s.transfer_id
LEFT JOIN bank_lines m ON m.tid = t.tid AND m.use = 'matched'
WHERE s.mode = 'live'
"""


async def movements(
    connection: Connection, wanted: Collection[MovementKey]
) -> dict[MovementKey, BankMovement]:
    """Receipts that were sent back and sweeps of fees, by their kind and name."""
    returned, swept = (
        [name for kind, name in wanted if kind == each] for each in ("sent_back", "sweep")
    )
    rows = await connection.fetch(f"{_SENT_BACK} AND l.reference = ANY($1)", returned)
    rows += await connection.fetch(f"{_SWEPT} AND s.number::text = ANY($1)", swept)
    found = [BankMovement(*row) for row in rows]
    return {(each.kind, each.name): each for each in found}


async def unmatched(connection: Connection, amounts: Collection[int]) -> list[BankMovement]:
    """Movements of these amounts that no line of the statement shows yet, newest first."""
    rows = await connection.fetch(
        f"{_SENT_BACK} AND l.amount = ANY($1) AND m.reference IS NULL "
        f"UNION ALL {_SWEPT} AND s.amount = ANY($1) AND m.reference IS NULL ORDER BY 5 DESC",
        list(amounts),
    )
    return [BankMovement(*row) for row in rows]


_EARNED = """
SELECT (
    coalesce((SELECT sum(f.fees) FROM daily_figures f JOIN tenants t ON t.id = f.tenant_id
        WHERE t.mode = $1), 0)
    + coalesce((SELECT sum(amount) FROM transfers WHERE kind = 'fee' AND credit_account = $2
        AND xid > (SELECT xid FROM figures_upto)), 0)
    + coalesce((SELECT sum(p.fee) FROM payouts p JOIN tenants t ON t.id = p.tenant_id
        WHERE t.mode = $1 AND p.status <> 'cancelled'), 0)
    - coalesce((SELECT sum(amount) FROM fee_sweeps WHERE mode = $1), 0)
)::bigint, $3::bigint
"""
_FEE_ACCOUNTS: dict[Mode, int] = {"live": 1, "sandbox": 2}


async def earned_fees(connection: Connection, modes: Collection[Mode]) -> dict[Mode, EarnedFees]:
    """The fees that were not swept. The number comes first: a sweep in between takes it."""
    found = {}
    for mode in modes:
        last = await connection.fetchval(
            "SELECT coalesce(max(number), 0) FROM fee_sweeps WHERE mode = $1", mode
        )
        row = await connection.fetchrow(_EARNED, mode, _FEE_ACCOUNTS[mode], last)
        found[mode] = EarnedFees(*row)
    return found


class FloatDay(NamedTuple):
    """The live bank account on one day, as the books have it. Sums by the kind of movement."""

    day: date
    opening: int
    came_in: dict[str, int]
    went_out: dict[str, int]
    signed: FloatSignoff | None

    @property
    def closing(self) -> int:
        return self.opening + sum(self.came_in.values()) - sum(self.went_out.values())


# The account is debited if money comes in, because it is outside of the books.
_BEFORE = """
SELECT coalesce(sum(CASE WHEN debit_account = 3 THEN amount ELSE -amount END), 0)::bigint
FROM transfers WHERE (debit_account = 3 OR credit_account = 3) AND created_at < $1
"""
_DURING = """
SELECT debit_account = 3, kind, sum(amount)::bigint
FROM transfers WHERE (debit_account = 3 OR credit_account = 3)
    AND created_at >= $1 AND created_at < $2
GROUP BY 1, 2 ORDER BY 1, 2
"""


async def float_of(connection: Connection, day: date) -> FloatDay:
    start, end = cut_off_of(day - timedelta(days=1)), cut_off_of(day)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        opening = await connection.fetchval(_BEFORE, start)
        rows = await connection.fetch(_DURING, start, end)
        signed = await last_signoff(connection, day)
    came_in = {kind: amount for is_in, kind, amount in rows if is_in}
    went_out = {kind: amount for is_in, kind, amount in rows if not is_in}
    return FloatDay(day, opening, came_in, went_out, signed)


async def last_signoff(connection: Connection, day: date) -> FloatSignoff | None:
    row = await connection.fetchrow(
        f"{FLOAT_SIGNOFFS.select} WHERE day = $1 ORDER BY created_at DESC, id DESC LIMIT 1", day
    )
    return None if row is None else FLOAT_SIGNOFFS.read(row)
