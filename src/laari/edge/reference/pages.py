"""The interactive reference at `/docs` and its OpenAPI document.

It loads files from a fixed table: no path is looked up on disk, and no other host is used.
"""

import asyncio
import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
from openapi_ui_bundles import swagger_ui

from laari.edge.pages.assets import TYPES
from laari.edge.pages.security import HEADERS as PAGE_GUARDS
from laari.edge.reference.guides import PATHS, guide_page
from laari.edge.reference.openapi import openapi_document
from laari.http.messages import HTML, Header, Reply, Request, must_read

_OWN = Path(__file__).parent / "docs"
_ASSETS = {
    "swagger-ui.css": swagger_ui.static_path,
    "swagger-ui-bundle.js": swagger_ui.static_path,
    "reference.css": _OWN,
    "reference.js": _OWN,
    "icon.svg": _OWN,
}

_REVALIDATE = b"no-cache"  # browsers ask each time, and mostly get 304
_AN_HOUR = b"public, max-age=3600"  # the assets change only with a release

# Nothing inline and nothing from other hosts: Swagger UI sets its styles through the DOM. Its style
# sheet has icons as data:, and it shows the image of a response (a QR code) as blob:.
_POLICY = b"; ".join(
    (
        b"default-src 'none'",
        b"script-src 'self'",
        b"style-src 'self'",
        b"img-src 'self' data: blob:",
        b"connect-src 'self'",
        b"base-uri 'none'",
        b"form-action 'none'",
        b"frame-ancestors 'none'",
    )
)
_GUARDS = (
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", _POLICY),
)


class ReferencePage(NamedTuple):
    """A page or file, in both encodings."""

    body: bytes
    zipped: bytes
    tag: bytes
    content_type: bytes
    caching: bytes
    guards: tuple[Header, ...] = _GUARDS


async def reference_page(request: Request, origin: str, *, signup: bool = False) -> Reply | None:
    """The reply to a request for the reference, with or without sign-up; None for other paths."""
    path = request.path
    if path not in {"/openapi.json", "/docs"} and not path.startswith("/docs/"):
        return None
    # The first request compresses everything. In a thread it does not delay payments.
    if path in PATHS:
        page = await asyncio.to_thread(_guide, path)
    else:
        pages = await asyncio.to_thread(_pages, origin, signup)
        if path not in pages:
            return None
        page = pages[path]
    return must_read(request) or _reply(page, request.headers)


def _reply(page: ReferencePage, headers: Mapping[bytes, str]) -> Reply:
    zipped = "gzip" in headers.get(b"accept-encoding", "")
    tag = b'"%s%s"' % (page.tag, b"-gzip" if zipped else b"")
    shown = (
        (b"etag", tag),
        (b"cache-control", page.caching),
        (b"vary", b"accept-encoding"),
        *page.guards,
    )
    if tag.decode() in headers.get(b"if-none-match", ""):
        return Reply(304, b"", shown, page.content_type)
    if zipped:
        return Reply(200, page.zipped, (*shown, (b"content-encoding", b"gzip")), page.content_type)
    return Reply(200, page.body, shown, page.content_type)


@cache
def _pages(origin: str, signup: bool) -> dict[str, ReferencePage]:
    document = msgspec.json.encode(openapi_document(origin, signup=signup))
    home = _page((_OWN / "index.html").read_bytes(), HTML, _REVALIDATE)
    pages = {
        "/openapi.json": _page(document, b"application/json", _REVALIDATE),
        "/docs": home,
        "/docs/": home,
    }
    for name, folder in _ASSETS.items():
        file = folder / name
        pages[f"/docs/assets/{name}"] = _page(file.read_bytes(), TYPES[file.suffix], _AN_HOUR)
    return pages


@cache
def _guide(path: str) -> ReferencePage:
    page = _page(guide_page(path), HTML, _REVALIDATE)
    return page._replace(guards=PAGE_GUARDS)  # stricter: nothing of Swagger UI is on it


def _page(body: bytes, content_type: bytes, caching: bytes) -> ReferencePage:
    tag = hashlib.sha256(body).hexdigest()[:32].encode()
    return ReferencePage(body, gzip.compress(body, mtime=0), tag, content_type, caching)
