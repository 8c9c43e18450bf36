"""What protects the pages: headers on every reply, and two checks on every form.

A form counts only where the browser says that it was sent from one of our own pages, and where it
carries the token that this browser was given: the first stops other sites, the second also stops
what an old browser does not tell.
"""

import hmac
import secrets
from typing import Literal
from urllib.parse import urlsplit

from laari.http.messages import Header, Request
from laari.store.secrets import derive

# Nothing inline, nothing from elsewhere, never in a frame.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS: tuple[Header, ...] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)

Stranger = Literal["other_site", "other_address"]  # texts of `[problem]`


def stranger(request: Request, public_url: str) -> Stranger | None:
    """Why a form is not one of our own pages', by what the browser says; None where it is.

    Our pages send no referrer, and browsers then write `Origin: null` even to ourselves; what they
    do tell is `Sec-Fetch-Site`. Only on plain http to another machine do they keep that back too,
    and the form's token has to do alone. An origin that is told has to be the public one: the
    `Host` that came with it is whatever the sender wrote.
    """
    site = request.headers.get(b"sec-fetch-site")
    told = request.headers.get(b"origin", "null")
    if site is not None and site != "same-origin":
        return "other_site"
    if told == "null":
        return None if site is not None or not request.secure else "other_site"
    if _origin(told) == _origin(public_url) is not None:
        return None
    # A page of ours, but opened at another address of this machine: the visitor can mend that.
    return "other_address" if site is not None else "other_site"


def _origin(url: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port, as browsers compare them."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, (parts.hostname or "").lower(), port
    except ValueError:
        return None


def new_browser_id() -> str:
    """What a browser without a session is recognised by."""
    return secrets.token_urlsafe(32)


def form_token(master_key: bytes, held: str) -> str:
    """The token for forms of the browser that holds this session or id."""
    return derive(master_key, "form-token", held).hex()


def token_fits(master_key: bytes, held: str, token: str) -> bool:
    expected = form_token(master_key, held)
    return hmac.compare_digest(expected.encode(), token.encode("utf-8", "replace"))
