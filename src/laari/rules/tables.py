"""How the rules name the tables of the database: tables, lookups and additions.

`World.payments` is the table, for a command's needs; `world.payments` are the loaded rows.
"""

from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import Annotated, Any, Generic, Self, TypeAlias, TypeVar, cast, overload

from msgspec import Struct

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R", bound=Struct)
Held = TypeVar("Held")

# A column whose sums can pass 2^63 is `numeric` in the database and still `int` here.
BigInt = Annotated[int, "numeric"]


class UnlockedRowError(Exception):
    """A command changed a row that its batch has not locked: a defect, and nothing is committed."""


class Rows(Generic[K, V]):
    """The rows of one table as this batch sees them."""

    __slots__ = ("_locked", "added", "changed", "removed", "seen")

    def __init__(self) -> None:
        self.seen: dict[K, V] = {}
        self.added: dict[K, V] = {}
        self.changed: dict[K, V] = {}
        self.removed: dict[K, V] = {}
        self._locked: dict[K, V] = {}

    def show(self, key: K, row: V) -> None:
        """Takes in a row that was read without a lock: another process may be changing it now."""
        self.seen.setdefault(key, row)

    def lock(self, key: K, row: V) -> None:
        """Takes in a row that nobody else can change until this batch is done."""
        self.seen[key] = self._locked[key] = row

    def before(self, key: K) -> V | None:
        """The row as it was when the batch locked it."""
        return self._locked.get(key)

    def is_locked(self, key: K) -> bool:
        return key in self._locked

    def get(self, key: K) -> V | None:
        return self.seen.get(key)

    def __getitem__(self, key: K) -> V:
        """A row that the batch must have loaded; its absence is a defect."""
        return self.seen[key]

    def add(self, key: K, row: V) -> None:
        self.seen[key] = self.added[key] = row

    def change(self, key: K, row: V) -> None:
        # A row added in this same batch is inserted in its latest form.
        if key in self.added:
            self.added[key] = row
        elif key in self._locked:
            self.changed[key] = row
            self.removed.pop(key, None)
        else:
            raise UnlockedRowError(f"{type(row).__name__} {key} was read without a lock")
        self.seen[key] = row

    def remove(self, key: K) -> None:
        row = self.seen.pop(key)
        if key in self.added:
            del self.added[key]
        elif key in self._locked:
            self.removed[key] = row
            self.changed.pop(key, None)
        else:
            raise UnlockedRowError(f"{type(row).__name__} {key} was read without a lock")


class Declared(Generic[Held]):
    """One declaration on `World`. A world holds its part of it as `holder`, made at first use."""

    name: str
    holder: type

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, world: None, owner: type) -> Self: ...
    @overload
    def __get__(self, world: object, owner: type) -> Held: ...
    def __get__(self, world: object, owner: type) -> Self | Held:
        if world is None:
            return self
        # From now on the world has an attribute of this name, which Python finds first.
        held: Held = self.holder()
        vars(world)[self.name] = held
        return held

    def of(self, world: object) -> Held:
        return cast("Held", getattr(world, self.name))

    def touched(self, world: object) -> Held | None:
        """What this world has loaded or added, if anything."""
        held: Held | None = vars(world).get(self.name)
        return held


class Stored(Generic[R]):
    """A record, and the table whose columns are its fields.

    `contested` names a unique index on which two batches may meet. Every batch inserts in the order
    of these fields, so that two batches never wait for each other.

    `kept` names the key of a record whose changes are kept too, for the audit. Tables that payments
    write are not kept: their values follow from sealed rows.
    """

    def __init__(
        self,
        record: type[R],
        table: str,
        contested: tuple[str, ...] = (),
        kept: tuple[str, ...] = (),
    ) -> None:
        self.record = record
        self.table = table
        self.contested = contested
        self.kept = kept


class Table(Declared[Rows[K, R]], Stored[R], Generic[K, R]):
    """Rows that are read, locked, added, changed and removed by their key.

    `changes_from` is the first field that changes after creation. If `replaced_from` is set, an
    added row replaces the fields of the row with its key, from that field on. Rows of a `shared`
    table are never changed, and many batches can lock them at once.
    """

    holder = Rows

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
        kept: bool = False,
    ) -> None:
        super().__init__(record, table, contested, key if kept else ())
        self.key = key
        self.key_of = cast("Callable[[R], K]", attrgetter(*key))
        self.changes_from = changes_from
        self.replaced_from = replaced_from
        self.shared = shared


class Lookup(Declared[dict[K, V]], Generic[K, V]):
    """Values that are only read, by a key other than a table's own."""

    holder = dict


class Additions(Declared[list[R]], Stored[R], Generic[R]):
    """Rows that are only added."""

    holder = list


# A command can name these in its needs, by a key.
Loaded: TypeAlias = Table[K, Any] | Lookup[K, Any]
