"""Sessions on devices that the person has not used before: a notice goes with them."""

from datetime import datetime
from uuid import UUID

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
        if proof.passkey is not None and not await _hold(connection, proof.passkey):
            return None
        token = await sessions.open_for(connection, master, whose, now, proof, opened=opened)
        to = await notices.reached(connection, whose, channels) if token and channels else None
        if to is not None and to.proven:
            content = DeviceContent(opened.device or UNKNOWN, opened.address or UNKNOWN, now)
            await notices.write(connection, master, to, "new_device", content, now=now)
        return token


async def _hold(connection: Connection, passkey: UUID) -> bool:
    """Whether the passkey is in use. Its end, which ends sessions too, waits for this transaction.

    The customer is locked first, as by a command.
    """
    found = await connection.fetchval(
        "SELECT true FROM passkeys k JOIN customers c ON c.id = k.customer_id "
        "WHERE k.id = $1 AND k.ended_at IS NULL FOR SHARE OF c, k",
        passkey,
    )
    return found is not None
