"""How the audit finds a change that somebody makes in the database, for every column.

Each table declares its columns once, in `covered_payments`, `covered_money` and `covered_people`.
The checks of settings and kept records are made from the declaration, docs/audit-coverage.md prints
it, and tests/audit/test_coverage.py compares it with the schema and tries every column.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, Self

from laari.rules.journal import Setting

Kind = Literal["sealed", "kept", "journal", "derived", "keyed", "open"]


class Journal(NamedTuple):
    """Settings whose values are in the journal, by the name and id of their object there.

    `object_id` is an expression about a row `r`, made of the columns `keys`. Of a column with a #
    the journal has the beginning of a digest.
    """

    object_type: str
    object_id: str
    keys: str
    columns: str

    @classmethod
    def of(cls, setting: Setting, object_id: str, keys: str) -> Self:
        """A setting that commands change."""
        return cls(setting.object_type, object_id, keys, " ".join(setting.watched))


class Kept(NamedTuple):
    """Records whose changes are in `record_changes`, by their key."""

    key: str
    columns: str


class Covered(NamedTuple):
    """The columns of a table by the way in which a change of them is found.

    - `sealed`: a seal covers the value.
    - `kept`: the audit compares it with the last change that a command wrote, which is sealed.
    - `journal`: the audit compares it with the last entry of the journal, which is sealed.
    - `derived`: the audit computes it again from such values; by the kinds of the checks.
    - `keyed`: it is made with the master key, so a changed row opens nothing.
    - `open`: a change is not found; by the reason why that is accepted.

    Names are separated by spaces. `traceless` are states that leave no trace: a change from one of
    them to another is not found. `deleted` says why a deleted row is not noticed.

    A seal does not show that somebody adds a row: it would be sealed as well. `added_named` are the
    checks of a sealed table that name it; of other tables those of the columns do. `added` says why
    an added row, or one of some of its states, is not noticed.
    """

    sealed: str = ""
    kept: Kept | None = None
    journal: Journal | None = None
    derived: Mapping[str, str] = {}
    keyed: str = ""
    open: Mapping[str, str] = {}
    traceless: str = ""
    deleted: str = ""
    added_named: str = ""
    added: str = ""


class Column(NamedTuple):
    name: str
    kind: Kind
    by: str  # the kinds of checks that name a change, or the reason why none does


def columns_of(table: Covered) -> Iterator[Column]:
    """Each column of the table, as often as it is declared."""
    ways: list[tuple[Kind, str, str]] = [
        ("sealed", "sealed_rows", table.sealed),
        ("kept", "kept_record", table.kept.columns if table.kept else ""),
        ("keyed", "the master key", table.keyed),
        *(("derived", checks, names) for checks, names in table.derived.items()),
        *(("open", reason, names) for reason, names in table.open.items()),
    ]
    if table.journal is not None:
        names = f"{table.journal.keys} {table.journal.columns}"
        ways.append(("journal", setting_kind(table.journal), names))
    for kind, by, names in ways:
        for name in names.split():
            yield Column(name.removeprefix("#"), kind, by)


def checks_of_added(table: Covered) -> set[str]:
    """The kinds of checks that name a row that somebody adds."""
    kinds = {
        kind
        for column in columns_of(table)
        if column.kind in ("kept", "journal", "derived")
        for kind in column.by.split()
    }
    return kinds - {"sealed_rows", "sealed_deliveries"} | {*table.added_named.split()}


def setting_kind(journal: Journal) -> str:
    return f"{journal.object_type}_setting"
