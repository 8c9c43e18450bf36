"""Reading payouts, their runs and their movements."""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple, cast
from uuid import UUID

from asyncpg import Connection

from laari.rules.banking.bank_accounts import Owned
from laari.rules.banking.bank_days import bank_day_from
from laari.rules.banking.payouts import WALLET_FROZEN, merchant_stopped, not_payable
from laari.rules.day_ranges import Days
from laari.rules.ledger import FIRST_MERCHANT_ACCOUNT
from laari.rules.lifecycle import RunState, run_state
from laari.rules.records.bank_accounts import BankAccount
from laari.rules.records.payouts import (
    ApprovedRun,
    BankOrder,
    Payout,
    PayoutMovement,
    PayoutRun,
    PayoutStatus,
    PayoutTerms,
    RunNumbers,
)
from laari.rules.records.tenants import MODES, Mode, Tenant
from laari.rules.refusals import Refusal
from laari.rules.shapes.payouts import Payout as PayoutShape
from laari.rules.shapes.payouts import payout_shape
from laari.store.reads.figures import FINDING, LEAVES, OF_OTHERS, OTHER_ACCOUNT
from laari.store.reads.listing import Listing, Position, Walk, Window
from laari.store.reads.money import dues
from laari.store.reads.money.dues import MOVES
from laari.store.reads.recipients import account_owners
from laari.store.reads.tenants import COLUMNS as TENANT_COLUMNS
from laari.store.reads.tenants import by_id as tenants_by_id
from laari.store.tables import (
    BANK_ACCOUNTS,
    BANK_ORDERS,
    FUNDS,
    PAYOUT_RUNS,
    PAYOUT_TERMS,
    PAYOUTS,
)

by_id = PAYOUTS.finder("id")
run_by_id = PAYOUT_RUNS.finder("id")
_accounts_by_id = BANK_ACCOUNTS.finder("id")
order_by_reference = BANK_ORDERS.finder("reference")
_terms = PAYOUT_TERMS.finder("tenant_id")
_funds = FUNDS.finder("tenant_id")
_NEVER = datetime(1, 1, 2, tzinfo=UTC)

# Withdrawals are live.
_MODE = "coalesce((SELECT mode FROM tenants t WHERE t.id = tenant_id), 'live')"
_OWN = f"{OTHER_ACCOUNT} = {FIRST_MERCHANT_ACCOUNT} + $1::bigint AND {OF_OTHERS}"


async def bank_accounts(
    connection: Connection, owners: Collection[int]
) -> dict[int, tuple[BankAccount, ...]]:
    """All bank accounts of each of these tenants and wallets, oldest first."""
    rows = await connection.fetch(
        f"{BANK_ACCOUNTS.select} WHERE tenant_id = ANY($1) OR account = ANY($1) "
        "ORDER BY created_at, id",
        list(owners),
    )
    found: dict[int, tuple[BankAccount, ...]] = dict.fromkeys(owners, ())
    for account in map(BANK_ACCOUNTS.read, rows):
        found[account.owner] += (account,)
    return found


async def paid_accounts(
    connection: Connection, owners: Collection[int]
) -> dict[int, frozenset[UUID]]:
    """The bank accounts of each of these owners that got an order, and did not return it."""
    rows = await connection.fetch(
        "SELECT coalesce(b.tenant_id, b.account), array_agg(b.id) FROM bank_accounts b "
        "WHERE (b.tenant_id = ANY($1) OR b.account = ANY($1)) AND EXISTS (SELECT FROM payouts p "
        "JOIN bank_orders o ON o.payout_id = p.id AND o.status = 'settled' "
        "WHERE p.bank_account_id = b.id) GROUP BY 1",
        list(owners),
    )
    none: dict[int, frozenset[UUID]] = dict.fromkeys(owners, frozenset())
    return none | {owner: frozenset(found) for owner, found in rows}


async def owned_accounts(connection: Connection, owners: Collection[int]) -> dict[int, Owned]:
    accounts = await bank_accounts(connection, owners)
    paid = await paid_accounts(connection, owners)
    return {owner: Owned(accounts[owner], paid[owner]) for owner in owners}


