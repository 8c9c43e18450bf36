"""All connections of one process: the bounds of what they hold, and their deadlines.

A look every half second finds the deadlines that have passed, so a request sets no timer.
"""

import asyncio
import logging
import resource
import socket
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from itertools import takewhile
from typing import NamedTuple

from laari.http.client_addresses import Networks, client_address, client_prefix, is_trusted
from laari.http.connection import STALE, Connection, State
from laari.http.connection_limits import ACCEPTS, BACKLOG, Limits
from laari.http.cycle import Cycle
from laari.http.head import Head
from laari.http.lateness import CHECK_SECONDS, Lateness, wait_in_kernel
from laari.http.messages import Application, Request, StreamEnded
from laari.rules.refusals import refuse

log = logging.getLogger(__name__)

NOTICE_SECONDS = 10.0  # between two lines about the same thing


class Server:
    def __init__(
        self,
        app: Application,
        trusted_proxies: Networks = (),
        limits: Limits = Limits(),  # noqa: B008  # immutable
        prompt_paths: frozenset[str] = frozenset(),
    ) -> None:
        """`prompt_paths` are cheap and answered even if the process is late."""
        self.app = app
        self.limits = limits
        self._prompt_paths = prompt_paths
        self.now = 0.0  # at the last look: exact enough for deadlines of seconds
        self._lateness = Lateness()
        self.began = self._lateness.began
        self.date = b""
        self.is_stopping = False
        # Connections, in the order in which they entered this state.
        self.draining: dict[Connection, float] = {}
        self.stalled: dict[Connection, Stall] = {}
        self._unsent_bytes = 0  # of the stalled ones
        self._idle: dict[Connection, None] = {}
        self._unfinished: dict[Connection, int] = {}  # with the bytes that each one holds
        self._shares: Counter[str] = Counter()  # unfinished ones by address
        self._held_bytes = 0
        self._pipelined: dict[Connection, int] = {}  # bytes sent ahead of a response
        self._pipelined_bytes = 0
        self._connections: set[Connection] = set()
        self._all_closed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._trusted_proxies = trusted_proxies
        self._notices: dict[str, Notice] = {}
        self._most_connections = _allowed_connections(limits)
        self._listeners: list[asyncio.Server] = []

    # Life of the server.

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        self._loop = asyncio.get_running_loop()
        self._check_deadlines()
        for each in sockets:
            for own in (each, *(each.dup() for _ in range(ACCEPTS - 1))):
                self._listeners.append(
                    await self._loop.create_server(
                        lambda: Connection(self), sock=own, backlog=BACKLOG
                    )
                )

    async def stop(self, seconds: float) -> None:
        """Finishes the requests that have begun, within this time."""
        self.is_stopping = True
        for listener in self._listeners:
            listener.close()
        for connection in [*self._connections]:
            connection.close()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()
            if late:
                log.error("%d requests did not end within %.0f s", len(late), seconds)
                await asyncio.wait(late, timeout=1)
        if self._connections:
            self._all_closed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), self.limits.drain_seconds)
        for connection in [*self._connections]:
            connection.transport.abort()
        self._next_check.cancel()
        await asyncio.sleep(0)  # for the last `connection_lost`

    def run(self, connection: Connection, cycle: Cycle) -> None:
        task = self._loop.create_task(self._run(connection, cycle))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, connection: Connection, cycle: Cycle) -> None:
        if cycle.is_lost:
            return
        if cycle.head.path not in self._prompt_paths and self.is_stale(connection):
            self.note(STALE)
            cycle.keep_alive = False
            cycle.respond(self.app.fault(refuse("service_unavailable"), cycle.head.path), self.date)
            return
        try:
            reply = await self.app(
                Request(
                    cycle.head,
                    cycle.body,
                    connection.client,
                    connection.local,
                    cycle.disconnected,
                    trusted_proxies=self._trusted_proxies,
                    take=cycle.take,
                )
            )
            if reply.stream is None:
                cycle.respond(reply, self.date)
            else:
                await cycle.respond_with_stream(reply, reply.stream, self.date)
        except StreamEnded:
            pass  # the connection is given up below
        except Exception:
            if not cycle.is_lost:
                log.exception("the application failed")
        finally:
            if not cycle.is_answered:
                if cycle.has_started or cycle.is_lost:
                    cycle.give_up()
                else:
                    fault = self.app.fault(refuse("internal_error"), cycle.head.path)
                    cycle.respond(fault, self.date)

    def is_stale(self, connection: Connection) -> bool:
        """Whether a request has waited too long for this process to be begun."""
        now, lateness, limits = time.monotonic(), self._lateness, self.limits
        if connection.ready_at > self.began and not lateness.is_late(now):
            return False
        waited, is_closed = wait_in_kernel(connection.transport)
        # A connection that came while there was no process to accept it is not late yet.
        seconds = min(waited, now - connection.ready_at)
        return seconds > (limits.closed_wait_seconds if is_closed else limits.wait_seconds)

    # Calls of connections.

    def admit(self, connection: Connection) -> bool:
        """Admits a new connection, if necessary in the place of another."""
        peer = connection.client[0] if connection.client is not None else ""
        if not is_trusted(peer, self._trusted_proxies):  # a proxy's address stands for many clients
            connection.address = client_prefix(peer)
        self._connections.add(connection)
        if len(self._connections) <= self._most_connections:
            return True
        self.note("the number of open connections has reached its bound")
        return self._make_room()

    def _make_room(self) -> bool:
        """Ends the oldest connection that is done, idle, stalled or unfinished, in this order.

        A request that the application works on is never ended.
        """
        if self.draining:
            self._abort(next(iter(self.draining)))
            return True
        idle = next((each for each in self._idle if not each.transport.is_closing()), None)
        if idle is not None and idle not in self.stalled:
            idle.transport.close()
            return True
        if self.stalled:
            self._abort(next(iter(self.stalled)))
            return True
        unfinished = next(
            (each for each in self._unfinished if not each.transport.is_closing()), None
        )
        if unfinished is not None:
            unfinished.transport.close()
        return unfinished is not None

    def _abort(self, connection: Connection) -> None:
        """`connection_lost` comes later; until then it must not be chosen again."""
        self.draining.pop(connection, None)
        self.response_sent(connection)
        connection.transport.abort()

    def remove(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_closed.set()
        self.draining.pop(connection, None)
        self.response_sent(connection)
        self.release_pipelined(connection)

    def entered(self, connection: Connection, old: State, new: State) -> None:
        """Keeps the registers at every change of a connection's state."""
        if old is State.IDLE:
            self._idle.pop(connection, None)
        elif connection in self._unfinished and new not in (State.HEAD, State.BODY):
            self._release(connection)
        if new is State.IDLE:
            self._idle[connection] = None

    def await_rest(self, connection: Connection) -> None:
        """Counts the bytes of an unfinished request, and keeps to the bounds."""
        if connection not in self._unfinished:
            self._shares[connection.address] += 1
            self._unfinished[connection] = 0
        received = connection.received
        self._held_bytes += received - self._unfinished[connection]
        self._unfinished[connection] = received
        share = self._shares[connection.address]
        if connection.address and share > self.limits.unfinished_per_address:
            self._give_up_oldest(connection.address)
        elif len(self._unfinished) > self.limits.unfinished:
            self._give_up_oldest(self._shares.most_common(1)[0][0])
        elif self._held_bytes > self.limits.unfinished_bytes:
            self._give_up(max(self._unfinished, key=self._unfinished.__getitem__))

    def hold_pipelined(self, connection: Connection, received: int) -> None:
        """Counts bytes that came ahead of a response; the largest connection gives way."""
        self.release_pipelined(connection)
        self._pipelined[connection] = received
        self._pipelined_bytes += received
        if self._pipelined_bytes > self.limits.pipelined_bytes:
            self.note("requests sent ahead of responses have reached their bound")
            largest = max(self._pipelined, key=self._pipelined.__getitem__)
            self.release_pipelined(largest)
            largest.transport.abort()

    def release_pipelined(self, connection: Connection) -> None:
        self._pipelined_bytes -= self._pipelined.pop(connection, 0)

    def move_share(self, connection: Connection, head: Head) -> None:
        """Counts the request for the client that a proxy's head names."""
        if not self._trusted_proxies or connection.client is None:
            return
        forwarded = head.fields.by_name.get(b"x-forwarded-for", "")
        address = client_address(connection.client[0], forwarded, self._trusted_proxies)
        if connection in self._unfinished:
            self._release(connection)
        connection.address = client_prefix(address)

    def response_stalled(self, connection: Connection) -> None:
        """Counts a response that waits for its client; the largest one gives way."""
        self.stalled[connection] = Stall(self.now, connection.transport.get_write_buffer_size())
        self._unsent_bytes += self.stalled[connection].unsent
        if self._unsent_bytes > self.limits.unsent_bytes:
            self.note("responses were given up: too many were not read")
            self._abort(max(self.stalled, key=lambda each: self.stalled[each].unsent))

    def response_sent(self, connection: Connection) -> None:
        stall = self.stalled.pop(connection, None)
        if stall is not None:
            self._unsent_bytes -= stall.unsent

    def _look_at_stalled(self, connection: Connection) -> None:
        """Gives the client more time if it has taken enough, else ends the connection."""
        limits, unsent = self.limits, connection.transport.get_write_buffer_size()
        taken = self.stalled[connection].unsent - unsent
        if taken < limits.stalled_write_seconds * limits.write_bytes_per_second:
            connection.transport.abort()
            return
        self._unsent_bytes -= taken
        self.stalled[connection] = Stall(self.now, unsent)

    def _release(self, connection: Connection) -> None:
        self._held_bytes -= self._unfinished.pop(connection)
        self._shares[connection.address] -= 1
        if self._shares[connection.address] <= 0:
            del self._shares[connection.address]

    def _give_up_oldest(self, address: str) -> None:
        self._give_up(next(each for each in self._unfinished if each.address == address))

    def _give_up(self, connection: Connection) -> None:
        self.note("unfinished requests were given up: there were too many")
        connection.refuse(refuse("service_unavailable"))

    # Time.

    def _check_deadlines(self) -> None:
        # First, so that an error below does not end all deadlines.
        self._next_check = self._loop.call_later(CHECK_SECONDS, self._check_deadlines)
        self.now = now = self.now + self._lateness.look()
        self.date = b"date: %b\r\n" % formatdate(usegmt=True).encode()
        limits = self.limits
        longest_idle = now - limits.idle_seconds
        for connection in [each for each in self._unfinished if each.is_overdue(now)]:
            self.note("requests that were not complete in time were given up")
            connection.refuse(refuse("request_timeout"))
        for connection in [*takewhile(lambda each: each.since <= longest_idle, self._idle)]:
            connection.transport.close()
        for connection in [c for c, at in self.draining.items() if now - at > limits.drain_seconds]:
            connection.transport.abort()
        moment = now - limits.stalled_write_seconds
        for connection in [c for c, stall in self.stalled.items() if stall.since < moment]:
            self._look_at_stalled(connection)
        for what, notice in self._notices.items():
            if notice.count and now - notice.written_at >= NOTICE_SECONDS:
                log.warning("%s (%d times%s)", what, notice.count, notice.last)
                notice.count, notice.written_at = 0, now

    def note(self, what: str, last: str = "") -> None:
        """One line in the log for many events, because strangers can cause them."""
        notice = self._notices.setdefault(what, Notice())
        notice.count += 1
        notice.last = f", the last one: {last}" if last else ""


class Stall(NamedTuple):
    """A response that its client has not taken, and its unsent bytes at that time."""

    since: float
    unsent: int


@dataclass
class Notice:
    """Events of one kind since the last line about them."""

    count: int = 0
    last: str = ""
    written_at: float = -NOTICE_SECONDS


def _allowed_connections(limits: Limits) -> int:
    """The number that the system has files for, after raising its limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + limits.reserved_files
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    if soft == resource.RLIM_INFINITY:
        return limits.connections
    return max(min(limits.connections, soft - limits.reserved_files), 16)
