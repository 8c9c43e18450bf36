"""The signature of a webhook."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from typing import List, Optional, Sequence, Union

from laari_client._errors import ConfigurationError, WebhookVerificationError
from laari_client._reading import parse_json
from laari_client.models import Event, read_event

HEADER = "Service-Signature"
TOLERANCE_SECONDS = 300

_TIME = re.compile(r"[0-9]{1,12}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{64}", re.ASCII)


def verify_webhook(
    body: Union[bytes, str],
    header: Optional[str],
    secret: Union[str, Sequence[str]],
    *,
    tolerance: float = TOLERANCE_SECONDS,
    now: Optional[float] = None,
) -> Event:
    """The event, if the `Service-Signature` header proves that the service sent this very body.

    `body` is the raw body, before anything has parsed it. `secret` is the merchant's secret key;
    while a key is being exchanged, give the old one and the new. Raises
    `WebhookVerificationError`, to be answered with 401.
    """
    raw = _raw(body)
    if not isinstance(header, (str, type(None))):
        raise ConfigurationError(
            f"header is the value of Service-Signature, a text; it is {_named(header)}."
        )
    secrets = [secret] if isinstance(secret, str) else _several(secret)
    if not secrets or not all(isinstance(each, str) and each for each in secrets):
        raise ConfigurationError("secret is empty: anybody could sign.")
    timestamp, signatures = _read(header)
    if not abs((time.time() if now is None else now) - int(timestamp)) <= tolerance:
        raise _refused("its time is too far from this clock's")
    genuine = False
    for each in secrets:
        expected = _digest(each, timestamp, raw)
        for signature in signatures:  # all of them, always: the time tells nothing
            genuine |= hmac.compare_digest(expected, signature)
    if not genuine:
        raise _refused("its signature is not of this body by this key")
    try:
        value = parse_json(raw)
    except ValueError:
        value = None
    return read_event(value)


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The value of the `Service-Signature` header for a body that is sent at this Unix time."""
    return f"t={timestamp},v1={_digest(secret, timestamp, body)}"


def _digest(secret: str, timestamp: str, body: bytes) -> str:
    signed = timestamp.encode() + b"." + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _raw(body: Union[bytes, str]) -> bytes:
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    raise ConfigurationError(
        f"body is the raw body as it came, bytes or text; it is {_named(body)}. JSON that was"
        " parsed has lost the bytes that are signed: take them before anything parses them."
    )


def _several(secret: Sequence[str]) -> List[str]:
    if isinstance(secret, (list, tuple)):
        return list(secret)
    raise ConfigurationError(f"secret is a text, or a list of them; it is {_named(secret)}.")


def _named(value: object) -> str:
    return f"of type {type(value).__name__}"


def _read(header: Optional[str]) -> tuple[str, List[str]]:
    """The time and every `v1`; other labels are for other receivers."""
    times, signatures = [], []
    for part in (header or "").split(","):
        label, _, value = part.strip().partition("=")
        if label == "t":
            times.append(value)
        elif label == "v1":
            signatures.append(value)
    if len(times) != 1 or not _TIME.fullmatch(times[0]):
        raise _refused("its signature is missing or has no time")
    if not signatures or not all(_SIGNATURE.fullmatch(each) for each in signatures):
        raise _refused("its signature is missing or malformed")
    return times[0], signatures


def _refused(why: str) -> WebhookVerificationError:
    return WebhookVerificationError(f"The webhook is refused: {why}.", code="webhook_refused")
