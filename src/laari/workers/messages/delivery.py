"""The delivery of messages: leases due messages, sends them, records the results.

No transaction is open while a message is sent. If this process is killed before it has recorded a
result, the message is sent again when its lease expires.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec import Struct, json
from msgspec.structs import replace

from laari.errors import UnavailableError
from laari.rules import ids
from laari.rules.limits.messages import (
    CAN_WAIT,
    MOST_OF_A_MERCHANT,
    ONCE_ABOUT_ONE,
    RESERVED_PART,
    most_to_one,
)
from laari.rules.messages import addressed
from laari.rules.records.messages import Channel, MessageKind, MessageStatus
from laari.spine.batches import OutcomeUnknown
from laari.store.outbox import messages as outbox
from laari.store.outbox.messages import LeasedMessage
from laari.store.postgres.pool import Pool
from laari.store.reads import messages
from laari.store.secrets import MasterKeyError, decrypt
from laari.workers.messages.texts import one_line

log = logging.getLogger(__name__)

AT_ONCE = 8  # messages of one channel
# One attempt ends within 25 s: before the supervisor kills a process that stops, after 30 s.
ATTEMPT_SECONDS = 25.0
LEASE_SECONDS = 120.0
RETRY_SECONDS = (60, 300, 1800, 7200)  # after the first attempt, and so on
RECORD_TRIES = 10
MAX_ERROR = 300


class NotSent(Exception):  # noqa: N818
    """Why a message was not sent; a permanent refusal ends its attempts."""

    def __init__(self, reason: str, *, permanent: bool = False) -> None:
        super().__init__(reason)
        self.permanent = permanent


Send: TypeAlias = Callable[[LeasedMessage], Awaitable[None]]


class Suppressed(Exception):  # noqa: N818
    """Why a message is not sent, on purpose."""


async def send_due(
    pool: Pool,
    master: bytes,
    channel: Channel,
    send: Send,
    lease_seconds: float = LEASE_SECONDS,
    *,
    per_hour: int | None = None,
) -> bool:
    """Sends some messages at once; returns whether there may be more.

    With `per_hour`, messages beyond it wait. All but codes wait earlier.
    """
    most, held_back = AT_ONCE, frozenset[MessageKind]()
    if per_hour is not None:
        left = per_hour - await pool.read(messages.sms_of_last_hour)
        unreserved = int(left - per_hour * RESERVED_PART)
        if unreserved <= 0:
            held_back = CAN_WAIT
        most = min(most, unreserved if unreserved > 0 else left)
    if most <= 0:
        return False
    due = await pool.write(outbox.lease, channel, most, lease_seconds, held_back)
    attempts = (_attempt(pool, master, channel, send, message) for message in due)
    for problem in await asyncio.gather(*attempts, return_exceptions=True):
        if problem is not None:
            raise problem
    return len(due) == AT_ONCE


async def _attempt(
    pool: Pool, master: bytes, channel: Channel, send: Send, message: LeasedMessage
) -> None:
    status: MessageStatus = "sent"
    error, wait = None, 0.0
    try:
        opened = _opened(master, channel, message)
        await _check(pool, channel, opened)
        await send(opened)
    except Suppressed as suppressed:
        status, error = "suppressed", str(suppressed)
    except Exception as problem:
        # The log has no texts of servers and programs: they often contain the recipient.
        error = str(problem) if isinstance(problem, NotSent) else type(problem).__name__
        is_last = message.attempts > len(RETRY_SECONDS) or getattr(problem, "permanent", False)
        status = "failed" if is_last else "pending"
        wait = 0.0 if is_last else RETRY_SECONDS[message.attempts - 1]
        shown = ids.show_id(ids.MESSAGE, message.id)
        following = "it has failed" if is_last else f"next attempt in {wait:.0f} s"
        log.warning(
            "message %s (%s): attempt %d failed with %s, %s",
            shown,
            channel,
            message.attempts,
            type(problem).__name__,
            following,
        )
    reason = error and (one_line(error)[:MAX_ERROR] or "unknown error")
    await _record(pool, message, status, reason, wait)


def _opened(master: bytes, channel: Channel, message: LeasedMessage) -> LeasedMessage:
    to = addressed(message.id, message.kind, channel, message.recipient, message.language)
    try:
        return replace(message, parameters=decrypt(master, message.parameters, to))
    except MasterKeyError:
        raise NotSent("the message was changed in the database", permanent=True) from None


class _Expiring(Struct):
    expires_at: datetime | None = None


async def _check(pool: Pool, channel: Channel, message: LeasedMessage) -> None:
    """Raises `Suppressed` for a message that is of no use any more, or one too many."""
    expires_at = json.decode(message.parameters, type=_Expiring).expires_at
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise Suppressed("it has expired")
    most = MOST_OF_A_MERCHANT.get(message.kind)
    if most is not None and await pool.read(outbox.earlier, message, most) >= most:
        about = "about no" if message.tenant_id is None else "of this"
        raise Suppressed(f"the customer had {most} {about} merchant in 24 hours")
    if message.kind in ONCE_ABOUT_ONE and await pool.read(outbox.had_it, message):
        raise Suppressed("the recipient had the same in 24 hours")
    most = most_to_one(channel, message.kind)
    if await pool.read(outbox.earlier_to_recipient, message, most) >= most:
        raise Suppressed(f"the recipient had {most} of this kind in 24 hours")


async def _record(
    pool: Pool, message: LeasedMessage, status: MessageStatus, error: str | None, wait: float
) -> None:
    """Tries for a while: a message whose result is not recorded is sent again."""
    for _ in range(RECORD_TRIES - 1):
        try:
            return await pool.write(outbox.record, message, status, error, wait)
        except (UnavailableError, OutcomeUnknown):
            await asyncio.sleep(1.0)
    await pool.write(outbox.record, message, status, error, wait)
    return None
