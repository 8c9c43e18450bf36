"""The reference's files over HTTP: types, caching, and nothing beyond the table."""

import gzip
import json
import re

import pytest

from laari.edge.reference.openapi import openapi_document
from laari.edge.reference.pages import reference_page
from laari.http.messages import Reply
from tests.edge.sent import sent

ORIGIN = "https://pay.example"


async def ask(path: str, method: str = "GET", **headers: str) -> Reply | None:
    return await reference_page(sent(path, method, **headers), ORIGIN)


async def found(path: str, **headers: str) -> tuple[Reply, dict[bytes, bytes]]:
    reply = await ask(path, **headers)
    assert reply is not None
    return reply, dict(reply.headers)


async def test_the_document_is_served_as_it_is_made() -> None:
    reply, _ = await found("/openapi.json")
    assert (reply.status, reply.content_type) == (200, b"application/json")
    assert json.loads(reply.body) == openapi_document(ORIGIN)


async def test_everything_the_page_names_is_there_with_its_type() -> None:
    page, headers = await found("/docs")
    assert page.content_type == b"text/html; charset=utf-8"
    policy = headers[b"content-security-policy"]
    assert b"default-src 'none'; script-src 'self'; style-src 'self';" in policy
    assert b"unsafe" not in policy
    names = set(re.findall(r'(?:src|href)="([^"]+)"', page.body.decode()))
    types = {".js": b"text/javascript", ".css": b"text/css", "svg": b"image/svg+xml"}
    assert {"/docs/guides", "/openapi.json"} <= names
    for name in names - {"/docs/guides", "/openapi.json"}:
        assert name.startswith("/docs/assets/")
        reply, _ = await found(name)
        assert reply.status == 200
        assert reply.content_type.startswith(
            next(kind for end, kind in types.items() if name.endswith(end))
        )
    assert len(names) == 7


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/docs/assets/swagger-ui-bundle.js"])
async def test_a_client_that_has_it_is_not_sent_it_again(path: str) -> None:
    plain, plain_headers = await found(path)
    packed, packed_headers = await found(path, accept_encoding="br, gzip")
    assert packed_headers[b"content-encoding"] == b"gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert plain_headers[b"etag"] != packed_headers[b"etag"]
    again, _ = await found(path, if_none_match=f"W/{plain_headers[b'etag'].decode()}")
    assert (again.status, again.body) == (304, b"")
    other, _ = await found(path, if_none_match='"other"')
    assert other.status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_only_reading_is_allowed(method: str) -> None:
    reply = await ask("/docs", method)
    assert reply is not None
    assert reply.status == 405
    assert dict(reply.headers)[b"allow"] == b"GET, HEAD"


@pytest.mark.parametrize(
    "path",
    [
        "/docs/assets/",
        "/docs/assets/index.html",
        "/docs/assets/../../reference.py",
        "/docs/assets/..\\reference.js",
        "/docs/assets//etc/passwd",
        "/docs/nothing",
        "/docsx",
    ],
)
async def test_only_the_names_of_the_table_are_known(path: str) -> None:
    assert await ask(path) is None
