"""Sessions on devices that the person has not used before: a notice goes with them."""

from datetime import datetime

from asyncpg import Connection

from laari.rules.messages import DeviceContent
from laari.rules.records.people import Whose
from laari.store.counters import sessions
from laari.store.counters.sessions import Opened, Proof
from laari.store.outbox import notices

UNKNOWN = "unknown"


async def open_session(
    connection: Connection,
    master: bytes,
    whose: Whose,
    now: datetime,
    proof: Proof,
    *,
    opened: Opened,
    channels: frozenset[str],
) -> str | None:
    """Opens a session, and writes the notice of a new device for these channels.

    An address that nobody has proved gets none: a stranger could have signed up with it. None if
    the password was changed, or the passkey ended, after the proof was read.
    """
    async with connection.transaction():
        token = await sessions.open_for(connection, master, whose, now, proof, opened=opened)
        to = await notices.reached(connection, whose, channels) if token and channels else None
        if to is not None and to.proven:
            content = DeviceContent(opened.device or UNKNOWN, opened.address or UNKNOWN, now)
            await notices.write(connection, master, to, "new_device", content, now=now)
        return token
