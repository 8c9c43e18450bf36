"""Statements made from records: the fields of a record are the columns of its table."""

from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Sequence
from datetime import date, datetime
from operator import attrgetter
from types import NoneType
from typing import Any, Generic, TypeVar, cast, get_args, get_type_hints
from uuid import UUID

import asyncpg
from msgspec import Struct, defstruct, json

from laari.rules.tables import Stored, Table
from laari.rules.world import World

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)  # of a column
R = TypeVar("R", bound=Struct)

_to_json = json.Encoder().encode

_PG_TYPES: dict[object, str] = {
    int: "bigint",
    str: "text",
    bool: "boolean",
    bytes: "bytea",
    UUID: "uuid",
    date: "date",
    datetime: "timestamptz",
    list[str]: "text[]",
}


def _encoder(fields: Sequence[str]) -> Callable[[Iterable[Struct]], str]:
    """Makes JSON of these fields of each row, without nulls.

    The database reads a missing field as null, and a null takes as long to read as a value.
    """
    names: list[tuple[str, type, None]] = [(field, object, None) for field in fields]
    sent = defstruct("Sent", names, frozen=True, gc=False, omit_defaults=True)
    # Of one field, `attrgetter` would return its value by itself.
    values = attrgetter(*fields) if len(fields) > 1 else lambda row: (getattr(row, fields[0]),)
    return lambda rows: _to_json([sent(*values(row)) for row in rows]).decode()


def _pg_type(hint: object) -> str:
    if "numeric" in getattr(hint, "__metadata__", ()):
        return "numeric"
    if hint in _PG_TYPES:
        return _PG_TYPES[hint]
    held = next(arg for arg in get_args(hint) if arg is not NoneType)
    return "text" if isinstance(held, str) else _pg_type(held)  # a literal's values are text


class Statements(Generic[R]):
    """One table's bulk statements: all rows are one parameter, as JSON.

    The database reads JSON faster than a driver can encode an array for every column.
    """

    def __init__(self, stored: Stored[R]) -> None:
        self.name = stored.table
        self.record = stored.record
        self.columns = ", ".join(stored.record.__struct_fields__)
        self.select = f"SELECT {self.columns} FROM {self.name}"
        self._order = attrgetter(*stored.contested) if stored.contested else None
        self._to_json = _encoder(stored.record.__struct_fields__)
        hints = get_type_hints(stored.record, include_extras=True)
        self.types = {field: _pg_type(hints[field]) for field in stored.record.__struct_fields__}
        self._nullable = {field for field in self.types if NoneType in get_args(hints[field])}

    def _same(self, column: str, left: str, right: str) -> str:
        equal = "IS NOT DISTINCT FROM" if column in self._nullable else "="
        return f"{left}.{column} {equal} {right}.{column}"

    def select_by(self, *columns: str, lock: str = "", first: int = 1) -> str:
        """The rows with these values; the parameters are an array for each column from `first` on.

        `OFFSET 0` forces look-ups: a plan made for a small table would read all of it.
        """
        arrays = (f"${n}::{self.types[column]}[]" for n, column in enumerate(columns, first))
        same = " AND ".join(self._same(column, self.name, "wanted") for column in columns)
        return (
            f"SELECT found.* FROM unnest({', '.join(arrays)}) AS wanted ({', '.join(columns)}) "
            f"CROSS JOIN LATERAL ({self.select} WHERE {same} OFFSET 0{lock}) AS found"
        )

    def read(self, row: asyncpg.Record) -> R:
        return self.record(*row)

    def finder(
        self, column: str, only: str = "true"
    ) -> Callable[[asyncpg.Connection, list[Any]], Awaitable[dict[Any, R]]]:
        """Rows by a unique column; `only` is the condition of its index, if it has one."""
        statement = f"{self.select} WHERE {column} = ANY($1) AND {only}"

        async def find(connection: asyncpg.Connection, values: list[V]) -> dict[V, R]:
            rows = await connection.fetch(statement, values)
            return {row[column]: self.record(*row) for row in rows}

        return find

    def encode(self, rows: Iterable[R]) -> str:
        ordered = rows if self._order is None else sorted(rows, key=self._order)
        return self._to_json(ordered)

    def given(self, parameter: int, fields: Collection[str] | None = None) -> str:
        """The rows of the parameter as a query; a change names the fields it needs."""
        types = {field: self.types[field] for field in fields or self.types}
        taken = (
            f"decode({field}, 'base64') AS {field}" if kind == "bytea" else field
            for field, kind in types.items()
        )
        sent = (f"{field} {'text' if kind == 'bytea' else kind}" for field, kind in types.items())
        return (
            f"SELECT {', '.join(taken)} "
            f"FROM json_to_recordset(${parameter}::json) AS sent ({', '.join(sent)})"
        )

    def insert(self, parameter: int) -> str:
        return f"INSERT INTO {self.name} ({self.columns}) {self.given(parameter)}"