async def tenants_of(connection: Connection, found: Iterable[Payout]) -> dict[int, Tenant]:
    """The merchants of these payouts; withdrawals have none."""
    wanted = [each.tenant_id for each in found if each.tenant_id is not None]
    return await tenants_by_id(connection, wanted)


async def last_withdrawals(connection: Connection, accounts: Collection[int]) -> dict[int, int]:
    rows = await connection.fetch(
        "SELECT account, max(number) FROM payouts WHERE account = ANY($1) GROUP BY account",
        list(accounts),
    )
    return dict.fromkeys(accounts, 0) | dict(rows)


async def of_wallet(connection: Connection, account: int, limit: int) -> list[Payout]:
    """The newest withdrawals of a wallet."""
    rows = await connection.fetch(
        f"{PAYOUTS.select} WHERE account = $1 ORDER BY number DESC LIMIT $2", account, limit
    )
    return [PAYOUTS.read(row) for row in rows]


async def terms(connection: Connection, tenant_id: int) -> PayoutTerms:
    row = await connection.fetchrow(PAYOUT_TERMS.read_by_key, [tenant_id])
    return PayoutTerms(tenant_id) if row is None else PAYOUT_TERMS.read(row)


async def run_numbers(connection: Connection) -> dict[Mode, RunNumbers]:
    """The open runs come second: a run that is opened in between takes the number."""
    rows = await connection.fetch("SELECT mode, max(number) FROM payout_runs GROUP BY mode")
    opened = {mode: await open_run(connection, mode) for mode, _ in rows}
    return {mode: RunNumbers(last, opened[mode]) for mode, last in rows}


async def approved_runs(connection: Connection) -> dict[Mode, tuple[ApprovedRun, ...]]:
    """The runs that were approved last, in a time of a day. Those of today are among them."""
    rows = await connection.fetch(
        "SELECT r.mode, r.approved_at, (SELECT coalesce(sum(amount), 0) FROM payouts p "
        "WHERE p.run_id = r.id AND p.status <> 'cancelled')::bigint AS total FROM payout_runs r "
        "WHERE r.approved_at > (SELECT max(approved_at) FROM payout_runs l "
        "WHERE l.mode = r.mode) - interval '1 day'"
    )
    found: dict[Mode, tuple[ApprovedRun, ...]] = dict.fromkeys(MODES, ())
    for row in rows:
        found[row["mode"]] += (ApprovedRun(row["approved_at"], row["total"]),)
    return found


class NewAccount(NamedTuple):
    """A bank account of a run that the approver has to look at, and its owner."""

    account: BankAccount
    owner: str


async def new_accounts(
    connection: Connection, joined: Iterable[Payout], now: datetime
) -> list[NewAccount]:
    """The bank accounts of a run that were entered or changed lately, or were never paid."""
    numbers = {each.owner for each in joined if each.status != "cancelled"}
    owners = await account_owners(connection, numbers)
    owned = await owned_accounts(connection, numbers)
    return [
        NewAccount(account, owners[number].name)
        for number in sorted(numbers)
        for account in owned[number].new(now)
    ]


async def ids_of_runs(
    connection: Connection, run_ids: Collection[UUID]
) -> dict[UUID, tuple[UUID, ...]]:
    """The payouts of each of these runs."""
    rows = await connection.fetch(
        "SELECT run_id, array_agg(id) FROM payouts WHERE run_id = ANY($1) GROUP BY run_id",
        list(run_ids),
    )
    none: dict[UUID, tuple[UUID, ...]] = dict.fromkeys(run_ids, ())
    return none | {run_id: tuple(found) for run_id, found in rows}


async def references_of(
    connection: Connection, payout_ids: Collection[UUID]
) -> dict[UUID, tuple[str, ...]]:
    """The orders of each of these payouts."""
    rows = await connection.fetch(
        "SELECT payout_id, array_agg(reference) FROM bank_orders WHERE payout_id = ANY($1) "
        "GROUP BY payout_id",
        list(payout_ids),
    )
    none: dict[UUID, tuple[str, ...]] = dict.fromkeys(payout_ids, ())
    return none | {payout_id: tuple(found) for payout_id, found in rows}


