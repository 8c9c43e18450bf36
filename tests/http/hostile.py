"""Requests that cost their reader as much as their sender can make them: one table, generated.

`tests/http/test_cpu_budget.py` holds each row to its budget of processor time, and
`campaigns/test_hostile.py` looks at what other merchants notice of it.
"""

import base64
import json
import re
import secrets
from collections.abc import Callable, Iterator
from typing import NamedTuple

from laari.edge.pages.app import ROUTES
from laari.edge.pages.dashboard.account import WITHOUT_MERCHANT

SHORT, LONG = 60_000, 510_000  # bytes of what is repeated: under 64 KiB, and under 512 KiB
KIB = 1024
FORM = "application/x-www-form-urlencoded"
KEY = b"@key@"  # where the key of a merchant has to stand
BOUNDARY = b"----WebKitFormBoundary7MA4YWxk"
PLACES = {"mode": "live"}  # of a path; every other part of one is unknown to the service
NEW = b"@sixteen-bytes@@"  # becomes something else in each request


class Row(NamedTuple):
    kind: str
    name: str
    request: bytes
    status: int | None  # None is any refusal

    @property
    def budget_seconds(self) -> float:
        """Of the serving process's time."""
        return 0.005 if len(self.request) <= 64 * KIB else 0.020

    def as_of(self, key: str) -> bytes:
        """The request of a merchant with this key."""
        head, end, body = self.request.partition(b"\r\n\r\n")
        new = secrets.token_hex(len(NEW) // 2).encode()
        return head.replace(KEY, key.encode()).replace(NEW, new) + end + body.replace(NEW, new)


def _request(line: str, body: bytes | None = None, *fields: str) -> bytes:
    length = () if body is None else (f"Content-Length: {len(body)}",)
    head = [f"{line} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *fields, *length]
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + (body or b"")


def _create(body: bytes, *fields: str) -> bytes:
    own = ("X-API-Key: @key@", "Content-Type: application/json")
    return _request("POST /merchant/payments", body, *own, *fields)


def _json_bodies(size: int) -> Iterator[tuple[str, bytes, int]]:
    def filled(start: str, unit: str, end: str) -> bytes:
        return (start + unit * (size // len(unit.encode())) + end).encode()

    for unit in ('{"a":1},', "{},", "[],", "[[[[]]]],", "1,", '"",', "null,", '{"a":[{}]},'):
        yield f"many {unit}", filled('{"a":[', unit, "1]}"), 400
    for unit in ("[", '{"a":', '{"a":[', ",", ":", '"', "\\", '\\"', "[]", "]", "0"):
        yield f"nothing but {unit}", filled("", unit, ""), 400
    for unit in ("\\n", "\\\\", '\\"', "\\u0041", "\\ud83d\\ude00", "\\ud800", "ދ", "😀", "x", ","):
        yield f"a text of {unit}", filled('{"title":"', unit, '"}'), 400
    for start, unit in (("", "9"), ("0.", "9"), ("", "123456789"), ("1e", "9")):
        yield f"a number of {start}{unit}", filled('{"amount":' + start, unit, "}"), 400
    members = {f"k{n}": 1 for n in range(size // 16)}
    yield "many members", json.dumps(members).encode(), 400
    yield "many entries of metadata", json.dumps({"metadata": members}).encode(), 400
    yield "spaces", filled('{"amount":', " ", "x}"), 400
    yield "newlines", filled('{"amount":', "\n", "x}"), 400
    yield "a long name", filled('{"', "amoun", '":1}'), 400
    yield "a late end", filled('{"title":"', "x", '"'), 400


def _metadata() -> Iterator[tuple[str, bytes, int]]:
    """Valid payments with the longest texts: they are served, within the same bounds."""
    for unit in (",", '"', "[{", "\\", "😀", "ދ"):
        for ascii_only in (True, False):
            entries = {f"{n:02}" + (unit * 40)[:38]: (unit * 500)[:500] for n in range(50)}
            payment = {"reference": NEW.decode(), "amount": 1, "metadata": entries}
            body = json.dumps(payment, ensure_ascii=ascii_only).encode()
            yield f"50 entries of {unit}{' escaped' if ascii_only else ''}", body, 201


def _query(size: int) -> Iterator[tuple[str, str, int]]:
    yield "parameters", "a=1&" * (size // 4), 400
    yield "separators", "&" * size, 400
    yield "escapes", "a=" + "%41" * (size // 3), 400
    yield "100 unknown ones", "&".join(f"limi{n}=1" for n in range(99)), 200
    yield "escapes within the limit", "a=" + "%D8%A3" * 1_300, 200
    yield "brackets", "limit" + "[" * 8_000 + "=1", 400
    yield "a long cursor", "after=" + "A" * 8_000, 200
    yield "an escaped cursor", "after=" + "%41" * 2_600, 200
    yield "a made up cursor", "after=" + "A" * 43, 200
    yield "a long date", "created_from=2026-01-01T00:00:00." + "9" * 8_000, 200
    yield "a long limit", "limit=" + "9" * 8_000, 200


def _chunks() -> Iterator[tuple[str, bytes, int]]:
    def chunked(payload: bytes, size: int, extension: bytes = b"") -> bytes:
        parts = [payload[at : at + size] for at in range(0, len(payload), size)]
        lines = b"".join(b"%x%b\r\n%b\r\n" % (len(p), extension, p) for p in parts)
        return lines + b"0\r\n\r\n"

    yield "of one byte", chunked(b"x" * 8_000, 1), 400
    yield "of one byte, half a megabyte", chunked(b"x" * 80_000, 1), 400
    yield "as many as 60 KB may have", chunked(b"[1," * 19_000, 152), 400
    yield "as many as half a megabyte may have", chunked(b"[1," * 168_000, 610), 400
    yield "with extensions", chunked(b"x" * 300, 1, b";" + b"a" * 200), 400
    yield "with a long trailer", b"0\r\n" + b"X: y\r\n" * 1_300 + b"\r\n", 431
    yield "in zeros", b"0" * SHORT, 400


def _headers() -> Iterator[tuple[str, bytes, int]]:
    def listed(name: str, value: str, path: str = "/merchant/payments?limit=1") -> bytes:
        return _request(f"GET {path}", None, "X-API-Key: @key@", f"{name}: {value}")

    yield "a path of %2F", _request("GET /merchant/" + "%2F" * (SHORT // 3)), 400
    yield "a path of %41", _request("GET /merchant/payments/" + "%41" * 2_700), 401
    yield "a path of /", _request("GET /merchant/payments/" + "/" * 8_000), 404
    yield "a page's path of %C3%A4", _request("GET /pay/" + "%C3%A4" * 1_300), 404
    commas, words = "," * SHORT, "a," * (SHORT // 2)
    for name in ("Transfer-Encoding", "Connection"):
        yield f"{name} of commas", listed(name, commas), 400
    for name in ("Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "Via", "Accept", "Range"):
        yield f"{name} of commas", listed(name, words), 200
    page = "/dashboard/login"
    for name in ("Accept-Language", "Accept-Encoding", "Sec-Fetch-Site", "Origin"):
        yield f"{name} of commas", listed(name, commas, page), 200
    yield "Origin of ä", listed("Origin", "http://" + "ä" * SHORT, page), 200
    yield "If-None-Match of commas", listed("If-None-Match", '"a",' * (SHORT // 4), "/docs"), 200
    yield "15,000 fields", _request("GET /", None, *["X:"] * 15_000), 431
    yield "97 equal fields", _request("GET /healthz", None, *["X: " + "y" * 600] * 97), 200
    yield "a long field", listed("X", "y" * SHORT), 200
    yield "a field of spaces", listed("X", " " * SHORT + "y"), 200
    yield "a malformed end", listed("X", "y" * SHORT + "\0"), 400
    yield "a long method", _request("G" * SHORT + " /"), 400
    yield "a long Service-Version", listed("Service-Version", "2" * SHORT), 400
    body = b'{"reference":"a","amount":1}'
    yield "a long Idempotency-Key", _create(body, "Idempotency-Key: " + "k" * SHORT), 400
    fields = ("X-API-Key: @key@", "Content-Type: text/plain" + ";" * SHORT)
    yield "a long Content-Type", _request("POST /merchant/payments", body, *fields), 400


def _tokens() -> Iterator[tuple[str, bytes, int]]:
    def shown(*fields: str) -> bytes:
        return _request("GET /merchant/payments", None, *fields)

    escaped = base64.b64encode(b"%41" * 7_000 + b":" + b"%41" * 7_000).decode()
    yield "a long key", shown("X-API-Key: " + "k" * SHORT), 401
    yield "a key of spaces", shown("X-API-Key: " + "k " * (SHORT // 2)), 401
    yield "a long token", shown("Authorization: Bearer " + "t" * SHORT), 401
    yield "a long Basic", shown("Authorization: Basic " + "QUFB" * (SHORT // 4)), 401
    yield "Basic that is none", shown("Authorization: Basic " + "=" * SHORT), 401
    yield "no scheme", shown("Authorization: " + " " * SHORT + "x"), 401
    yield (
        "a long wallet key",
        _request("GET /wallet/balance", None, "X-API-Key: " + "k" * SHORT),
        401,
    )
    form, path = b"grant_type=client_credentials", "/merchant/oauth/token"
    fields = (f"Content-Type: {FORM}", f"Authorization: Basic {escaped}")
    yield "a client with escapes", _request(f"POST {path}", form, *fields), 400


def _cookies() -> Iterator[tuple[str, bytes, int]]:
    units = (";", "laari=1;", "a=b; ", 'a="\\', "=", "laari-page-1=x; ", "__Host-laari;")
    for unit in units:
        for path in ("/dashboard/login", "/app"):
            fields = "Cookie: " + unit * (SHORT // len(unit))
            status = 200 if path == "/dashboard/login" else 303
            yield f"{unit} to {path}", _request(f"GET {path}", None, fields), status
    many = ["Cookie: " + ";" * 600] * 97
    yield "; in 97 fields", _request("GET /dashboard/login", None, *many), 200


def _forms() -> Iterator[tuple[str, bytes, int]]:
    def sent(path: str, body: bytes, content_type: str = FORM) -> bytes:
        return _request(f"POST {path}", body, f"Content-Type: {content_type}")

    fields, escapes = b"a=1&", b"%41"
    for path, longest, status in (
        ("/merchant/oauth/token", 16_000, 400),
        ("/dashboard/login", 20_000, 403),
    ):
        refused = 400
        yield f"fields to {path}", sent(path, fields * (longest // 4)), refused
        yield f"escapes to {path}", sent(path, b"a=" + escapes * (longest // 3 - 1)), status
        yield f"separators to {path}", sent(path, b"&" * longest), refused
        yield f"spaces to {path}", sent(path, b"scope=" + b"+" * (longest - 9)), status
        yield f"half a megabyte to {path}", sent(path, fields * (LONG // 4)), refused
    parts = b'--%b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' % BOUNDARY
    for path, status in (
        ("/dashboard/login", 400),
        ("/operator/bank", 303),
        ("/merchant/oauth/token", 400),
        ("/merchant/payments", 401),
    ):
        for size in (SHORT, LONG):
            body = parts * (size // len(parts)) + b"--%b--\r\n" % BOUNDARY
            request = sent(path, body, f"multipart/form-data; boundary={BOUNDARY.decode()}")
            yield f"multipart of {size // 1000} KB to {path}", request, status


def _forms_of_pages() -> Iterator[Row]:
    """What a stranger can send to each page that takes a form, by the table of the routes."""
    routes = [route.path for route in ROUTES if route.post is not None]
    for path in (*routes, WITHOUT_MERCHANT.path):
        address = re.sub(r"\{(\w+)\}", lambda name: PLACES.get(name[1], "x"), path)
        for size in (20, 380):
            body = b"a=" + b"%41" * (size * 330)
            request = _request(f"POST {address}", body, f"Content-Type: {FORM}")
            yield Row("forms", f"escapes of {size} KB to {path}", request, None)


def _table() -> Iterator[Row]:
    for size in (SHORT, LONG):
        for name, body, status in _json_bodies(size):
            yield Row("JSON", f"{name}, {size // 1000} KB", _create(body), status)
    objects = b'{"a":[' + b'{"a":1},' * 39_990 + b"1]}"
    yield Row("JSON", "39,990 objects, 320 KB", _create(objects), 400)
    for name in ("a text of \\n", "a text of ,", "a number of 9"):
        body = next(body for each, body, _ in _json_bodies(LONG) if each == name)
        keyed = _create(body, f"Idempotency-Key: {NEW.decode()}")
        yield Row("JSON", f"{name}, under a key", keyed, 400)
    for name, body, status in _metadata():
        yield Row("metadata", name, _create(body), status)
    for name, query, status in _query(SHORT):
        request = _request(f"GET /merchant/payments?{query}", None, "X-API-Key: @key@")
        yield Row("cursors" if "cursor" in name else "query", name, request, status)
    makers: dict[str, Callable[[], Iterator[tuple[str, bytes, int]]]] = {
        "headers": _headers,
        "tokens": _tokens,
        "cookies": _cookies,
        "forms": _forms,
    }
    for name, body, status in _chunks():
        fields = ("X-API-Key: @key@", "Content-Type: application/json")
        head = _request("POST /merchant/payments", None, *fields, "Transfer-Encoding: chunked")
        yield Row("chunks", name, head + body, status)
    for kind, make in makers.items():
        for name, request, status in make():
            yield Row("multipart" if name.startswith("multipart") else kind, name, request, status)


ROWS = {f"{row.kind}: {row.name}": row for row in _table()}
FORM_ROWS = {row.name: row for row in _forms_of_pages()}
LONG_FORM = "escapes of 380 KB to /operator/bank"  # of the page that takes the longest form
ROWS[f"forms: {LONG_FORM}"] = FORM_ROWS[LONG_FORM]
