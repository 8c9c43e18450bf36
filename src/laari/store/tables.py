"""Statements made from records: the fields of a record are the columns of its table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from operator import attrgetter
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_type_hints
from uuid import UUID

import asyncpg
from msgspec import Struct

from laari.rules.records import (
    AccessToken,
    Authorization,
    Claim,
    Event,
    Payment,
    PaymentRequest,
    SavedResponse,
    TenantClock,
    Transaction,
    Transfer,
    Wallet,
)

R = TypeVar("R", bound=Struct)

_PG_TYPES: dict[Any, str] = {
    int: "bigint",
    str: "text",
    bool: "boolean",
    bytes: "bytea",
    UUID: "uuid",
    date: "date",
    datetime: "timestamptz",
}


def _pg_type(hint: Any) -> str:
    if "numeric" in getattr(hint, "__metadata__", ()):
        return "numeric"
    if hint in _PG_TYPES:
        return _PG_TYPES[hint]
    held = next(arg for arg in get_args(hint) if arg is not NoneType)
    return "text" if isinstance(held, str) else _pg_type(held)  # a literal's values are text


class Table(Generic[R]):
    """One table's bulk statements: many rows in one round trip, as arrays.

    `contested` names a unique index that rows of two batches may meet on. The second one to come
    waits there for the first, so every batch inserts in the order of those fields: two that went
    crosswise would wait for each other.
    """

    def __init__(
        self,
        name: str,
        record: type[R],
        key: tuple[str, ...],
        mutable: tuple[str, ...] = (),
        contested: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self._order = attrgetter(*contested) if contested else None
        self.record = record
        self.fields = record.__struct_fields__
        hints = get_type_hints(record, include_extras=True)
        self._types = {field: _pg_type(hints[field]) for field in self.fields}
        self.columns = ", ".join(self.fields)
        self.select = f"SELECT {self.columns} FROM {name}"
        self.unnest = self._unnest(self.fields)
        self.insert = f"INSERT INTO {name} ({self.columns}) SELECT * FROM {self.unnest}"
        self._written = (*key, *mutable)
        self.update = (
            f"UPDATE {name} t SET {', '.join(f'{f} = n.{f}' for f in mutable)} "
            f"FROM {self._unnest(self._written)} AS n({', '.join(self._written)}) "
            f"WHERE {' AND '.join(f't.{f} = n.{f}' for f in key)}"
        )
        # An upsert replaces the row that has the same key.
        self.upsert = f"{self.insert} ON CONFLICT ({', '.join(key)}) DO UPDATE SET " + ", ".join(
            f"{f} = excluded.{f}" for f in mutable
        )

    def _unnest(self, fields: tuple[str, ...]) -> str:
        arrays = (f"${i}::{self._types[field]}[]" for i, field in enumerate(fields, 1))
        return f"unnest({', '.join(arrays)})"

    def read(self, row: asyncpg.Record) -> R:
        return self.record(*row)

    def arrays(self, rows: Iterable[R]) -> list[list[Any]]:
        """The arguments of `unnest`."""
        if self._order is not None:
            rows = sorted(rows, key=self._order)
        return _columns(rows, self.fields)

    async def insert_rows(self, connection: asyncpg.Connection, rows: Iterable[R]) -> None:
        await connection.execute(self.insert, *self.arrays(rows))

    async def upsert_rows(self, connection: asyncpg.Connection, rows: Iterable[R]) -> None:
        await connection.execute(self.upsert, *self.arrays(rows))

    async def update_rows(self, connection: asyncpg.Connection, rows: Iterable[R]) -> None:
        await connection.execute(self.update, *_columns(rows, self._written))


def _columns(rows: Iterable[Struct], fields: tuple[str, ...]) -> list[list[Any]]:
    rows = list(rows)
    return [[getattr(row, field) for row in rows] for field in fields]


def _from(record: type[Struct], first: str) -> tuple[str, ...]:
    """The fields of a record from this one on: those that change after creation."""
    fields = record.__struct_fields__
    return fields[fields.index(first) :]


CLOCKS = Table("tenants", TenantClock, key=("id",), mutable=("clock_offset_seconds",))
CLAIMS = Table(
    "reference_claims",
    Claim,
    key=("tenant_id", "reference"),
    contested=("tenant_id", "reference"),
)
PAYMENTS = Table("payments", Payment, key=("id",), mutable=_from(Payment, "status"))
REQUESTS = Table(
    "payment_requests", PaymentRequest, key=("id",), mutable=_from(PaymentRequest, "status")
)
AUTHORIZATIONS = Table(
    "authorizations",
    Authorization,
    key=("id",),
    mutable=_from(Authorization, "status"),
    contested=("tenant_id", "reference"),
)
WALLETS = Table("wallets", Wallet, key=("account",), mutable=_from(Wallet, "tier"))
TRANSFERS = Table("transfers", Transfer, key=("id",))
TRANSACTIONS = Table("transactions", Transaction, key=("tid",))
EVENTS = Table("events", Event, key=("id",))
ACCESS_TOKENS = Table("access_tokens", AccessToken, key=("digest",))
SAVED_RESPONSES = Table(
    "saved_responses",
    SavedResponse,
    key=("tenant_id", "operation", "key"),
    mutable=_from(SavedResponse, "fingerprint"),
)
