"""The transactions that have all ended, and a check that the server counts on from there.

Seals and daily figures note how far they have come. A server that counts from lower numbers would
write rows that seem to be covered already.
"""

from asyncpg import Connection

from laari.errors import LaariError
from laari.store.ledger.seals import sealed_places


class MovedError(LaariError):
    """Transactions count from lower numbers than those that are sealed or added up."""


async def xid_horizon(connection: Connection) -> int:
    """The last transaction before the oldest running one: no row up to it can appear later."""
    last: int = await connection.fetchval(
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1"
    )
    return last


def require_not_moved(what: str, upto: int, last: int) -> None:
    if upto > last:
        raise MovedError(
            f"{what} up to transaction {upto} and this server is at {last}: the database was "
            "moved by a dump. Stop the service and raise the server's counter above that "
            "(pg_resetwal -x; docs/audit.md)"
        )


async def check_not_moved(connection: Connection) -> None:
    """Before a service starts: its rows would be neither sealed nor counted."""
    places = await sealed_places(connection)
    added = await connection.fetchval("SELECT xid FROM figures_upto")
    last = await xid_horizon(connection)
    for table, place in places.items():
        require_not_moved(f"{table} are sealed", place.xid, last)
    require_not_moved("daily figures are added", added, last)
