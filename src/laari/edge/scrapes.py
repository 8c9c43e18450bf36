"""Who may read `/metrics`.

With an address of its own it is served there and nowhere else, and nothing else is served there.
Otherwise it is on the main address: behind a token where one is set, and if not, for programs on
this machine that ask without a proxy in between.
"""

from __future__ import annotations

import hmac
from ipaddress import IPv6Address, ip_address

from laari.edge.http import NO_STORE, PLAIN, Reply, Request

PATH = "/metrics"
_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  # compared, not bound to
_NOT_FOUND = Reply(404, b"Not found\n", (NO_STORE,), PLAIN)
_NO_TOKEN = Reply(
    401,
    b"The metrics want a bearer token\n",
    (NO_STORE, (b"www-authenticate", b'Bearer realm="metrics"')),
    PLAIN,
)
# A request with one of these was passed on for somebody else, who may be anywhere.
_PASSED_ON = frozenset(
    {
        b"forwarded",
        b"via",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-proto",
        b"x-real-ip",
    }
)


class Scrapes:
    """`listener` is what the listening socket is bound to, where the metrics have their own."""

    def __init__(self, listener: tuple[str, int] | None, token: str | None) -> None:
        self._listener = listener
        self._expected = None if token is None else f"Bearer {token}".encode()

    def is_metrics_listener(self, request: Request) -> bool:
        """Whether the request came in at the metrics' own address."""
        if self._listener is None or request.local is None:
            return False
        host, port = self._listener
        reached_host, reached_port = request.local
        return reached_port == port and host in (reached_host, *_EVERY_ADDRESS)

    def refusal(self, request: Request) -> Reply | None:
        """The reply to a request that gets no metrics."""
        own = self.is_metrics_listener(request)
        if request.path != PATH or own != (self._listener is not None):
            return _NOT_FOUND
        if self._expected is not None:
            shown = [value for name, value in request.fields if name == b"authorization"]
            fits = len(shown) == 1 and hmac.compare_digest(shown[0], self._expected)
            return None if fits else _NO_TOKEN
        return None if own or _is_local(request) else _NOT_FOUND


def _is_local(request: Request) -> bool:
    """Whether a program on this machine asks, for itself and by a name of this machine.

    The name keeps out web pages that had their own name lead here, and proxies that say nothing
    of themselves.
    """
    if not _is_loopback(request.peer_address):
        return False
    if any(name in _PASSED_ON for name, _ in request.fields):
        return False
    hosts = [value.decode("latin-1") for name, value in request.fields if name == b"host"]
    return len(hosts) == 1 and _is_loopback(_without_port(hosts[0]))


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
