"""Settings and kept records against what the service wrote about them.

The service writes an entry of the journal, or a row of `record_changes`, with each change. So a
difference is a change made in the database.
"""

from typing import NamedTuple

from laari.store.audit.coverage import Journal, Kept, setting_kind
from laari.store.audit.covered import TABLES
from laari.store.audit.difference import Check

LONGEST = 60  # characters of a value in a difference


class _Written(NamedTuple):
    """The values of a table that are written elsewhere too, and the statement that reads them."""

    table: str
    kind: str
    name: str  # in differences
    key: str  # of a row `r`
    columns: tuple[str, ...]
    entries: str  # with id, key, before and after
    message: str


def _of_journal(table: str, journal: Journal) -> _Written:
    return _Written(
        table=table,
        kind=setting_kind(journal),
        name=journal.object_type,
        key=journal.object_id,
        columns=tuple(journal.columns.split()),
        entries="SELECT id, object_id AS key, before, after FROM journal "
        f"WHERE object_type = '{journal.object_type}'",
        message="The setting was changed without an entry in the journal.",
    )


def _of_changes(table: str, kept: Kept) -> _Written:
    key = ", ".join(f"r.{name}" for name in kept.key.split())
    return _Written(
        table=table,
        kind="kept_record",
        name=table,
        key=f"concat_ws(' ', {key})",
        columns=tuple(kept.columns.split()),
        entries=f"SELECT id, key, before, after FROM record_changes WHERE record = '{table}'",
        message="The record is not as the service left it.",
    )


def _found(column: str) -> str:
    """A value of the row `r`, as entries have it."""
    name = column.removeprefix("#")
    if name == column:
        return f"'{name}', r.{name}"
    return f"'{name}', left(encode(sha256(convert_to(r.{name}::text, 'UTF8')), 'hex'), 32)"


def _read(written: _Written, entry: str) -> str:
    """The watched values of an entry as the table's columns have them, whatever their form was.

    The `CASE` keeps the null of an entry about a new or a deleted object.
    """
    values = ", ".join(
        f"'{column}', p.{column}"
        if not column.startswith("#")
        else f"'{column[1:]}', {entry}::jsonb -> '{column[1:]}'"
        for column in written.columns
    )
    digests = "".join(f" - '{column[1:]}'" for column in written.columns if column[0] == "#")
    return (
        f"CASE WHEN {entry} IS NOT NULL THEN (SELECT jsonb_build_object({values}) FROM "
        f"jsonb_populate_record(NULL::public.{written.table}, {entry}::jsonb{digests}) AS p) END"
    )


def _check(written: _Written) -> Check:
    """The values of each row against its last entry, in both directions."""
    values = ", ".join(map(_found, written.columns))
    return Check(
        written.kind,
        written.message,
        f"""SELECT '{written.name} ' || key || field AS id,
            left(coalesce(each.expected, 'null'), {LONGEST}) AS expected,
            left(coalesce(each.found, 'null'), {LONGEST}) AS found
        FROM (
            SELECT key, {_read(written, "l.after")} AS expected, r.state AS found
            FROM (
                SELECT DISTINCT ON (key) key, after FROM ({written.entries}) AS entries
                ORDER BY key, id DESC
            ) AS l
            FULL JOIN (
                SELECT {written.key} AS key, jsonb_build_object({values}) AS state
                FROM {written.table} r
            ) AS r USING (key)
            -- Most are equal as they are.
            WHERE CASE WHEN l.after::jsonb IS NOT DISTINCT FROM r.state THEN false
                ELSE {_read(written, "l.after")} IS DISTINCT FROM r.state END
        ) AS differs CROSS JOIN LATERAL (
            SELECT ', ' || name, differs.expected ->> name, differs.found ->> name
            FROM jsonb_object_keys(differs.found) AS name
            WHERE differs.expected IS NOT NULL
                AND differs.expected -> name IS DISTINCT FROM differs.found -> name
            UNION ALL SELECT '', 'nothing', 'a row' WHERE differs.expected IS NULL
            UNION ALL SELECT '', 'a row', 'nothing' WHERE differs.found IS NULL
        ) AS each (field, expected, found)""",
        scope="all",
    )


def _history(kind: str, message: str, tables: list[_Written]) -> Check:
    """Each entry begins with the values of the one before it.

    A change in the database, and then one by the service, would leave a last entry that fits.
    """
    entries = " UNION ALL ".join(
        f"""SELECT '{each.name}' AS name, key, id, {_read(each, "before")} AS found,
            {_read(each, "previous")} AS expected
        FROM (
            SELECT *, lag(after) OVER (PARTITION BY key ORDER BY id) AS previous
            FROM ({each.entries}) AS entries
        ) AS pairs
        WHERE before IS DISTINCT FROM previous"""
        for each in tables
    )
    return Check(
        kind,
        message,
        f"""SELECT name || ' ' || key || ', entry ' || id AS id,
            left(coalesce(expected::text, 'nothing'), {LONGEST}) AS expected,
            left(coalesce(found::text, 'nothing'), {LONGEST}) AS found
        FROM ({entries}) AS entries WHERE found IS DISTINCT FROM expected""",
        scope="all",
    )


_SETTINGS = [_of_journal(name, t.journal) for name, t in TABLES.items() if t.journal is not None]
_KEPT = [_of_changes(name, t.kept) for name, t in TABLES.items() if t.kept is not None]

CHECKS = [
    *map(_check, _SETTINGS),
    _history(
        "setting_history",
        "The setting was changed without an entry in the journal, before its next change.",
        _SETTINGS,
    ),
    *map(_check, _KEPT),
    _history(
        "record_history", "The record was changed in the database, before its next change.", _KEPT
    ),
]
