"""The journal, newest first."""

from datetime import datetime
from typing import NamedTuple

from asyncpg import Connection
from msgspec import Struct

from laari.rules.actors import OPERATOR_KINDS
from laari.rules.journal import OPERATOR
from laari.rules.records.journal import JournalEntry
from laari.rules.records.tenants import Mode

_COLUMNS = ", ".join(JournalEntry.__struct_fields__)
# For a filter: even a guessed name of the operator's people finds nothing.
_ACTOR_FOR_MERCHANT = (
    f"CASE WHEN actor_kind IN {OPERATOR_KINDS} THEN '{OPERATOR}' ELSE actor_name END"
)


class Filter(Struct, frozen=True):
    """Which entries to show; None is all. `mode` also shows settings of both modes."""

    merchant_id: str | None = None
    mode: Mode | None = None
    actor: str | None = None
    actor_for_merchant: str | None = None  # the name that the merchant sees
    action: str | None = None
    object_id: str | None = None
    since: datetime | None = None
    before: datetime | None = None


class JournalPlace(NamedTuple):
    time: datetime
    id: int


class JournalPage(NamedTuple):
    rows: list[JournalEntry]
    next: JournalPlace | None  # None if nothing older remains


# A range of one of the indexes by merchant, object and time.
_RANGE = {
    "merchant_id": "merchant_id = {}",
    "object_id": "object_id = {}",
    "since": "time >= {}",
    "before": "time < {}",
}
_REST = {
    "mode": "(mode IS NULL OR mode = {})",
    "actor": "actor_name = {}",
    "actor_for_merchant": f"{_ACTOR_FOR_MERCHANT} = {{}}",
    "action": "action = {}",
}
_NEWEST = "ORDER BY time DESC, id DESC LIMIT"


async def find(
    connection: Connection,
    wanted: Filter,
    limit: int,
    after: JournalPlace | None = None,
    *,
    most_read: int | None = None,
) -> JournalPage:
    """The newest entries, at most `limit`.

    A filter that few entries fit would read a merchant's whole journal. With `most_read`, a page
    ends after this number of entries; then it may have none and still a `next` place.
    """
    values: list[object] = []

    def where(conditions: dict[str, str]) -> str:
        parts = list[str]()
        for name, condition in conditions.items():
            if (value := getattr(wanted, name)) is not None:
                values.append(value)
                parts.append(condition.format(f"${len(values)}"))
        return " AND ".join(parts) or "true"

    within = where(_RANGE)
    if after is not None:
        within += f" AND (time, id) < (${len(values) + 1}, ${len(values) + 2})"
        values += [after.time, after.id]
    of_range = list(values)
    source = "journal"
    if most_read is not None:
        source = f"(SELECT * FROM journal WHERE {within} {_NEWEST} {most_read}) AS newest"
    conditions = where(_REST) if most_read is not None else f"{within} AND {where(_REST)}"
    rows = await connection.fetch(
        f"SELECT id, {_COLUMNS} FROM {source} WHERE {conditions} {_NEWEST} {limit + 1}", *values
    )
    entries = [
        JournalEntry(**{name: row[name] for name in JournalEntry.__struct_fields__})
        for row in rows[:limit]
    ]
    last = rows[limit - 1] if len(rows) > limit else None
    if last is None and most_read is not None:
        last = await connection.fetchrow(
            f"SELECT time, id FROM journal WHERE {within} {_NEWEST} 1 OFFSET {most_read - 1}",
            *of_range,
        )
    return JournalPage(entries, None if last is None else JournalPlace(last["time"], last["id"]))


async def actions_of(
    connection: Connection, object_type: str, object_id: str, limit: int
) -> list[JournalEntry]:
    """The entries about one object, oldest first."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM journal WHERE object_type = $1 AND object_id = $2 "
        "ORDER BY id LIMIT $3",
        object_type,
        object_id,
        limit,
    )
    return [JournalEntry(**row) for row in rows]


async def names(connection: Connection, merchant_id: str, column: str) -> list[str]:
    """The actors or actions of a merchant's newest entries, for the choices of its filter."""
    value = {"actor": _ACTOR_FOR_MERCHANT, "action": "action"}[column]
    rows = await connection.fetch(
        f"SELECT DISTINCT name FROM (SELECT {value} AS name FROM journal WHERE merchant_id = $1 "
        "ORDER BY time DESC, id DESC LIMIT 5000) AS newest ORDER BY name LIMIT 200",
        merchant_id,
    )
    return [row[0] for row in rows]
