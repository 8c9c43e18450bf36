"""What waits for the operator's people: the first page of the desk."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from asyncpg import Connection
from msgspec import Struct

from laari.rules.actors import Actor
from laari.rules.people.persons import not_second
from laari.rules.records.second_person import Help

MOST_COUNTED = 10_000
MOST_SHOPS = 50
# Live shops with events that were given up; one look-up in an index for each shop.
GIVEN_UP_SHOPS = """
SELECT t.id, e.created_at AS since FROM tenants t
CROSS JOIN LATERAL (
    SELECT event_id FROM deliveries WHERE status = 'failed' AND tenant_id = t.id
    ORDER BY event_id LIMIT 1
) AS first JOIN events e ON e.id = first.event_id
WHERE t.mode = 'live'
"""

InboxKind = Literal[
    "cases",
    "applications",
    "movements",
    "imports",
    "runs",
    "files",
    "lines",
    "webhooks",
    "messages",
]


class Waits(Struct, frozen=True):
    """Things of one kind that wait, counted up to a bound, and since when the oldest does.

    `run` is the number of the first run, if they are runs.
    """

    kind: InboxKind
    many: int
    since: datetime
    run: int | None


# Some people may not confirm it, such as the one who asked.
_ASKED = """
SELECT requested_at AS since FROM pending_movements
WHERE status = 'waiting' AND requested_by <> ALL($1)
"""
_ASKING = "SELECT DISTINCT requested_by FROM pending_movements WHERE status = 'waiting'"
# A charge of the bank and the like move nothing, but wait for a person as unallocated money does.
_SOURCES: dict[InboxKind, str] = {
    "cases": "SELECT opened_at AS since FROM cases WHERE status = 'open'",
    "applications": "SELECT submitted_at AS since FROM applications WHERE status = 'submitted'",
    "movements": f"{_ASKED} AND kind <> 'import'",
    "imports": f"{_ASKED} AND kind = 'import'",
    "runs": "SELECT created_at AS since, number AS run FROM payout_runs "
    "WHERE mode = 'live' AND status = 'requested'",
    "files": "SELECT approved_at AS since, number AS run FROM payout_runs "
    "WHERE mode = 'live' AND status = 'approved'",
    "lines": "SELECT imported_at AS since FROM bank_lines WHERE use IN ('receipt', 'none')",
    "webhooks": f"SELECT since FROM ({GIVEN_UP_SHOPS}) AS shops",
    "messages": "SELECT created_at AS since FROM messages WHERE status = 'failed'",
}
_INBOX = " UNION ALL ".join(
    f"SELECT '{kind}' AS kind, count(*) AS many, min(since) AS since, "
    f"{'min(run)' if kind in ('runs', 'files') else 'NULL::bigint'} AS run "
    f"FROM ({source} LIMIT {MOST_COUNTED}) AS found HAVING count(*) > 0"
    for kind, source in _SOURCES.items()
)


async def read(
    connection: Connection, actor: Actor, now: datetime, helps: Sequence[Help]
) -> list[Waits]:
    """Only kinds of which something waits for this person."""
    names = [row["requested_by"] for row in await connection.fetch(_ASKING)]
    barred = [name for name in names if not_second(name, actor, helps, now, "own") is not None]
    rows = await connection.fetch(_INBOX, barred)
    return [Waits(**row) for row in rows]


class GivenUpShop(Struct, frozen=True):
    """A live shop with events that were given up, and the time of the first."""

    merchant_id: str
    name: str
    since: datetime


async def given_up_shops(connection: Connection) -> list[GivenUpShop]:
    """The longest wait first."""
    rows = await connection.fetch(
        "SELECT d.merchant_id, d.merchant_name AS name, s.since "
        f"FROM ({GIVEN_UP_SHOPS} ORDER BY since LIMIT {MOST_SHOPS}) AS s "
        "JOIN tenant_details d USING (id) ORDER BY s.since"
    )
    return [GivenUpShop(**row) for row in rows]
