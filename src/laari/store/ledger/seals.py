"""The chain over the ledger: live rows never change, and keyed digests seal them.

A seal covers a range of transactions and includes the seal before it. It ends before the oldest
running transaction: no row below it can appear later (docs/audit.md).
"""

import hmac
from datetime import UTC, datetime

from asyncpg import Connection
from msgspec import Struct, json
from msgspec.structs import astuple, replace

from laari.errors import LaariError
from laari.store.ledger.sealed_rows import SUBJECTS, Content, SealedPlace
from laari.store.secrets import derive


class Seal(Struct, frozen=True):
    """The fields are the columns of `seals`, in order."""

    number: int
    subject: str
    from_xid: int
    from_key: str | None
    upto_xid: int
    upto_key: str | None
    row_count: int
    deliveries: int
    content: bytes
    sealed_at: datetime
    mac: bytes

    @property
    def after(self) -> SealedPlace:
        return SealedPlace(self.from_xid, self.from_key)

    @property
    def upto(self) -> SealedPlace:
        return SealedPlace(self.upto_xid, self.upto_key)


COLUMNS = ", ".join(Seal.__struct_fields__)


def sealing_key(master_key: bytes) -> bytes:
    return derive(master_key, "ledger seals", "")


def mac_of(key: bytes, seal: Seal, previous: bytes) -> bytes:
    *start, content, sealed_at, _ = astuple(seal)
    covered = (*start, content.hex(), int(sealed_at.timestamp() * 1_000_000), previous.hex())
    return hmac.digest(key, json.encode(covered), "sha256")


async def last_seal(connection: Connection) -> Seal | None:
    row = await connection.fetchrow(f"SELECT {COLUMNS} FROM seals ORDER BY number DESC LIMIT 1")
    return None if row is None else Seal(**row)


def next_seal(
    key: bytes,
    previous: Seal | None,
    table: str,
    after: SealedPlace,
    upto: SealedPlace,
    *,
    content: Content,
) -> Seal:
    """The seal that follows the last one in the chain, over the rows between two places."""
    number, mac = (1, b"") if previous is None else (previous.number + 1, previous.mac)
    row_count, digest, deliveries = content
    now = datetime.now(UTC)
    bare = Seal(
        number=number,
        subject=table,
        from_xid=after.xid,
        from_key=after.key,
        upto_xid=upto.xid,
        upto_key=upto.key,
        row_count=row_count,
        deliveries=deliveries,
        content=digest,
        sealed_at=now,
        mac=b"",
    )
    return replace(bare, mac=mac_of(key, bare, mac))


async def insert(connection: Connection, seal: Seal) -> None:
    values = ", ".join(f"${n}" for n, _ in enumerate(Seal.__struct_fields__, 1))
    await connection.execute(f"INSERT INTO seals ({COLUMNS}) VALUES ({values})", *astuple(seal))


async def sealed_places(
    connection: Connection, number: int | None = None
) -> dict[str, SealedPlace]:
    """How far the chain, or its seals up to `number`, reaches in each table."""
    places = dict.fromkeys(SUBJECTS, SealedPlace(0))
    for table in SUBJECTS:
        row = await connection.fetchrow(
            "SELECT upto_xid AS xid, upto_key AS key FROM seals WHERE subject = $1 "
            "AND number <= coalesce($2, number) ORDER BY number DESC LIMIT 1",
            table,
            number,
        )
        if row is not None:
            places[table] = SealedPlace(**row)
    return places


class MovedError(LaariError):
    """The server counts transactions from lower numbers than those sealed or added up.

    Its next rows would seem to be covered already.
    """


async def xid_horizon(connection: Connection) -> int:
    """The last transaction before the oldest running one: no row up to it can appear later."""
    statement = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1"
    return int(await connection.fetchval(statement))


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
    told = await connection.fetchval("SELECT xid FROM messages_upto")
    last = await xid_horizon(connection)
    for table, place in places.items():
        require_not_moved(f"{table} are sealed", place.xid, last)
    require_not_moved("daily figures are added", added, last)
    require_not_moved("messages are written", told, last)
