"""Style, scripts and fonts, read once and served under the hash of their content.

The content of such an address never changes, so browsers keep it for a year.
"""

import gzip
import hashlib
from pathlib import Path
from typing import NamedTuple

from laari.http.messages import Header, Reply

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".webmanifest": b"application/manifest+json",
    ".woff2": b"font/woff2",
}
_A_YEAR = (b"cache-control", b"public, max-age=31536000, immutable")


class Asset(NamedTuple):
    body: bytes
    zipped: bytes | None  # fonts are compressed already
    content_type: bytes


def _load() -> tuple[dict[str, str], dict[str, Asset]]:
    """The addresses by file name, and the assets by address."""
    urls: dict[str, str] = {}
    assets: dict[str, Asset] = {}
    # These come last: they name the addresses of fonts and pictures.
    naming = (".css", ".webmanifest")
    for path in sorted(FOLDER.iterdir(), key=lambda path: (path.suffix in naming, path.name)):
        if path.suffix not in TYPES:
            continue
        body = path.read_bytes()
        if path.suffix in naming:
            for name, url in urls.items():
                body = body.replace(f'url("{name}")'.encode(), f'url("{url}")'.encode())
                body = body.replace(f'"src": "{name}"'.encode(), f'"src": "{url}"'.encode())
        tag = hashlib.sha256(body).hexdigest()[:12]
        urls[path.name] = f"/static/{tag}/{path.name}"
        zipped = None if path.suffix == ".woff2" else gzip.compress(body, mtime=0)
        assets[urls[path.name]] = Asset(body, zipped, TYPES[path.suffix])
    return urls, assets


URLS, _ASSETS = _load()


def asset_reply(path: str, accepted_encodings: str) -> Reply | None:
    asset = _ASSETS.get(path)
    if asset is None:
        return None
    headers: tuple[Header, ...] = (_A_YEAR, (b"vary", b"accept-encoding"))
    if asset.zipped is not None and "gzip" in accepted_encodings:
        headers = (*headers, (b"content-encoding", b"gzip"))
        return Reply(200, asset.zipped, headers, asset.content_type)
    return Reply(200, asset.body, headers, asset.content_type)
