"""Protection of the pages: headers on every reply; an origin check and a token on every form."""

from typing import Literal
from urllib.parse import urlsplit

from laari.http.messages import Header, Request

# Nothing inline, nothing from elsewhere, never in a frame.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
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
    """Why a form does not come from one of our pages; None if it does.

    Our pages send no referrer, so `Origin` is null, but browsers send `Sec-Fetch-Site`, except for
    plain http to another machine. Other origins must be the public one: `Host` can be forged.
    """
    site = request.headers.get(b"sec-fetch-site")
    origin = request.headers.get(b"origin", "null")
    if site is not None and site != "same-origin":
        return "other_site"
    if origin == "null":
        return None if site is not None or not request.secure else "other_site"
    if _origin(origin) == _origin(public_url) is not None:
        return None
    # A page of ours at another address of this machine: the visitor can open the right one.
    return "other_address" if site is not None else "other_site"


def _origin(url: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port, as browsers compare them."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, (parts.hostname or "").lower(), port
    except ValueError:
        return None
