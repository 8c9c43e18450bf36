"""The shop's own database: orders, members, and the events that have been dealt with.

Every function takes an open transaction. Two that want the same order at the same moment come one
after the other, so that a condition in an UPDATE decides which of them does the work.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    number    INTEGER PRIMARY KEY,
    token     TEXT NOT NULL UNIQUE,      -- what the customer's address bar shows
    product   TEXT NOT NULL,
    amount    INTEGER NOT NULL,          -- laari
    attempt   INTEGER NOT NULL DEFAULT 1,
    reference TEXT NOT NULL UNIQUE,      -- of the current attempt's payment
    payment   TEXT,                      -- Laari's id, once it is known
    state     TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'paid', 'ended'))
);
CREATE TABLE IF NOT EXISTS vouchers (    -- the goods: one for each paid order
    order_number INTEGER PRIMARY KEY REFERENCES orders,
    code         TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS members (
    number        INTEGER PRIMARY KEY,
    token         TEXT NOT NULL UNIQUE,
    reference     TEXT NOT NULL UNIQUE,
    authorization TEXT,
    state         TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'active', 'ended'))
);
CREATE TABLE IF NOT EXISTS fees (        -- one for each member and month
    member INTEGER NOT NULL REFERENCES members,
    month  TEXT NOT NULL,
    state  TEXT NOT NULL,                -- 'paid', or the code of the last refusal
    PRIMARY KEY (member, month)
);
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
"""


class Order(NamedTuple):
    number: int
    token: str
    product: str
    amount: int
    attempt: int
    reference: str
    payment: str | None
    state: str


class Member(NamedTuple):
    number: int
    token: str
    reference: str
    authorization: str | None
    state: str


class Database:
    def __init__(self, path: Path) -> None:
        self._path = path
        with self.transaction() as db:
            for statement in SCHEMA.split(";"):
                db.execute(statement)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self._path, isolation_level=None, timeout=30)
        try:
            db.execute("BEGIN IMMEDIATE")  # a writer waits here, and not half-way
            yield db
            db.execute("COMMIT")
        finally:
            db.close()  # without a COMMIT this rolls back


def new_order(db: sqlite3.Connection, product: str, amount: int) -> Order:
    (number,) = db.execute("SELECT coalesce(max(number), 1000) + 1 FROM orders").fetchone()
    order = Order(
        number, secrets.token_urlsafe(16), product, amount, 1, f"order-{number}", None, "waiting"
    )
    db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?)", order)
    return order


def order(db: sqlite3.Connection, token: str) -> Order | None:
    row = db.execute("SELECT * FROM orders WHERE token = ?", [token]).fetchone()
    return row and Order(*row)


def waiting_orders(db: sqlite3.Connection) -> list[Order]:
    rows = db.execute("SELECT * FROM orders WHERE state = 'waiting' ORDER BY number")
    return [Order(*row) for row in rows]


def remember_payment(db: sqlite3.Connection, reference: str, payment: str) -> None:
    db.execute("UPDATE orders SET payment = ? WHERE reference = ?", [payment, reference])


def pay(db: sqlite3.Connection, reference: str, amount: int) -> bool:
    """Hands out the goods of a paid order; whether this call was the one that did."""
    changed = db.execute(
        "UPDATE orders SET state = 'paid' WHERE reference = ? AND amount = ? AND state = 'waiting'",
        [reference, amount],
    )
    if changed.rowcount == 0:
        return False
    db.execute(
        "INSERT INTO vouchers SELECT number, ? FROM orders WHERE reference = ?",
        [secrets.token_hex(4).upper(), reference],
    )
    return True


def end_order(db: sqlite3.Connection, reference: str) -> None:
    db.execute(
        "UPDATE orders SET state = 'ended' WHERE reference = ? AND state = 'waiting'", [reference]
    )


def try_again(db: sqlite3.Connection, token: str) -> Order | None:
    """Another attempt, under a new reference; None if there is nothing to try again."""
    db.execute(
        "UPDATE orders SET attempt = attempt + 1, payment = NULL, state = 'waiting',"
        " reference = 'order-' || number || '-' || (attempt + 1)"
        " WHERE token = ? AND state = 'ended'",
        [token],
    )
    found = order(db, token)
    return found if found and found.state == "waiting" else None


def voucher(db: sqlite3.Connection, number: int) -> str | None:
    row = db.execute("SELECT code FROM vouchers WHERE order_number = ?", [number]).fetchone()
    return row and str(row[0])


def new_member(db: sqlite3.Connection) -> Member:
    (number,) = db.execute("SELECT coalesce(max(number), 4000) + 1 FROM members").fetchone()
    member = Member(number, secrets.token_urlsafe(16), f"member-{number}", None, "waiting")
    db.execute("INSERT INTO members VALUES (?, ?, ?, ?, ?)", member)
    return member


def member(db: sqlite3.Connection, token: str) -> Member | None:
    row = db.execute("SELECT * FROM members WHERE token = ?", [token]).fetchone()
    return row and Member(*row)


def remember_authorization(db: sqlite3.Connection, reference: str, authorization: str) -> None:
    db.execute(
        "UPDATE members SET authorization = ? WHERE reference = ?", [authorization, reference]
    )


# A member who has ended stays so: an older event that comes late changes nothing.
def set_member(db: sqlite3.Connection, reference: str, state: str) -> None:
    db.execute(
        "UPDATE members SET state = ? WHERE reference = ? AND state <> 'ended'", [state, reference]
    )


def owing(db: sqlite3.Connection, month: str) -> list[Member]:
    """Active members who have not paid for the month."""
    rows = db.execute(
        "SELECT members.* FROM members LEFT JOIN fees ON member = number AND month = ?"
        " WHERE members.state = 'active' AND coalesce(fees.state, '') <> 'paid' ORDER BY number",
        [month],
    )
    return [Member(*row) for row in rows]


def record_fee(db: sqlite3.Connection, member: int, month: str, state: str) -> None:
    db.execute(
        "INSERT INTO fees VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state"
        " WHERE fees.state <> 'paid'",
        [member, month, state],
    )


def fees(db: sqlite3.Connection, member: int) -> dict[str, str]:
    rows = db.execute("SELECT month, state FROM fees WHERE member = ? ORDER BY month", [member])
    return dict(rows.fetchall())


def is_new(db: sqlite3.Connection, event: str) -> bool:
    """Whether the event was not dealt with before; from now on it was."""
    return bool(db.execute("INSERT OR IGNORE INTO events VALUES (?)", [event]).rowcount)
