"""What both clients tell httpx, and what they make of its errors."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Tuple

import httpx

from laari_client._config import Config
from laari_client._errors import InvalidResponseError
from laari_client._exchange import Failure, Send
from laari_client._operations import API_VERSION

__version__ = "0.1.0"
USER_AGENT = f"laari-client-python/{__version__}"
MAX_ANSWER_BYTES = 32 * 1024 * 1024  # the largest page is far smaller
# As many may be idle as may be open: a pool that closes the surplus can hit one just taken.
LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=100)

# Nothing was sent.
_NOT_BEGUN = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_CERTIFICATE = "CERTIFICATE_VERIFY_FAILED"
_OWN_FAULT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)


class TimeLeft(Dict[str, float]):
    """The timeouts of one attempt for httpx, which counts each of its steps apart.

    It asks at the beginning of every step, and gets what is left of the whole attempt. For https
    it asks once for two steps, connecting and the handshake: each then gets half.
    """

    def __init__(self, ends_at: float, *, https: bool) -> None:
        self._ends_at = ends_at
        self._parts = {"connect": 2 if https else 1}
        super().__init__({name: self.get(name) for name in ("connect", "read", "write", "pool")})

    def get(self, name: str, default: Any = None) -> Any:
        return max(self._ends_at - time.monotonic(), 0.001) / self._parts.get(name, 1)


def url(config: Config, step: Send) -> str:
    return f"{config.origin}{step.prepared.target}"


def headers(step: Send) -> List[Tuple[str, str]]:
    sent = [("Accept", "*/*"), ("User-Agent", USER_AGENT), *step.prepared.headers]
    if step.prepared.operation.audience in ("merchant", "public"):
        sent.append(("Service-Version", API_VERSION))
    return [*sent, *step.proof.headers]


def failure(error: httpx.HTTPError) -> Failure:
    """Only words of the error are kept: the request it carries has the credentials."""
    # h11 quotes what it refuses to send, and that may be a header.
    reason = type(error).__name__ if isinstance(error, _OWN_FAULT) else _words(error)
    return Failure(
        reason,
        begun=not isinstance(error, _NOT_BEGUN),
        timed_out=isinstance(error, httpx.TimeoutException),
        lasting=isinstance(error, _OWN_FAULT) or _CERTIFICATE in str(error),
    )


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def reply_headers(response: httpx.Response) -> Dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def opened(value: Any) -> Any:
    """What an envelope carries."""
    if isinstance(value, dict):
        if "data" not in value:
            raise unreadable("there is no data in it")
        return value["data"]
    return value


def unreadable(what: str) -> InvalidResponseError:
    return InvalidResponseError(f"The answer cannot be read: {what}.", code="invalid_response")
