"""What protects the pages: headers on every answer, and two checks on every form.

A form counts only where the browser says that it was sent from one of our own pages, and where it
carries the token that this browser was given: the first stops other sites, the second also stops
what an old browser does not tell.
"""

from __future__ import annotations

import hmac
import secrets

from laari.edge.http import Request
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
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def came_from_us(request: Request, origin: str) -> bool:
    """Whether a browser says that this form was sent from one of our own pages.

    Our pages send no referrer, and browsers then write `Origin: null` even to ourselves; what they
    do tell is `Sec-Fetch-Site`. Only on plain http to another machine do they keep that back too,
    and the form's token has to do alone.
    """
    site = request.headers.get(b"sec-fetch-site")
    told = request.headers.get(b"origin", "null")
    if site is not None and site != "same-origin":
        return False
    if told != "null":
        scheme = "https" if request.secure else "http"
        return told in (origin, f"{scheme}://{request.headers.get(b'host', '')}")
    return site is not None or not request.secure


def new_visit() -> str:
    """What a browser without a session is recognised by."""
    return secrets.token_urlsafe(32)


def form_token(master_key: bytes, held: str) -> str:
    """The token for forms of the browser that holds this session or visit."""
    return derive(master_key, "form-token", held).hex()


def token_fits(master_key: bytes, held: str, token: str) -> bool:
    expected = form_token(master_key, held)
    return hmac.compare_digest(expected.encode(), token.encode("utf-8", "replace"))
