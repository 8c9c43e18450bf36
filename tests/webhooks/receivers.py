"""Receivers, a name server and a certificate authority of our own, all on loopback."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from time import monotonic
from typing import Any

import trustme
from aiohttp import web
from dnslib import AAAA, QTYPE, RR, A
from dnslib.server import BaseResolver, DNSLogger, DNSServer

from laari.rules.public_addresses import is_public

# Stands for a public address in the tests; every other loopback address stays forbidden.
RECEIVER_ADDRESS = "127.0.0.1"
INTERNAL_ADDRESS = "127.0.0.2"

Behaviour = Callable[[web.Request, bytes], Any]


def allowed_in_tests(address: str) -> bool:
    return address == RECEIVER_ADDRESS or is_public(address)


@dataclass
class Received:
    host: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=monotonic)


class Receiver:
    """An HTTP server that remembers what it got; `answers` maps a path to what it does."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.connections = 0
        self.answers: dict[str, Behaviour] = {}
        self.port = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append(Received(request.host, request.path, headers, body))
        behaviour = self.answers.get(request.path)
        if behaviour is None:
            return web.Response(text="thanks")
        answer = behaviour(request, body)
        return await answer if asyncio.iscoroutine(answer) else answer

    def bodies(self) -> list[bytes]:
        return [received.body for received in self.received]


@asynccontextmanager
async def receiving(
    tls: ssl.SSLContext | None = None, address: str = RECEIVER_ADDRESS, port: int = 0
) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    runner = web.ServerRunner(web.Server(receiver.handle), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, address, port, ssl_context=tls)
    await site.start()
    receiver.port = runner.addresses[0][1]
    try:
        yield receiver
    finally:
        await runner.cleanup()


def answering(status: int, text: str = "", **headers: str) -> Behaviour:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request, body: web.Response(status=status, text=text, headers=named)


def hanging(seconds: float = 3600) -> Behaviour:
    async def hang(request: web.Request, body: bytes) -> web.Response:
        await asyncio.sleep(seconds)
        return web.Response(text="late")

    return hang


def resetting(request: web.Request, body: bytes) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def _aaaa(address: str) -> AAAA:
    return AAAA(tuple(IPv6Address(address).packed))


class Names(BaseResolver):
    """A name server: each name has addresses, or a function that gives them look-up by look-up."""

    def __init__(self) -> None:
        self.addresses: dict[str, list[str] | Callable[[], list[str]]] = {}
        self.asked: list[str] = []

    def resolve(self, request: Any, handler: Any) -> Any:
        reply = request.reply()
        name, kind = str(request.q.qname).rstrip("."), QTYPE[request.q.qtype]
        known = self.addresses.get(name, [])
        if callable(known) and kind == "A":
            self.asked.append(name)
            known = known()
        for address in known if isinstance(known, list) else []:
            if ":" in address and kind == "AAAA":
                reply.add_answer(RR(request.q.qname, QTYPE.AAAA, ttl=0, rdata=_aaaa(address)))
            elif ":" not in address and kind == "A":
                reply.add_answer(RR(request.q.qname, QTYPE.A, ttl=0, rdata=A(address)))
        return reply


@dataclass
class NameServer:
    names: Names
    address: str


def start_name_server() -> tuple[NameServer, DNSServer]:
    names = Names()
    server = DNSServer(names, address="127.0.0.1", port=0, logger=DNSLogger("-request,-reply"))
    server.start_thread()
    return NameServer(names, f"127.0.0.1:{server.server.server_address[1]}"), server


class Authority:
    """A certificate authority that the sender under test trusts, and nobody else does."""

    def __init__(self) -> None:
        self._authority = trustme.CA()

    def trusting(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self._authority.configure_trust(context)
        return context

    def serving(self, *names: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(*names).configure_cert(context)
        return context


@dataclass
class RawReceiver:
    """A receiver that speaks whatever it likes, and counts what it could send."""

    port: int
    written: int = 0

    @property
    def url(self) -> str:
        return f"http://{RECEIVER_ADDRESS}:{self.port}/"


@asynccontextmanager
async def speaking(start: bytes, again: bytes, pause: float = 0) -> AsyncIterator[RawReceiver]:
    """Answers `start`, then `again` for ever, with a pause after each."""
    receiver = RawReceiver(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            writer.write(start)
            await writer.drain()
            await asyncio.sleep(0.05)  # so that it is read before what follows
            while True:
                writer.write(again)
                await writer.drain()
                receiver.written += len(again)
                await asyncio.sleep(pause)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the sender has hung up
        finally:
            writer.close()

    server = await asyncio.start_server(serve, RECEIVER_ADDRESS, 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver
