"""A merchant's movements: everything that changed its balance, by the day on which it happened.

Payments and refunds are rows of their own; payouts, holds and adjustments are transfers. Their sums
are those of `figures` for the same days.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias, get_args
from uuid import UUID

from asyncpg import Connection

from laari.rules.day_ranges import Days
from laari.rules.ledger import FIRST_MERCHANT_ACCOUNT
from laari.rules.records.payments import Payment, Refund
from laari.store.reads import payments, refunds
from laari.store.reads.figures import OF_OTHERS, OTHER_ACCOUNT, OTHER_AMOUNT, Span
from laari.store.reads.listing import Position

MovementKind: TypeAlias = Literal[
    "payment",
    "refund",
    "payout",
    "payout_fee",
    "payout_returned",
    "hold",
    "release",
    "merchant_adjustment",
]
KINDS: Final[tuple[MovementKind, ...]] = get_args(MovementKind)
SALES: Final[tuple[MovementKind, ...]] = ("payment", "refund")


class Movement(NamedTuple):
    kind: MovementKind
    at: datetime
    id: UUID  # of the payment, the refund or the transfer
    effect: int  # the change of the merchant's balance; a refund does not return the fee
    payment: Payment | None = None  # for a refund: the payment that it refunds
    refund: Refund | None = None
    # The reason of a hold, a release or a correction; the number of a payout, its references at the
    # bank and its account.
    details: str | None = None

    @property
    def place(self) -> Position:
        return Position(self.at, self.id)


class Movements(NamedTuple):
    rows: list[Movement]
    next: Position | None  # None if nothing older remains


async def of_span(
    connection: Connection,
    span: Span,
    limit: int,
    after: Position | None = None,
    kinds: Sequence[MovementKind] = SALES,
    *,
    till: str | None = None,
) -> Movements:
    """A page of movements, newest first; those of one till are payments and refunds only."""
    assert till is None or set(kinds) <= set(SALES)
    values = [*_bounds(span), *(after or ()), *(() if till is None else (till,))]
    at_till = None if till is None else f"${len(values)}"
    every = " UNION ALL ".join(f"({walk})" for walk in walks(kinds, limit, after, at_till))
    found = await connection.fetch(
        f"SELECT * FROM ({every}) AS moved ORDER BY at DESC, id DESC LIMIT {limit + 1}", *values
    )
    rows = await _with_payments(connection, [row[:4] for row in found[:limit]])
    return Movements(rows, rows[-1].place if len(found) > limit else None)


async def sum_newer(connection: Connection, span: Span, than: Position) -> int:
    """The sum of the movements of these days that are newer than this place."""
    every = " UNION ALL ".join(
        f"{walk} AND {column} >= $2 AND {column} < $3 AND ({column}, id) > ($4, $5)"
        for walk, column in (*_sales(KINDS), *_others(KINDS))
    )
    statement = f"SELECT coalesce(sum(effect), 0) FROM ({every}) AS newer"
    return int(await connection.fetchval(statement, *_bounds(span), *than))


def _bounds(span: Span) -> tuple[object, ...]:
    days = Days(span.first, span.last)
    return span.tenant_id, days.begin, days.end


def walks(
    kinds: Sequence[MovementKind], limit: int, after: Position | None, till: str | None = None
) -> list[str]:
    """A statement along each index that has movements of these kinds; `till` is a parameter."""
    return [
        f"{walk} {_page(column, limit, after)}"
        for walk, column in (*_sales(kinds, till), *_others(kinds))
    ]


def _sales(kinds: Sequence[MovementKind], till: str | None = None) -> list[tuple[str, str]]:
    """The walks of payments and refunds, each with the column of its time."""
    at_till = {
        "payment": f" AND terminal_label = {till}",
        "refund": f" AND {till} = "
        "(SELECT p.terminal_label FROM payments p WHERE p.id = payment_id)",
    }
    walks = {
        "payment": ("'payment' AS kind, paid_at AS at, id, amount - fee AS effect", "paid_at"),
        "refund": ("'refund' AS kind, created_at AS at, id, -amount AS effect", "created_at"),
    }
    return [
        (
            f"SELECT {columns} FROM {kind}s WHERE tenant_id = $1{at_till[kind] if till else ''}",
            column,
        )
        for kind, (columns, column) in walks.items()
        if kind in kinds
    ]


def _others(kinds: Sequence[MovementKind]) -> list[tuple[str, str]]:
    """The walk along the other transfers, if any of their kinds is wanted."""
    others = [f"'{kind}'" for kind in kinds if kind not in SALES]
    if not others:
        return []
    walk = (
        f"SELECT t.kind, t.created_at AS at, t.id, {OTHER_AMOUNT} AS effect FROM transfers t "
        f"WHERE {OTHER_ACCOUNT} = {FIRST_MERCHANT_ACCOUNT} + $1::bigint AND {OF_OTHERS} "
        f"AND t.kind IN ({', '.join(others)})"
    )
    return [(walk, "created_at")]


def _page(column: str, limit: int, after: Position | None) -> str:
    older = "" if after is None else f"AND ({column}, id) < ($4, $5) "
    return (
        f"AND {column} >= $2 AND {column} < $3 {older}"
        f"ORDER BY {column} DESC, id DESC LIMIT {limit + 1}"
    )


async def _with_payments(
    connection: Connection, found: Sequence[tuple[MovementKind, datetime, UUID, int]]
) -> list[Movement]:
    refunded = await refunds.by_id(connection, [id for kind, _, id, _ in found if kind == "refund"])
    named = {id for kind, _, id, _ in found if kind == "payment"}
    named |= {refund.payment_id for refund in refunded.values()}
    paid = await payments.by_id(connection, list(named))
    details = await _details(connection, [id for kind, _, id, _ in found if kind not in SALES])
    rows = []
    for kind, at, id, effect in found:
        refund = refunded.get(id)
        payment = paid.get(id if refund is None else refund.payment_id)
        rows.append(
            Movement(
                kind=kind,
                at=at,
                id=id,
                effect=effect,
                payment=payment,
                refund=refund,
                details=details.get(id),
            )
        )
    return rows


_DETAILS = """
SELECT transfer_id, reason AS details FROM fund_movements WHERE transfer_id = ANY($1)
UNION ALL
SELECT transfer_id, concat_ws(' · ', 'No. ' || number,
    (SELECT string_agg(reference, ', ' ORDER BY place) FROM bank_orders WHERE payout_id = p.id),
    (SELECT bank || ' ••••' || right(account_number, 4) FROM bank_accounts
        WHERE id = p.bank_account_id))
FROM payouts p WHERE transfer_id = ANY($1)
UNION ALL
SELECT o.returned_transfer_id, concat_ws(' · ', 'No. ' || p.number, o.reference) FROM bank_orders o
JOIN payouts p ON p.id = o.payout_id WHERE o.returned_transfer_id = ANY($1)
UNION ALL
SELECT cancelled_transfer_id, 'No. ' || number FROM payouts WHERE cancelled_transfer_id = ANY($1)
"""


async def _details(connection: Connection, transfers: list[UUID]) -> dict[UUID, str]:
    if not transfers:
        return {}
    rows = await connection.fetch(_DETAILS, transfers)
    return {row["transfer_id"]: row["details"] for row in rows}


async def newest_hold(connection: Connection, tenant_id: int) -> str | None:
    """The reason of the newest hold."""
    reason: str | None = await connection.fetchval(
        "SELECT f.reason FROM fund_movements f JOIN transfers t ON t.id = f.transfer_id "
        "WHERE f.tenant_id = $1 AND t.kind = 'hold' ORDER BY f.created_at DESC, t.id DESC LIMIT 1",
        tenant_id,
    )
    return reason
