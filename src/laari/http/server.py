"""All connections of one process: who may hold what, for how long, and how it ends.

Deadlines are not timers of their own: one look every half second finds those that have passed,
which costs a request nothing.
"""

import asyncio
import logging
import resource
import socket
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from email.utils import formatdate
from ipaddress import IPv4Network, IPv6Network
from typing import NamedTuple

from laari.http.addresses import client_address, client_prefix, is_trusted
from laari.http.connection import Connection, State
from laari.http.cycle import Cycle
from laari.http.head import Head
from laari.http.lateness import CHECK_SECONDS, Lateness, wait_in_kernel
from laari.http.limits import ACCEPTS, BACKLOG, Limits
from laari.http.messages import Application, Request
from laari.rules.refusals import Refusal, refuse

log = logging.getLogger(__name__)

NOTICE_SECONDS = 10.0  # between two lines about the same thing


class Server:
    def __init__(
        self,
        app: Application,
        trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = (),
        limits: Limits = Limits(),  # noqa: B008  # immutable
        prompt_paths: frozenset[str] = frozenset(),
    ) -> None:
        """`prompt_paths` cost next to nothing and are answered however late it is."""
        self.app = app
        self.limits = limits
        self._prompt_paths = prompt_paths
        self.now = 0.0  # of the last look: exact enough for deadlines of seconds
        self._lateness = Lateness()
        self.date = b""
        self.is_stopping = False
        # Connections in the order in which they came into this state.
        self.draining: dict[Connection, float] = {}
        self.stalled: dict[Connection, Stall] = {}
        self._unsent_bytes = 0  # of the stalled ones, when they began to be
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
        self._notices = Notices()
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
        """Finishes the requests that have begun, as far as that takes no longer than this."""
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
        await self._await_closed(self.limits.drain_seconds)
        for connection in [*self._connections]:
            connection.abort()
        self._next_check.cancel()
        await asyncio.sleep(0)  # the last connections are told

    async def _await_closed(self, seconds: float) -> None:
        if self._connections:
            self._all_closed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), seconds)

    def run(self, connection: Connection, cycle: Cycle) -> None:
        task = self._loop.create_task(self._run(connection, cycle))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, connection: Connection, cycle: Cycle) -> None:
        if cycle.is_lost:
            return
        if cycle.head.path not in self._prompt_paths and self.is_stale(connection):
            self.note_stale()
            cycle.keep_alive = False
            cycle.respond(self.app.fault(refuse("service_unavailable"), cycle.head.path), self.date)
            return
        try:
            reply = await self.app(
                Request(
                    *(cycle.head, cycle.body, connection.client, connection.local),
                    *(cycle.disconnected, self._trusted_proxies),
                )
            )
            if reply.stream is None:
                cycle.respond(reply, self.date)
            else:
                await cycle.respond_with_stream(reply, reply.stream, self.date)
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
        """Whether a request has waited for this process so long that it is not begun any more."""
        now, lateness, limits = time.monotonic(), self._lateness, self.limits
        if connection.ready_at > lateness.began and not lateness.is_late(now):
            return False
        wait = wait_in_kernel(connection.transport)
        # A connection that came while there was no process to accept it is not late yet.
        seconds = min(wait.seconds, now - connection.ready_at)
        return seconds > (limits.closed_wait_seconds if wait.closed else limits.wait_seconds)

    @property
    def began(self) -> float:
        return self._lateness.began

    # What connections tell.

    def admit(self, connection: Connection) -> bool:
        """Takes a new connection in, if need be in the place of another."""
        connection.address = self._peer(connection)
        self._connections.add(connection)
        if len(self._connections) <= self._most_connections:
            return True
        self._notices.add("the number of open connections has reached its bound")
        return self._make_room()

    def _make_room(self) -> bool:
        """The oldest gives way of those that are done, idle, do not take their response, or whose
        request is unfinished; those that wait for the application never do."""
        if self.draining:
            self._abort(next(iter(self.draining)))
            return True
        idle = next((each for each in self._idle if not each.is_closing), None)
        if idle is not None and idle not in self.stalled:
            idle.end()
            return True
        if self.stalled:
            self._abort(next(iter(self.stalled)))
            return True
        unfinished = next((each for each in self._unfinished if not each.is_closing), None)
        if unfinished is not None:
            unfinished.end()
        return unfinished is not None

    def _abort(self, connection: Connection) -> None:
        """It is told in a moment, and until then chosen no second time."""
        self.draining.pop(connection, None)
        self.response_sent(connection)
        connection.abort()

    def remove(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_closed.set()
        self.draining.pop(connection, None)
        self.response_sent(connection)
        self.release_pipelined(connection)

    def entered(self, connection: Connection, old: State, new: State) -> None:
        """Keeps the registers; every change of a connection's state comes through here."""
        if old is State.IDLE:
            self._idle.pop(connection, None)
        elif connection in self._unfinished and new not in (State.HEAD, State.BODY):
            self._release(connection)
        if new is State.IDLE:
            self._idle[connection] = None

    def await_rest(self, connection: Connection) -> None:
        """More of an unfinished request is held now; what is beyond the bounds is given up."""
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
        """So much has come after the request that is answered; the largest gives way."""
        self.release_pipelined(connection)
        self._pipelined[connection] = received
        self._pipelined_bytes += received
        if self._pipelined_bytes > self.limits.pipelined_bytes:
            self._notices.add("requests sent ahead of responses have reached their bound")
            largest = max(self._pipelined, key=self._pipelined.__getitem__)
            self.release_pipelined(largest)
            largest.abort()

    def release_pipelined(self, connection: Connection) -> None:
        self._pipelined_bytes -= self._pipelined.pop(connection, 0)

    def move_share(self, connection: Connection, head: Head) -> None:
        """The head has said on whose behalf a proxy sends this request."""
        if not self._trusted_proxies or connection.client is None:
            return
        forwarded = head.fields.by_name.get(b"x-forwarded-for", "")
        address = client_address(connection.client[0], forwarded, self._trusted_proxies)
        if connection in self._unfinished:
            self._release(connection)
        connection.address = client_prefix(address)

    def response_stalled(self, connection: Connection) -> None:
        """A client has not taken its response; beyond the bound the largest is given up."""
        self.stalled[connection] = Stall(self.now, connection.unsent)
        self._unsent_bytes += self.stalled[connection].unsent
        if self._unsent_bytes > self.limits.unsent_bytes:
            self._notices.add("responses were given up: too many were not read")
            self._abort(max(self.stalled, key=lambda each: self.stalled[each].unsent))

    def response_sent(self, connection: Connection) -> None:
        stall = self.stalled.pop(connection, None)
        if stall is not None:
            self._unsent_bytes -= stall.unsent

    def _look_at_stalled(self, connection: Connection) -> None:
        """Once its time is over: it has another one if enough was taken."""
        limits, unsent = self.limits, connection.unsent
        taken = self.stalled[connection].unsent - unsent
        if taken < limits.stalled_write_seconds * limits.write_bytes_per_second:
            connection.abort()
            return
        self._unsent_bytes -= taken
        self.stalled[connection] = Stall(self.now, unsent)

    def note_stale(self) -> None:
        self._notices.add("requests that had waited too long were refused")

    def note_fault(self, refusal: Refusal) -> None:
        self._notices.add(f"malformed requests were refused, the last one so: {refusal.message}")

    def _peer(self, connection: Connection) -> str:
        """Whose share a connection counts for: a trusted proxy's own is everybody's."""
        peer = connection.client[0] if connection.client is not None else ""
        return "" if is_trusted(peer, self._trusted_proxies) else client_prefix(peer)

    def _release(self, connection: Connection) -> None:
        self._held_bytes -= self._unfinished.pop(connection)
        self._shares[connection.address] -= 1
        if self._shares[connection.address] <= 0:
            del self._shares[connection.address]

    def _give_up_oldest(self, address: str) -> None:
        self._give_up(next(each for each in self._unfinished if each.address == address))

    def _give_up(self, connection: Connection) -> None:
        self._notices.add("unfinished requests were given up: there were too many")
        connection.refuse(refuse("service_unavailable"))

    # Time.

    def _check_deadlines(self) -> None:
        # First of all: without another look there would be no deadlines any more.
        self._next_check = self._loop.call_later(CHECK_SECONDS, self._check_deadlines)
        self.now = now = self.now + self._lateness.look()
        self.date = b"date: %b\r\n" % formatdate(usegmt=True).encode()
        limits = self.limits
        for connection in [each for each in self._unfinished if each.is_overdue(now)]:
            self._notices.add("requests that did not come to their end in time were given up")
            connection.refuse(refuse("request_timeout"))
        for connection in [*_older(self._idle, now - limits.idle_seconds)]:
            connection.end()
        for connection in [c for c, at in self.draining.items() if now - at > limits.drain_seconds]:
            connection.abort()
        moment = now - limits.stalled_write_seconds
        for connection in [c for c, stall in self.stalled.items() if stall.since < moment]:
            self._look_at_stalled(connection)
        self._notices.write(now)


class Stall(NamedTuple):
    """A response that its client does not take as fast as it is sent."""

    since: float
    unsent: int  # bytes, then


class Notices:
    """What strangers cause is told in one line for many, not in one line each."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._latest: dict[str, str] = {}
        self._told_at: dict[str, float] = {}

    def add(self, what: str) -> None:
        kind = what.partition(",")[0]
        self._counts[kind] += 1
        self._latest[kind] = what

    def write(self, now: float) -> None:
        for kind in [*self._counts]:
            if now - self._told_at.get(kind, -NOTICE_SECONDS) >= NOTICE_SECONDS:
                self._told_at[kind] = now
                log.warning("%s (%d times)", self._latest[kind], self._counts.pop(kind))


def _older(connections: dict[Connection, None], moment: float) -> list[Connection]:
    """Those that have been so since before this moment; the order of entering is that of time."""
    found = []
    for connection in connections:
        if connection.since > moment:
            break
        found.append(connection)
    return found


def _allowed_connections(limits: Limits) -> int:
    """As many as the system has files for, after asking it for as many as it may give."""
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