async def newest(
    connection: Connection, limit: int, mode: Mode | None = None, status: str | None = None
) -> list[Payout]:
    """Payouts of both modes and withdrawals, newest first. Their ids begin with the time."""
    rows = await connection.fetch(
        f"{PAYOUTS.select} WHERE ($2::text IS NULL OR {_MODE} = $2) "
        "AND ($3::text IS NULL OR status = $3) ORDER BY id DESC LIMIT $1",
        limit,
        mode,
        status,
    )
    return [PAYOUTS.read(row) for row in rows]


def of_tenant(
    tenant_id: int, now: datetime, window: Window, *, status: str | None = None
) -> Listing[Payout]:
    equal: dict[str, object] = {"tenant_id": tenant_id}
    if status is not None:
        equal["status"] = status
    return Listing(PAYOUTS, [Walk(equal)], window)


async def of_days(connection: Connection, tenant_id: int, days: Days) -> list[PayoutShape]:
    """The payouts of a merchant that were made on these days, oldest first."""
    rows = await connection.fetch(
        f"{PAYOUTS.select} WHERE tenant_id = $1 AND created_at >= $2 AND created_at < $3 "
        "ORDER BY created_at, id",
        tenant_id,
        days.begin,
        days.end,
    )
    return await shapes(connection, [PAYOUTS.read(row) for row in rows])


# == Movements ====================================================================================


class PayoutMovements(NamedTuple):
    rows: list[PayoutMovement]
    next: Position | None  # None if nothing older remains


# $1 tenant, $2 and $3 the cut-offs of this payout and the one before, $4 and $5 their snapshots, $6
# and $7 their transactions, $8 and $9 the place to go on from, $10 the transfer of the payout.
_AMOUNT = f"CASE WHEN {LEAVES} THEN -t.amount ELSE t.amount END"
_PLACE = "(t.created_at, t.id) < ($8::timestamptz, $9::uuid)"
_SHOWN = "t.xid <> {0} AND pg_visible_in_snapshot(t.xid::text::xid8, {1}::text::pg_snapshot)"
_SEEN_NOW = _SHOWN.format("$6::bigint", "$4")
_SEEN_BEFORE = f"$5::text IS NOT NULL AND {_SHOWN.format('$7::bigint', '$5')}"
_COLUMNS = f"t.id, t.kind, t.created_at, {_AMOUNT} AS amount, t.payment_id, t.tid"
_NEWEST = "ORDER BY t.created_at DESC, t.id DESC"
_WALKS = (
    # Of the days between the cut-offs.
    f"""SELECT {_COLUMNS} FROM payments p
        JOIN transfers t ON t.payment_id = p.id AND t.kind IN ('payment', 'fee')
        WHERE p.tenant_id = $1 AND p.paid_at >= $3 AND p.paid_at < $2
            AND p.paid_at <= $8 AND {_PLACE} AND {_SEEN_NOW}
        ORDER BY p.paid_at DESC, t.id DESC""",
    f"""SELECT {_COLUMNS} FROM refunds r
        JOIN transfers t ON t.payment_id = r.payment_id AND t.kind = 'refund' AND t.tid = r.tid
        WHERE r.tenant_id = $1 AND r.created_at >= $3 AND r.created_at < $2
            AND r.created_at <= $8 AND {_PLACE} AND {_SEEN_NOW}
        ORDER BY r.created_at DESC, t.id DESC""",
    f"""SELECT {_COLUMNS} FROM transfers t
        WHERE {_OWN} AND {MOVES} AND t.created_at >= $3 AND t.created_at < $2
            AND {_PLACE} AND {_SEEN_NOW} {_NEWEST}""",
    # Earlier ones that the payout before did not see: they were added up after it, were running
    # then, or are not added up yet.
    f"""SELECT {_COLUMNS} FROM (
            SELECT l.transfer_id AS id FROM late_transfers l
            WHERE l.tenant_id = $1 AND l.created_at < $3
            UNION
            SELECT t.id FROM transfers t
            WHERE t.xid = ANY(ARRAY(SELECT x::text::bigint
                    FROM pg_snapshot_xip($5::text::pg_snapshot) AS x)) AND t.created_at < $3
                AND {OTHER_ACCOUNT} = {FIRST_MERCHANT_ACCOUNT} + $1::bigint
            UNION
            SELECT t.id FROM transfers t
            WHERE t.xid > (SELECT xid FROM figures_upto) AND t.created_at < $3
                AND {OTHER_ACCOUNT} = {FIRST_MERCHANT_ACCOUNT} + $1::bigint
        ) AS late JOIN transfers t USING (id)
        WHERE {MOVES} AND {_PLACE} AND {_SEEN_NOW} AND NOT ({_SEEN_BEFORE}) {_NEWEST}""",
    # Its own fee.
    f"""SELECT {_COLUMNS} FROM transfers paid JOIN transfers t
            ON t.created_at = paid.created_at AND t.tid = paid.tid
        WHERE paid.id = $10 AND {_OWN} AND t.kind = 'payout_fee' AND {_PLACE} {_NEWEST}""",
)


