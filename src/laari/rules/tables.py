"""How the rules name what the database holds: tables, lookups and journals.

Each is declared once, on the class `World`, and means two things there: `World.payments` is the
table, which a command names to have its rows loaded, and `world.payments` are the rows that one
batch has loaded. The store makes its statements from the same declarations.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar, overload

from msgspec import Struct

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R", bound=Struct)


class UnlockedRowError(Exception):
    """A command changed a row that its batch has not locked: a defect, and nothing is committed."""


class Rows(Generic[K, V]):
    """The rows of one table as this batch sees them."""

    __slots__ = ("_locked", "added", "changed", "seen")

    def __init__(self) -> None:
        self.seen: dict[K, V] = {}
        self.added: dict[K, V] = {}
        self.changed: dict[K, V] = {}
        self._locked: set[K] = set()

    def show(self, key: K, row: V) -> None:
        """Takes in a row that was read without a lock: another process may be changing it now."""
        self.seen.setdefault(key, row)

    def lock(self, key: K, row: V) -> None:
        """Takes in a row that nobody else can change until this batch is done."""
        self._locked.add(key)
        self.seen[key] = row

    def is_locked(self, key: K) -> bool:
        return key in self._locked

    def get(self, key: K) -> V | None:
        return self.seen.get(key)

    def add(self, key: K, row: V) -> None:
        self.seen[key] = self.added[key] = row

    def change(self, key: K, row: V) -> None:
        # A row added in this same batch is inserted in its latest form.
        if key in self.added:
            self.added[key] = row
        elif key in self._locked:
            self.changed[key] = row
        else:
            raise UnlockedRowError(f"{type(row).__name__} {key} was read without a lock")
        self.seen[key] = row


class Loaded(Generic[K]):
    """What a command can name in its needs, by a key."""

    name: str

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Stored(Generic[R]):
    """What the store writes rows of: a record, whose fields are the columns of this table.

    `contested` names a unique index that rows of two batches may meet on. The second one to come
    waits there for the first, so every batch inserts in the order of those fields: two that went
    crosswise would wait for each other.
    """

    def __init__(self, record: type[R], table: str, contested: tuple[str, ...] = ()) -> None:
        self.record = record
        self.table = table
        self.contested = contested


class Table(Loaded[K], Stored[R], Generic[K, R]):
    """Rows that are read, locked, added and changed by their key.

    `changes_from` is the first of the fields that change after creation. Where `replaced_from` is
    set, a row that is added takes the place of one that has its key, from that field on. `shared`
    rows are locked together with others who do so, and never changed.
    """

    def __init__(
        self,
        record: type[R],
        table: str,
        key: tuple[str, ...],
        *,
        changes_from: str | None = None,
        replaced_from: str | None = None,
        contested: tuple[str, ...] = (),
        shared: bool = False,
    ) -> None:
        super().__init__(record, table, contested)
        self.key = key
        self.changes_from = changes_from
        self.replaced_from = replaced_from
        self.shared = shared

    @overload
    def __get__(self, world: None, owner: type) -> Table[K, R]: ...
    @overload
    def __get__(self, world: object, owner: type) -> Rows[K, R]: ...
    def __get__(self, world: object, owner: type) -> Table[K, R] | Rows[K, R]:
        if world is None:
            return self
        # From now on the world has an attribute of this name, which Python finds first.
        rows: Rows[K, R] = Rows()  # `Rows[K, R]()` would be four times as slow
        vars(world)[self.name] = rows
        return rows

    def of(self, world: object) -> Rows[K, R]:
        """The rows of this world."""
        rows = self.touched(world)
        return self.__get__(world, type(world)) if rows is None else rows

    def touched(self, world: object) -> Rows[K, R] | None:
        """The rows of this world, if anything was loaded or added."""
        rows: Rows[K, R] | None = vars(world).get(self.name)
        return rows


class Lookup(Loaded[K], Generic[K, V]):
    """Values that are only read, by a key that is no table's own."""

    @overload
    def __get__(self, world: None, owner: type) -> Lookup[K, V]: ...
    @overload
    def __get__(self, world: object, owner: type) -> dict[K, V]: ...
    def __get__(self, world: object, owner: type) -> Lookup[K, V] | dict[K, V]:
        if world is None:
            return self
        found: dict[K, V] = {}
        vars(world)[self.name] = found
        return found


class Journal(Stored[R], Generic[R]):
    """Rows that are only ever added."""

    name: str

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, world: None, owner: type) -> Journal[R]: ...
    @overload
    def __get__(self, world: object, owner: type) -> list[R]: ...
    def __get__(self, world: object, owner: type) -> Journal[R] | list[R]:
        if world is None:
            return self
        rows: list[R] = []
        vars(world)[self.name] = rows
        return rows

    def touched(self, world: object) -> list[R] | None:
        """What this world has added, if anything."""
        rows: list[R] | None = vars(world).get(self.name)
        return rows
