"""Webhooks: allowed URLs, signatures and retries."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from laari.rules.refusals import Refusal, invalid

USER_AGENT = "Service-Merchant-Webhook/1.0"
SIGNATURE_HEADER = "Service-Signature"
SIGNATURE_TOLERANCE_SECONDS = 300  # receivers refuse timestamps further from their clock

MAX_URL_LENGTH = 2048
HTTPS_PORT = 443
FIRST_FREE_PORT = 1024  # below it are other services' ports: mail, shells, file shares

# The waits between attempts are the setting LAARI_WEBHOOK_RETRY_SECONDS (`laari.settings`).
RETRY_JITTER = 0.1  # of the wait, so that retries do not all come at the same time

# Top-level names that are not assigned in the public DNS, or are used inside networks.
_NOT_PUBLIC = frozenset(
    {
        "alt",
        "arpa",
        "corp",
        "example",
        "home",
        "internal",
        "intranet",
        "invalid",
        "lan",
        "local",
        "localdomain",
        "localhost",
        "mail",
        "onion",
        "private",
        "test",
    }
)
# For developers who run the service on their own machine.
_FOR_DEVELOPMENT = (
    " A service for development takes http and local addresses with LAARI_WEBHOOK_ALLOW_PRIVATE=on."
)
_PRINTABLE = re.compile(r"[!-~]+", re.ASCII)
_UNSAFE = re.compile(r"[\\<>\"`{}|^]")
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)", re.ASCII)
_TOP_LEVEL = re.compile(r"[A-Za-z]{2,63}|[Xx][Nn]--[A-Za-z0-9-]{1,59}", re.ASCII)


def check_webhook_url(url: str, allow_private: bool = False) -> Refusal | None:
    """Why webhooks cannot be sent to this URL, or None if they can.

    `allow_private` is for development. The address of a name is checked at every connection.
    """
    parts = _split(url)
    if parts is None:
        return _refused("must be an absolute URL in printable ASCII, at most 2048 characters.")
    if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
        if allow_private:
            return _refused("must begin with http:// or https://.")
        hint = _FOR_DEVELOPMENT if parts.scheme == "http" else ""
        return _refused(f"must begin with https://.{hint}")
    if "@" in parts.netloc:
        return _refused("must not contain credentials.")
    if "#" in url:
        return _refused("must not contain a fragment.")
    if allow_private:
        return None
    if not is_public_name(parts.hostname or ""):
        return _refused(
            f"must name a public domain, not an address or a local name.{_FOR_DEVELOPMENT}"
        )
    port = HTTPS_PORT if parts.port is None else parts.port
    if port != HTTPS_PORT and port < FIRST_FREE_PORT:
        return _refused(f"must use port {HTTPS_PORT} or one from {FIRST_FREE_PORT} up.")
    return None


def _refused(why: str) -> Refusal:
    return invalid("webhook_url", f"webhook_url {why}")


def _split(url: str) -> SplitResult | None:
    if len(url) > MAX_URL_LENGTH or not _PRINTABLE.fullmatch(url) or _UNSAFE.search(url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port  # raises if it is not a valid port
    except ValueError:
        return None
    if not parts.hostname or parts.netloc.endswith(":") or port == 0:
        return None
    return parts


def is_public_name(host: str) -> bool:
    """Whether a host is written as a name of the public DNS.

    Its last label has no digits, so no spelling of an IPv4 address (`127.1`, `0x7f.1`) passes.
    """
    labels = host.split(".")
    if len(host) > 253 or len(labels) < 2 or not all(map(_LABEL.fullmatch, labels)):
        return False
    return bool(_TOP_LEVEL.fullmatch(labels[-1])) and labels[-1].lower() not in _NOT_PUBLIC


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """The value of the signature header for a body sent at this Unix time."""
    signed = str(timestamp).encode() + b"." + body
    return f"t={timestamp},v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def retry_wait(failed_attempts: int, waits: Sequence[float], chance: float) -> float | None:
    """Seconds until the next attempt; None if there is none. `chance` is random, from 0 to 1."""
    if failed_attempts > len(waits):
        return None
    return waits[failed_attempts - 1] * (1 + RETRY_JITTER * chance)


def is_acknowledged(status: int) -> bool:
    return 200 <= status <= 299