class KeptChanges(Generic[R]):
    """The statement that keeps the changes of one table's records, with all their values.

    Bytes are left out: they are large, and their digest is a value too.
    """

    def __init__(self, stored: Stored[R]) -> None:
        hints = get_type_hints(stored.record, include_extras=True)
        fields = [name for name in stored.record.__struct_fields__ if hints[name] is not bytes]
        self._table = stored.table
        self._state = _encoder(fields)
        self._key = stored.kept

    def encode(self, changes: Iterable[tuple[R | None, R]]) -> str:
        """Of each record before, None if it is new, and after."""
        kept = [
            {
                "key": " ".join(str(getattr(after, field)) for field in self._key),
                "before": None if before is None else self._text(before),
                "after": self._text(after),
            }
            for before, after in changes
        ]
        return _to_json(kept).decode()

    def _text(self, row: R) -> str:
        return self._state([row])[1:-1]  # of a list with one

    def insert(self, parameter: int) -> str:
        return (
            "INSERT INTO record_changes (record, key, before, after) "
            f"SELECT '{self._table}', key, before, after FROM "
            f"json_to_recordset(${parameter}::json) AS sent (key text, before text, after text)"
        )


class KeyedStatements(Statements[R], Generic[K, R]):
    """Adds statements by the table's own key: lock, read, change and replace."""

    def __init__(self, table: Table[K, R]) -> None:
        super().__init__(table)
        self._key = table.key
        self._changes = _from(table.record, table.changes_from)
        self._replaces = _from(table.record, table.replaced_from)
        self.is_shared = table.shared
        # What is locked is locked in the order of the keys.
        lock = " FOR SHARE" if table.shared else " FOR NO KEY UPDATE"
        if len(table.key) == 1:
            [key] = table.key
            self.read_by_key = f"{self.select} WHERE {key} = ANY($1)"
            self.lock_by_key = f"{self.read_by_key} ORDER BY {key}{lock}"
        else:
            self.read_by_key = self.select_by(*table.key)
            self.lock_by_key = self.select_by(*table.key, lock=lock)
        self.add = self.upsert if table.replaced_from else self.insert
        self.key_of = table.key_of
        self._sent_changes = (*table.key, *self._changes)
        self.encode_changes: Callable[[Iterable[R]], str] = _encoder(self._sent_changes)
        self.encode_keys: Callable[[Iterable[R]], str] = _encoder(table.key)
        self._order_of_keys = _nulls_last if self._nullable.intersection(table.key) else None

    def given_keys(self, keys: Collection[K]) -> list[list[object]]:
        if len(self._key) == 1:
            return [list(keys)]
        ordered = sorted(cast("Collection[tuple[str, ...]]", keys), key=self._order_of_keys)
        return [list(column) for column in zip(*ordered, strict=True)]

    def update(self, parameter: int) -> str:
        values = ", ".join(f"{field} = new.{field}" for field in self._changes)
        same = " AND ".join(self._same(field, "old", "new") for field in self._key)
        given = self.given(parameter, self._sent_changes)
        return f"UPDATE {self.name} old SET {values} FROM ({given}) AS new WHERE {same}"

    def delete(self, parameter: int) -> str:
        same = " AND ".join(self._same(field, "old", "gone") for field in self._key)
        given = self.given(parameter, self._key)
        return f"DELETE FROM {self.name} old USING ({given}) AS gone WHERE {same}"

    def upsert(self, parameter: int) -> str:
        values = ", ".join(f"{field} = excluded.{field}" for field in self._replaces)
        key = ", ".join(self._key)
        return f"{self.insert(parameter)} ON CONFLICT ({key}) DO UPDATE SET {values}"


def _nulls_last(key: tuple[object, ...]) -> tuple[tuple[bool, object], ...]:
    return tuple((value is None, value) for value in key)


def _from(record: type[Struct], first: str | None) -> tuple[str, ...]:
    fields = record.__struct_fields__
    return () if first is None else fields[fields.index(first) :]


# What other modules read, by the names of the registry.
PAYMENTS = KeyedStatements(World.payments)
REQUESTS = KeyedStatements(World.requests)
CONTACT_CHANGES = KeyedStatements(World.contact_changes)
CASES = KeyedStatements(World.cases)
TRUSTED_PEOPLE = KeyedStatements(World.trusted_people)
PASSKEYS = KeyedStatements(World.passkeys)
PASSWORD_LINKS = KeyedStatements(World.password_links)
APPLICATIONS = KeyedStatements(World.applications)
AUTHORIZATIONS = KeyedStatements(World.authorizations)
WALLETS = KeyedStatements(World.wallets)
SANDBOX_PERIODS = KeyedStatements(World.sandbox_periods)
FUNDS = KeyedStatements(World.funds)
PAYOUT_TERMS = KeyedStatements(World.payout_terms)
PAYOUT_RUNS = KeyedStatements(World.runs)
PAYOUTS = KeyedStatements(World.payouts)
BANK_ORDERS = KeyedStatements(World.orders)
BANK_LINES = KeyedStatements(World.bank_lines)
BANK_FILES = Statements(World.bank_files)
BANK_ACCOUNTS = Statements(World.new_bank_accounts)
FLOAT_SIGNOFFS = Statements(World.float_signoffs)
REFERENCES = KeyedStatements(World.references)
SAVED_RESPONSES = KeyedStatements(World.saved_responses)
MOVEMENTS = KeyedStatements(World.movements)
TRANSFERS = Statements(World.transfers)
REFUNDS = Statements(World.refunds)
TILLS = KeyedStatements(World.tills)
REUSABLE_LINKS = KeyedStatements(World.reusable_links)
TILL_CLOSINGS = Statements(World.till_closings)
TRANSACTIONS = Statements(World.transactions)
EVENTS = Statements(World.events)
MESSAGES = Statements(World.messages)
