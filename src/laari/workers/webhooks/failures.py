"""Errors of attempts without an answer: a phrase for the merchant, the detail for the log.

With details, a merchant could explore the service's network by choosing URLs.
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
NO_CONNECTION = "the connection failed"

CONNECTION_ERRORS = {
    errno.ECONNREFUSED: "the connection was refused",
    errno.EHOSTUNREACH: "the host could not be reached",
    errno.ENETUNREACH: "the host could not be reached",
    errno.ETIMEDOUT: "the connection timed out",
}
REFUSED = CONNECTION_ERRORS[errno.ECONNREFUSED]
# Nothing was sent, and an immediate retry would not help.
NO_CONNECTION_PHRASES = frozenset({NOT_RESOLVED, NO_CONNECTION, *CONNECTION_ERRORS.values()})
# By OpenSSL's numbers (X509_V_ERR_…).
CERTIFICATE_ERRORS = {
    9: "it is not yet valid",
    10: "it has expired",
    18: "it is signed by itself",
    19: "it is signed by an authority that is not known",
    20: "it is signed by an authority that is not known, or a part of its chain is missing",
    21: "a part of its chain is missing",
    62: "it is for another name",
}


def unreached(url: str, phrase: str) -> str:
    """Returns the error for a developer, who may have forgotten to start the program."""
    if phrase == REFUSED:
        return f"connection refused on {url}; is it running?"
    return f"{url} cannot be reached: {phrase}"


LOG_EVERY_SECONDS = 60.0  # the same failure of the same host
_MOST_REMEMBERED = 1024


class ForbiddenAddress(OSError):  # noqa: N818
    """Webhooks may not go to this address."""


def describe(problem: Exception) -> str:
    """Returns one of a fixed set of phrases."""
    match problem:
        case aiohttp.ClientConnectorCertificateError():
            code = getattr(problem.certificate_error, "verify_code", 0)  # set by OpenSSL
            why = CERTIFICATE_ERRORS.get(code)
            return CERTIFICATE if why is None else f"{CERTIFICATE}: {why}"
        case aiohttp.ClientConnectorError(os_error=ForbiddenAddress()):
            return NOT_PUBLIC
        case aiohttp.ClientConnectorDNSError():
            return NOT_RESOLVED
        case aiohttp.ClientConnectorSSLError():
            return "TLS could not be set up"
        case aiohttp.ClientConnectorError():
            return CONNECTION_ERRORS.get(problem.os_error.errno or 0, NO_CONNECTION)
        case TimeoutError():
            return "no answer in time"
        case AnswerTooLong():
            return "the answer was too long"
        case aiohttp.ServerDisconnectedError():
            return "the connection was closed without an answer"
        case OSError():
            return "the connection broke"
    return "the answer was not valid HTTP"


class FailureLog:
    """Logs failures in detail, each failure of a host once a minute."""

    def __init__(self) -> None:
        self._logged: dict[tuple[str, str], float] = {}

    def add(self, host: str, phrase: str, problem: Exception) -> None:
        """Logs the system's error, without text of the receiver."""
        now = time.monotonic()
        if now - self._logged.get((host, phrase), -LOG_EVERY_SECONDS) < LOG_EVERY_SECONDS:
            return
        if len(self._logged) >= _MOST_REMEMBERED:
            self._logged.clear()  # limits the memory; some failures are logged early then
        self._logged[host, phrase] = now
        cause = problem.os_error if isinstance(problem, aiohttp.ClientConnectorError) else problem
        text = f": {cause}" if isinstance(cause, OSError) else ""
        log.info("webhook to %s failed: %s%s", host, type(cause).__name__, text)
