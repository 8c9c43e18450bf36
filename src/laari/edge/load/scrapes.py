"""Who may read `/metrics`: on the main address, which may be public, a token is required."""

import hmac

from laari.http.messages import NO_STORE, PLAIN, Reply, Request

PATH = "/metrics"
_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  # compared, not bound to
_NOT_FOUND = Reply(404, b"Not found\n", (NO_STORE,), PLAIN)
_NO_TOKEN = Reply(
    401,
    b"The metrics need a bearer token\n",
    (NO_STORE, (b"www-authenticate", b'Bearer realm="metrics"')),
    PLAIN,
)


class Scrapes:
    """`listener` is the separate address of the metrics, if there is one."""

    def __init__(self, listener: tuple[str, int] | None, token: str | None) -> None:
        self._listener = listener
        self._expected = None if token is None else f"Bearer {token}".encode()

    def is_metrics_listener(self, request: Request) -> bool:
        """Whether the request came to the separate address."""
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
        return None if own else _NOT_FOUND
