"""The delivery of messages: leases due messages, sends them, records the results.

No transaction is open while a message is sent. If this process is killed before it has recorded a
result, the message is sent again when its lease expires.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from laari.errors import UnavailableError
from laari.rules import ids
from laari.rules.records import Channel
from laari.spine.engine import OutcomeUnknown
from laari.store.postgres.pool import Pool
from laari.store.reads import messages
from laari.store.reads.messages import LeasedMessage, MessageStatus
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


async def send_due(
    pool: Pool, channel: Channel, send: Send, lease_seconds: float = LEASE_SECONDS
) -> bool:
    """Sends some messages at once; returns whether there may be more."""
    due = await pool.write(messages.lease, channel, AT_ONCE, lease_seconds)
    attempts = (_attempt(pool, channel, send, message) for message in due)
    for problem in await asyncio.gather(*attempts, return_exceptions=True):
        if problem is not None:
            raise problem
    return len(due) == AT_ONCE


async def _attempt(pool: Pool, channel: Channel, send: Send, message: LeasedMessage) -> None:
    status: MessageStatus = "sent"
    error, wait = None, 0.0
    try:
        await send(message)
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
            *(shown, channel, message.attempts, type(problem).__name__, following),
        )
    reason = error and (one_line(error)[:MAX_ERROR] or "unknown error")
    await _record(pool, message, status, reason, wait)


async def _record(
    pool: Pool, message: LeasedMessage, status: MessageStatus, error: str | None, wait: float
) -> None:
    """Tries for a while: a message whose result is not recorded is sent again."""
    for _ in range(RECORD_TRIES - 1):
        try:
            return await pool.write(messages.record, message, status, error, wait)
        except (UnavailableError, OutcomeUnknown):
            await asyncio.sleep(1.0)
    await pool.write(messages.record, message, status, error, wait)
    return None
