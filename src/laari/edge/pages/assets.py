"""Style, scripts, fonts and spoken words, read once and served under the hash of their content.

The content of such an address never changes, so browsers keep it for a year.
"""

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import json

from laari.http.messages import Header, Reply

FOLDER = Path(__file__).parent / "static"
SPEECH = FOLDER / "speech"  # a folder for each language, with an mp3 file for each word
TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".svg": b"image/svg+xml",
    ".webmanifest": b"application/manifest+json",
    ".woff2": b"font/woff2",
}
_A_YEAR = (b"cache-control", b"public, max-age=31536000, immutable")


class Asset(NamedTuple):
    body: bytes
    zipped: bytes | None  # fonts are compressed already
    content_type: bytes


def _files() -> Iterator[tuple[str, bytes]]:
    """The files by name, and the words of each language as one file: a page asks once."""
    for path in FOLDER.iterdir():
        if path.suffix in TYPES:
            yield path.name, path.read_bytes()
    for folder in SPEECH.iterdir():
        words = {path.stem: path.read_bytes() for path in folder.glob("*.mp3")}
        yield f"speech-{folder.name}.json", json.encode(words, order="sorted")  # as Base64


def _load() -> tuple[dict[str, str], dict[str, Asset]]:
    """The addresses by file name, and the assets by address."""
    urls: dict[str, str] = {}
    assets: dict[str, Asset] = {}
    # These come last: they name the addresses of fonts and pictures.
    naming = (".css", ".webmanifest")
    for name, content in sorted(_files(), key=lambda file: (file[0].endswith(naming), file[0])):
        body = content
        if name.endswith(naming):
            for other, url in urls.items():
                body = body.replace(f'url("{other}")'.encode(), f'url("{url}")'.encode())
                body = body.replace(f'"src": "{other}"'.encode(), f'"src": "{url}"'.encode())
        tag = hashlib.sha256(body).hexdigest()[:12]
        urls[name] = f"/static/{tag}/{name}"
        suffix = Path(name).suffix
        zipped = None if suffix == ".woff2" else gzip.compress(body, mtime=0)
        assets[urls[name]] = Asset(body, zipped, TYPES[suffix])
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