async def movements(
    connection: Connection, payout: Payout, limit: int, after: Position | None = None
) -> PayoutMovements:
    """A page of the movements of a payout, newest first. Their sum is its amount."""
    own, before = await _chain(connection, payout)
    place = after or Position(datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))
    walks = " UNION ALL ".join(f"({walk} LIMIT {limit + 1})" for walk in _WALKS)
    async with connection.transaction(readonly=True):
        await connection.execute(FINDING)
        found = await connection.fetch(
            f"SELECT t.id, t.kind AS type, t.created_at, t.amount, t.payment_id, r.id AS refund_id "
            f"FROM (SELECT * FROM ({walks}) AS t {_NEWEST} LIMIT {limit + 1}) AS t "
            f"LEFT JOIN refunds r ON t.kind = 'refund' AND r.tid = t.tid {_NEWEST}",
            payout.tenant_id,
            payout.cut_off,
            before.cut_off,
            payout.snapshot,
            before.snapshot,
            own.xid,
            before.xid,
            *place,
            payout.transfer_id,
        )
    rows = [PayoutMovement(**row) for row in found[:limit]]
    last = rows[-1] if len(found) > limit else None
    return PayoutMovements(rows, None if last is None else Position(last.created_at, last.id))


class _Link(NamedTuple):
    """The bounds of one payout in the chain of its merchant."""

    cut_off: datetime
    snapshot: str | None
    xid: int


async def _chain(connection: Connection, payout: Payout) -> tuple[_Link, _Link]:
    rows = await connection.fetch(
        "SELECT cut_off, snapshot, xid FROM payouts "
        "WHERE tenant_id = $1 AND number = ANY($2) ORDER BY number DESC",
        payout.tenant_id,
        [payout.number, payout.number - 1],
    )
    own, *before = (_Link(**row) for row in rows)
    return own, (before[0] if before else _Link(_NEVER, None, 0))


# == Runs =========================================================================================


async def open_run(connection: Connection, mode: Mode) -> PayoutRun | None:
    row = await connection.fetchrow(
        f"{PAYOUT_RUNS.select} WHERE mode = $1 AND status = 'requested'", mode
    )
    return None if row is None else PAYOUT_RUNS.read(row)


async def run_by_number(connection: Connection, mode: Mode, number: int) -> PayoutRun | None:
    row = await connection.fetchrow(
        f"{PAYOUT_RUNS.select} WHERE mode = $1 AND number = $2", mode, number
    )
    return None if row is None else PAYOUT_RUNS.read(row)


class RunSummary(NamedTuple):
    run: PayoutRun
    payouts: int
    total: int
    statuses: list[PayoutStatus]  # of its payouts

    @property
    def state(self) -> RunState:
        return run_state(self.run, self.statuses)


async def runs(connection: Connection, mode: Mode, limit: int) -> list[RunSummary]:
    """The newest runs, with the number and sum of their payouts."""
    rows = await connection.fetch(
        f"SELECT {', '.join(f'r.{name}' for name in PayoutRun.__struct_fields__)}, "
        "count(p.id) AS payouts, coalesce(sum(p.amount), 0)::bigint AS total, "
        "array_agg(DISTINCT p.status) AS statuses "
        "FROM payout_runs r LEFT JOIN payouts p ON p.run_id = r.id AND p.status <> 'cancelled' "
        "WHERE r.mode = $1 GROUP BY r.id ORDER BY r.number DESC LIMIT $2",
        mode,
        limit,
    )
    return [
        RunSummary(
            PayoutRun(**{name: row[name] for name in PayoutRun.__struct_fields__}),
            row["payouts"],
            row["total"],
            row["statuses"],
        )
        for row in rows
    ]


