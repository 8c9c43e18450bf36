"""The whole service as one application: it finds the interface of a request."""

import time
from typing import NamedTuple, Protocol

from laari.edge import sandbox_signup
from laari.edge.backend import Backend
from laari.edge.load.admission import Admission
from laari.edge.load.metrics import Metrics
from laari.edge.load.scrapes import PATH as METRICS_PATH
from laari.edge.load.scrapes import Scrapes
from laari.edge.load.token_buckets import RateBuckets
from laari.edge.merchant.app import OPERATIONS, MerchantInterface
from laari.edge.merchant.oauth import TOKEN, TOKEN_ADDRESS, TOKEN_ERRORS, TokenEndpoint
from laari.edge.pages.app import FIRST_SEGMENTS, PAGE_OPERATIONS, Pages
from laari.edge.reference.pages import reference_page
from laari.edge.wallet.app import ENDPOINTS, WalletInterface
from laari.http.messages import (
    NO_STORE,
    OTHER,
    PLAIN,
    Header,
    Reply,
    Request,
    Stream,
    guard_headers,
    header_lines,
    must_read,
    new_request_id,
    plain_refusal,
)
from laari.rules.refusals import CODES, Refusal
from laari.settings import Settings

PROMPT_PATHS = frozenset({"/healthz", "/readyz", METRICS_PATH})  # answered however late it is
EXPOSITION = b"text/plain; version=0.0.4; charset=utf-8"  # Prometheus's own


class Interface(Protocol):
    """A part of the service; each has another shape of refusals."""

    @property
    def admission(self) -> Admission: ...
    @property
    def headers(self) -> tuple[Header, ...]:
        """Of each of its replies."""
        ...

    async def handle(self, request: Request) -> Reply: ...
    def refused(self, refusal: Refusal) -> Reply: ...


class App:
    def __init__(self, backend: Backend, scrapes: Scrapes) -> None:
        self._backend = backend
        self._scrapes = scrapes
        self._merchant = MerchantInterface(backend)
        self._tokens = TokenEndpoint(backend)
        self._wallet = WalletInterface(backend)
        self._pages = Pages(backend)
        self._signup = sandbox_signup.SignUp(backend) if backend.settings.sandbox_signup else None
        # Nearly all headers of a reply are always the same: they are written once.
        guards = guard_headers(backend.origin)
        self._lines: dict[Interface | None, bytes] = {None: header_lines(guards)}
        for each in (self._merchant, self._tokens, self._wallet, self._pages, self._signup):
            if each is not None:
                self._lines[each] = header_lines((*each.headers, *guards))

    async def open(self) -> None:
        await self._backend.open()

    def wake(self) -> None:
        self._backend.wake()

    async def close(self) -> None:
        await self._backend.close()

    async def __call__(self, request: Request) -> Reply:
        own = self._scrapes.is_metrics_listener(request)  # which serves nothing else
        interface = None if own else self._interface_at(request.path)
        if interface is None:
            reply = await self._serve_others(request)
        else:
            admission = interface.admission
            reply = await admission.serve(request, interface.handle, interface.refused)
        return self._counted(request, self._finished(reply, interface, request.id))

    def _finished(self, reply: Reply, interface: Interface | None, request_id: str) -> Reply:
        """The reply with the headers that all of this interface have, and the request's id."""
        written = self._lines[interface]
        return reply.with_lines(b"%brequest-id: %b\r\n" % (written, request_id.encode()))

    def fault(self, refusal: Refusal, path: str | None) -> Reply:
        """The response to bytes that are not a request, or to a request without a reply."""
        # A path that could not be read is probably a program's, as is one of sign-up.
        interface: Interface | None = self._merchant
        if path is not None and not path.startswith("/sandbox/"):
            interface = self._interface_at(path)
        reply = plain_refusal(refusal) if interface is None else interface.refused(refusal)
        self._backend.metrics.count(OTHER, reply.status, reply.code, 0)
        return self._finished(reply, interface, new_request_id())

    def _interface_at(self, path: str) -> Interface | None:
        if path == "/merchant" or path.startswith("/merchant/"):
            return self._tokens if path == TOKEN_ADDRESS else self._merchant
        if path == "/wallet" or path.startswith("/wallet/"):
            return self._wallet
        if path == "/" or path.split("/", 2)[1] in FIRST_SEGMENTS:
            return self._pages
        return self._signup if path == sandbox_signup.ENDPOINT.path else None

    def _counted(self, request: Request, reply: Reply) -> Reply:
        """The reply, counted now or at the end of its stream."""
        if reply.stream is None:
            self._count(request, reply)
            return reply
        chunks, release = reply.stream

        def end() -> None:
            release()
            self._count(request, reply)

        return reply._replace(stream=Stream(chunks, end))

    def _count(self, request: Request, reply: Reply) -> None:
        seconds = time.perf_counter() - request.started
        self._backend.metrics.count(request.operation, reply.status, reply.code, seconds)

    async def _serve_others(self, request: Request) -> Reply:
        """Paths for operators and the reference, which need no admission."""
        if request.path == METRICS_PATH or self._scrapes.is_metrics_listener(request):
            return await self._measure(request)
        if request.path == "/healthz":
            return must_read(request) or Reply(200, b"ok\n", (NO_STORE,), PLAIN)
        if request.path == "/readyz":
            return must_read(request) or await self._readiness()
        reply = await reference_page(request, self._backend.origin, signup=self._signup is not None)
        return reply or Reply(404, b"Not found\n", (NO_STORE,), PLAIN)

    async def _readiness(self) -> Reply:
        ready = await self._backend.is_ready()
        body = b"ok\n" if ready else b"nothing can be committed to the database\n"
        return Reply(200 if ready else 503, body, (NO_STORE,), PLAIN)

    async def _measure(self, request: Request) -> Reply:
        reply = self._scrapes.refusal(request) or must_read(request)
        return reply or Reply(200, await self._backend.measure(), (NO_STORE,), EXPOSITION)


class Shared(NamedTuple):
    """Files that the interface processes share, and the number of this process."""

    rate_fd: int | None = None
    metrics_fd: int | None = None
    process: int = 0
    metrics_listener: tuple[str, int] | None = None  # the separate address of the metrics


def create_app(dsn: str, master_key: bytes, settings: Settings, shared: Shared) -> App:
    names = [operation.name for operation in OPERATIONS]
    names += [endpoint.name for endpoint in ENDPOINTS]
    names += [TOKEN.name, sandbox_signup.ENDPOINT.name]
    refusals = [(code.status, code.shown_as or name) for name, code in CODES.items()]
    refusals += [(status, code) for status, codes in TOKEN_ERRORS.items() for code in codes]
    metrics = Metrics(names, refusals, shared.metrics_fd, shared.process, PAGE_OPERATIONS)
    backend = Backend(dsn, master_key, settings, RateBuckets(shared.rate_fd), metrics)
    return App(backend, Scrapes(shared.metrics_listener, settings.metrics_token))
