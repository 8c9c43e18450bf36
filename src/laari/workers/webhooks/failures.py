"""What a merchant is told about an attempt that got no answer, and what the operator is told.

A merchant chooses the URL, so whatever an error says about the network around the service would be
an answer to a question that the merchant asked: which address a name has in here, which ports are
open, what runs there. Merchants get one of a fixed set of phrases. The log gets the detail.
"""

import errno
import logging
import time

import aiohttp

from laari.workers.webhooks.bounded import AnswerTooLong

log = logging.getLogger(__name__)

NOT_PUBLIC = "the host name leads to an address that is not public"
NOT_RESOLVED = "the host name could not be resolved"
CERTIFICATE = "the certificate was refused"
TLS = "TLS could not be set up"
NO_CONNECTION = "the connection failed"
BROKEN = "the connection broke"
CLOSED = "the connection was closed without an answer"
TOO_LATE = "no answer in time"
TOO_LONG = "the answer was too long"
NOT_HTTP = "the answer was not valid HTTP"

CONNECTION_ERRORS = {
    errno.ECONNREFUSED: "the connection was refused",
    errno.EHOSTUNREACH: "the host could not be reached",
    errno.ENETUNREACH: "the host could not be reached",
    errno.ETIMEDOUT: "the connection timed out",
}
REFUSED = CONNECTION_ERRORS[errno.ECONNREFUSED]
# Nothing was sent, and trying again at once would not help.
NO_CONNECTION_PHRASES = frozenset({NOT_RESOLVED, NO_CONNECTION, *CONNECTION_ERRORS.values()})
# By OpenSSL's numbers (X509_V_ERR_…): what a receiver's owner has to mend.
CERTIFICATE_ERRORS = {
    9: "it is not yet valid",
    10: "it has expired",
    18: "it is signed by itself",
    19: "it is signed by an authority that is not known",
    20: "it is signed by an authority that is not known, or a part of its chain is missing",
    21: "a part of its chain is missing",
    62: "it is for another name",
}

PHRASES = frozenset(
    {
        NOT_PUBLIC,
        NOT_RESOLVED,
        CERTIFICATE,
        *(f"{CERTIFICATE}: {why}" for why in CERTIFICATE_ERRORS.values()),
        TLS,
        NO_CONNECTION,
        *CONNECTION_ERRORS.values(),
        BROKEN,
        CLOSED,
        TOO_LATE,
        TOO_LONG,
        NOT_HTTP,
    }
)


def unreached(url: str, phrase: str) -> str:
    """For a developer, who may have forgotten to start what is at the URL."""
    if phrase == REFUSED:
        return f"connection refused on {url}; is it running?"
    return f"{url} cannot be reached: {phrase}"


LOG_EVERY_SECONDS = 60.0  # the same failure of the same host
_MOST_REMEMBERED = 1024


class ForbiddenAddress(OSError):  # noqa: N818  # named for what was met
    """A name that resolves to an address webhooks may not go to."""


def describe(problem: Exception) -> str:
    """One of the phrases, which a merchant's developer can act on."""
    match problem:
        case aiohttp.ClientConnectorCertificateError():
            return _certificate(problem.certificate_error)
        case aiohttp.ClientConnectorError(os_error=ForbiddenAddress()):
            return NOT_PUBLIC
        case aiohttp.ClientConnectorDNSError():
            return NOT_RESOLVED
        case aiohttp.ClientConnectorSSLError():
            return TLS
        case aiohttp.ClientConnectorError():
            return CONNECTION_ERRORS.get(problem.os_error.errno or 0, NO_CONNECTION)
        case TimeoutError():
            return TOO_LATE
        case AnswerTooLong():
            return TOO_LONG
        case aiohttp.ServerDisconnectedError():
            return CLOSED
        case OSError():
            return BROKEN
    return NOT_HTTP


def _certificate(error: Exception) -> str:
    why = CERTIFICATE_ERRORS.get(getattr(error, "verify_code", 0))  # set where OpenSSL raised it
    return CERTIFICATE if why is None else f"{CERTIFICATE}: {why}"


def detail(problem: Exception) -> str:
    """What the operator gets to know: the system's own words, and nothing that a receiver said."""
    cause = problem.os_error if isinstance(problem, aiohttp.ClientConnectorError) else problem
    return (
        f"{type(cause).__name__}: {cause}" if isinstance(cause, OSError) else type(cause).__name__
    )


class FailureLog:
    """Logs failures in detail, the same one of the same host once a minute."""

    def __init__(self) -> None:
        self._logged: dict[tuple[str, str], float] = {}

    def add(self, host: str, phrase: str, problem: Exception) -> None:
        now = time.monotonic()
        if now - self._logged.get((host, phrase), -LOG_EVERY_SECONDS) < LOG_EVERY_SECONDS:
            return
        if len(self._logged) >= _MOST_REMEMBERED:
            self._logged.clear()  # some are logged a little early then, and memory stays bounded
        self._logged[host, phrase] = now
        log.info("a webhook to %s failed: %s", host, detail(problem))