async def of_run(connection: Connection, run_id: UUID) -> list[Payout]:
    rows = await connection.fetch(f"{PAYOUTS.select} WHERE run_id = $1 ORDER BY id", run_id)
    return [PAYOUTS.read(row) for row in rows]


async def waiting(connection: Connection, mode: Mode) -> list[Payout]:
    """Payouts on request, and withdrawals, that no run has taken; oldest first."""
    rows = await connection.fetch(
        f"{PAYOUTS.select} WHERE run_id IS NULL AND status = 'requested' AND {_MODE} = $1 "
        "ORDER BY created_at, id",
        mode,
    )
    return [PAYOUTS.read(row) for row in rows]


async def held(connection: Connection, waiting: Collection[Payout]) -> dict[UUID, str]:
    """Why waiting payouts cannot join a run now: the wallet is frozen, the merchant stopped."""
    accounts = [each.account for each in waiting if each.account is not None]
    rows = await connection.fetch(
        "SELECT account FROM wallets WHERE account = ANY($1) AND frozen_at IS NOT NULL", accounts
    )
    frozen = {row["account"] for row in rows}
    merchants = await tenants_of(connection, waiting)
    agreed = await _terms(connection, list(merchants))
    reasons: dict[UUID, str] = {}
    for each in waiting:
        if each.tenant_id is None:
            reason = WALLET_FROZEN if each.account in frozen else None
        else:
            is_active = merchants[each.tenant_id].active
            reason = merchant_stopped(is_active, agreed.get(each.tenant_id))
        if reason is not None:
            reasons[each.id] = reason
    return reasons


async def orders(connection: Connection, payout_ids: Collection[UUID]) -> list[BankOrder]:
    rows = await connection.fetch(
        f"{BANK_ORDERS.select} WHERE payout_id = ANY($1) ORDER BY reference", list(payout_ids)
    )
    return [BANK_ORDERS.read(row) for row in rows]


async def shapes(connection: Connection, found: Sequence[Payout]) -> list[PayoutShape]:
    """Payouts as the API shows them."""
    own = await orders(connection, [each.id for each in found])
    wanted = [each.bank_account_id for each in found if each.bank_account_id is not None]
    accounts = await _accounts_by_id(connection, wanted)
    return [payout_shape(each, own, accounts.values()) for each in found]


class Preview(NamedTuple):
    """What a run would pay to a merchant, or why it would not."""

    tenant: Tenant
    available: int
    amount: int  # after the fee
    fee: int
    refusal: Refusal | None


async def preview(
    connection: Connection, mode: Mode, cut_off: datetime, now: datetime
) -> list[Preview]:
    """All merchants of this mode that have a balance or had movements, by their number."""
    rows = await connection.fetch(
        f"SELECT {TENANT_COLUMNS} FROM tenant_details d WHERE d.mode = $1 ORDER BY d.id", mode
    )
    tenants = {row["id"]: Tenant(**row) for row in rows}
    ids = list(tenants)
    accounts = await bank_accounts(connection, ids)
    agreed, funds = await _terms(connection, ids), await _funds(connection, ids)
    wanted = [dues.Wanted(id, cut_off, funds[id].paid_out_upto) for id in ids]
    found = []
    for tenant, money in zip(tenants.values(), await dues.of(connection, wanted), strict=True):
        if money.balance == 0 == money.later:
            continue
        terms = agreed.get(tenant.id) or PayoutTerms(tenant.id)
        refusal = not_payable(
            money, money.balance, terms, accounts[tenant.id], now, is_active=tenant.active
        )
        amount = money.balance - money.later - terms.fee
        found.append(Preview(tenant, money.balance, amount, terms.fee, refusal))
    return found


async def next_pay_day(connection: Connection, today: date) -> date:
    """The day on which the next run pays: today if banks work, unless today's run is sent."""
    days_off = await holidays(connection)
    day = bank_day_from(today, days_off)
    last = await connection.fetchval("SELECT max(value_date) FROM bank_files")
    return day if last is None or last < day else bank_day_from(last + timedelta(days=1), days_off)


async def holidays(connection: Connection) -> dict[date, str]:
    rows = await connection.fetch("SELECT day, name FROM bank_holidays ORDER BY day")
    return cast("dict[date, str]", dict(rows))
