"""Statements made from records: the fields of a record are the columns of its table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from operator import attrgetter
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_type_hints
from uuid import UUID

import asyncpg
from msgspec import Struct, json

from laari.rules.records import (
    AccessToken,
    Authorization,
    Claim,
    Event,
    Payment,
    PaymentRequest,
    SandboxPeriod,
    SavedResponse,
    TenantClock,
    TopupSlip,
    Transaction,
    Transfer,
    Wallet,
)

R = TypeVar("R", bound=Struct)

_to_json = json.Encoder().encode

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
    """One table's bulk statements: however many rows, they are one parameter, as JSON.

    The database reads them faster than a driver can encode an array for every column.

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
        self.record = record
        self.columns = ", ".join(record.__struct_fields__)
        self.select = f"SELECT {self.columns} FROM {name}"
        self._key = key
        self._mutable = mutable
        self._order = attrgetter(*contested) if contested else None
        hints = get_type_hints(record, include_extras=True)
        self.types = {field: _pg_type(hints[field]) for field in record.__struct_fields__}

    def select_by(self, *columns: str) -> str:
        """The rows with these values, which are handed over as one array for each column.

        Each is looked up by itself, which `OFFSET 0` insists on: while a table is small the
        planner would rather walk through it, and a kept plan would still do so when it has grown.
        """
        arrays = (f"${n}::{self.types[column]}[]" for n, column in enumerate(columns, 1))
        same = " AND ".join(f"{self.name}.{column} = wanted.{column}" for column in columns)
        return (
            f"SELECT found.* FROM unnest({', '.join(arrays)}) AS wanted ({', '.join(columns)}) "
            f"CROSS JOIN LATERAL ({self.select} WHERE {same} OFFSET 0) AS found"
        )

    def read(self, row: asyncpg.Record) -> R:
        return self.record(*row)

    def encode(self, rows: Iterable[R]) -> str:
        """Rows as the parameter of the statements below."""
        ordered = list(rows) if self._order is None else sorted(rows, key=self._order)
        return _to_json(ordered).decode()

    def given(self, parameter: int) -> str:
        """The rows that are handed over, as a query."""
        taken = (
            f"decode({field}, 'base64') AS {field}" if kind == "bytea" else field
            for field, kind in self.types.items()
        )
        sent = (
            f"{field} {'text' if kind == 'bytea' else kind}" for field, kind in self.types.items()
        )
        return (
            f"SELECT {', '.join(taken)} "
            f"FROM json_to_recordset(${parameter}::json) AS sent ({', '.join(sent)})"
        )

    def insert(self, parameter: int) -> str:
        return f"INSERT INTO {self.name} ({self.columns}) {self.given(parameter)}"

    def update(self, parameter: int) -> str:
        values = ", ".join(f"{field} = new.{field}" for field in self._mutable)
        same = " AND ".join(f"old.{field} = new.{field}" for field in self._key)
        given = self.given(parameter)
        return f"UPDATE {self.name} old SET {values} FROM ({given}) AS new WHERE {same}"

    def upsert(self, parameter: int) -> str:
        """Replaces the row that has the same key."""
        values = ", ".join(f"{field} = excluded.{field}" for field in self._mutable)
        key = ", ".join(self._key)
        return f"{self.insert(parameter)} ON CONFLICT ({key}) DO UPDATE SET {values}"


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
SANDBOX_PERIODS = Table(
    "sandbox_periods", SandboxPeriod, key=("owner", "unit", "start"), mutable=("spent",)
)
TRANSFERS = Table("transfers", Transfer, key=("id",))
TOPUP_SLIPS = Table("topup_slips", TopupSlip, key=("mode", "slip"), contested=("mode", "slip"))
TRANSACTIONS = Table("transactions", Transaction, key=("tid",))
EVENTS = Table("events", Event, key=("id",))
ACCESS_TOKENS = Table("access_tokens", AccessToken, key=("digest",))
SAVED_RESPONSES = Table(
    "saved_responses",
    SavedResponse,
    key=("tenant_id", "operation", "key"),
    mutable=_from(SavedResponse, "fingerprint"),
)
REPLAYS = Table(
    "saved_responses",
    SavedResponse,
    key=("tenant_id", "operation", "key"),
    mutable=_from(SavedResponse, "replays"),  # the response itself is not written again
)
