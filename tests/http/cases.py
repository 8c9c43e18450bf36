"""Requests as no ordinary client sends them, and how each is answered.

`statuses` are those of a service that is asked directly, one for each request there is in the
bytes. A proxy in front may refuse more by itself; one response for one request holds there too.
`{key}` stands for the merchant's key, in no body: it would change the length.
"""

import json
import secrets
from collections.abc import Callable
from typing import NamedTuple

from tests.http.raw import Answer, exchange

K = b"X-API-Key: {key}\r\n"
H = b"Host: shop.example\r\n"
J = b"Content-Type: application/json\r\n"
CREATE = b"POST /merchant/payments HTTP/1.1\r\n" + H + K + J
HEALTH = b"GET /healthz HTTP/1.1\r\n" + H + b"\r\n"
LIST = b"GET /merchant/payments?limit=1 HTTP/1.1\r\n" + H + K + b"\r\n"
TOKEN = b"POST /merchant/oauth/token HTTP/1.1\r\n" + H
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"


class Case(NamedTuple):
    name: str
    pieces: list[bytes]  # sent one after the other, with a pause
    statuses: tuple[int, ...]
    closes: bool = False
    half_close: bool = False
    heads: bool = False  # the responses have no body
    requests: int = 0  # at most, where that is not the number of statuses
    other_version: bool = False  # of HTTP: some proxies answer in that one
    cut: int = 0  # the bytes of each piece, where it is sent in smaller ones

    @property
    def most_responses(self) -> int:
        return max(self.requests, len(self.statuses))


def body() -> bytes:
    return json.dumps({"reference": f"raw-{secrets.token_hex(8)}", "amount": 100}).encode()


def sized(head: bytes, payload: bytes) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(payload) + payload


def chunked(payload: bytes, size: int, trailer: bytes = b"", extension: bytes = b"") -> bytes:
    parts = [payload[at : at + size] for at in range(0, len(payload), size)]
    chunks = b"".join(b"%x%b\r\n%b\r\n" % (len(p), extension, p) for p in parts)
    return chunks + b"0\r\n" + trailer + b"\r\n"


def with_chunks(head: bytes, payload: bytes) -> bytes:
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + payload


def _upgrades() -> list[Case]:
    """The body belongs to its request, whatever is offered."""
    found = []
    for upgrade in (b"h2c", b"websocket", b"TLS/1.0", b"nonsense"):
        offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: %b\r\n" % upgrade
        offer += b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n"
        payload = body()
        head = CREATE + offer + b"Content-Length: %d\r\n\r\n" % len(payload)
        name = upgrade.decode()
        found.append(Case(f"upgrade {name}, body in a second packet", [head, payload], (201,)))
        found.append(Case(f"upgrade {name}, body in one packet", [head + body()], (201,)))
        hidden = CREATE + offer + b"Content-Length: %d\r\n\r\n" % len(HEALTH)
        found.append(Case(f"upgrade {name}, a request as the body", [hidden, HEALTH], (400,)))
    bare = LIST.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    found.append(
        Case("upgrade without a body, another request behind it", [bare, LIST], (200, 200))
    )
    return found


def _bodies() -> list[Case]:
    trailer = b"X-API-Key: {key}\r\n"
    keyless = CREATE.replace(K, b"")
    inner, whole = HEALTH, sized(CREATE, body())
    return [
        Case("chunked", [with_chunks(CREATE, chunked(body(), 7))], (201,)),
        Case("chunked, a byte each", [with_chunks(CREATE, chunked(body(), 1))], (201,)),
        Case("chunk extensions", [with_chunks(CREATE, chunked(body(), 9, b"", b";a=b"))], (201,)),
        Case(
            "credentials in a trailer",
            [with_chunks(keyless, chunked(body(), 9, trailer))],
            (401,),
        ),
        Case(
            "an address in a trailer",
            [with_chunks(CREATE, chunked(body(), 9, b"X-Forwarded-For: 192.0.2.1\r\n"))],
            (201,),
        ),
        Case(
            "a length in a trailer",
            [with_chunks(CREATE, chunked(body(), 9, b"Content-Length: 999\r\n")) + LIST],
            (400,),
            closes=True,
            requests=2,
        ),
        Case("two in one packet", [sized(CREATE, body()) + LIST], (201, 200)),
        Case("three in one packet", [LIST * 3], (200, 200, 200)),
        Case("one cut in the middle of its head", [LIST[:40], LIST[40:]], (200,)),
        Case("one cut at every byte", [LIST], (200,), cut=1),
        Case("a body cut in two", [whole[:-9], whole[-9:]], (201,)),
        Case("a GET with a body", [sized(LIST[:-2], inner) + LIST], (200, 200)),
        Case("a cancel with a body", [sized(_cancel(), inner) + LIST], (404, 200)),
        Case(
            "expect: continue",
            [CREATE + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", b"{}"],
            (400,),
        ),
        Case(
            "a body over the limit",
            [CREATE + b"Content-Length: 600000\r\n\r\n" + b" " * 10_000],
            (400,),
            closes=True,
        ),
        Case(
            "a chunked body over the limit",
            [with_chunks(CREATE, chunked(b" " * 600_000, 60_000))],
            (400,),
            closes=True,
        ),
        _half_closed("half a request, then closed", CREATE[:50], ())._replace(requests=1),
        _half_closed("a request, then half-closed", LIST, (200,)),
        _half_closed("two requests, then half-closed", LIST * 2, (200, 200)),
        Case("connection: close", [_with(LIST, b"Connection: close")], (200,), closes=True),
        Case(
            "connection: close, then more",
            [_with(LIST, b"Connection: close") + LIST],
            (200,),
            closes=True,
            requests=2,
        ),
    ]


def _half_closed(name: str, data: bytes, statuses: tuple[int, ...]) -> Case:
    return Case(name, [data], statuses, closes=True, half_close=True)


def _cancel() -> bytes:
    return b"POST /merchant/payments/pay_1/cancel HTTP/1.1\r\n" + H + K


def _with(request: bytes, *fields: bytes) -> bytes:
    head, _, rest = request.partition(b"\r\n\r\n")
    return b"\r\n".join((head, *fields)) + b"\r\n\r\n" + rest


def _lengths() -> list[Case]:
    """Where two readers could disagree about the end of a body, it is no request."""
    inner = HEALTH
    doubtful = {
        "length and chunked": (b"Content-Length: 6", b"Transfer-Encoding: chunked"),
        "chunked and length": (b"Transfer-Encoding: chunked", b"Content-Length: 6"),
        "two lengths": (b"Content-Length: 0", b"Content-Length: %d" % len(inner)),
        "the same length twice": (b"Content-Length: 5", b"Content-Length: 5"),
        "a list of lengths": (b"Content-Length: 5, 5",),
        "a signed length": (b"Content-Length: +5",),
        "a negative length": (b"Content-Length: -5",),
        "a hexadecimal length": (b"Content-Length: 0x5",),
        "a length with an underscore": (b"Content-Length: 1_0",),
        "a length with a space": (b"Content-Length: 1 0",),
        "an empty length": (b"Content-Length:",),
        "a huge length": (b"Content-Length: " + b"9" * 30,),
        "chunked twice": (b"Transfer-Encoding: chunked, chunked",),
        "chunked in two fields": (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
        "chunked is not last": (b"Transfer-Encoding: chunked, identity",),
        "identity": (b"Transfer-Encoding: identity",),
        "another coding": (b"Transfer-Encoding: xchunked",),
        "a quoted coding": (b'Transfer-Encoding: "chunked"',),
        "a vertical tab in the coding": (b"Transfer-Encoding: \x0bchunked",),
        "a space before the colon": (b"Transfer-Encoding : chunked", b"Content-Length: 5"),
        "a folded coding": (b"Transfer-Encoding:\r\n chunked",),
        "a folded length": (b"Content-Length:\r\n 5",),
    }
    end = b"0\r\n\r\n" + inner
    found = [
        Case(name, [_with(CREATE + b"\r\n", *fields) + end], (400,), closes=True, requests=2)
        for name, fields in doubtful.items()
    ]
    gzip = _with(CREATE + b"\r\n", b"Transfer-Encoding: gzip, chunked") + chunked(body(), 9)
    found.append(Case("gzip, chunked", [gzip], (501,), closes=True))
    bad_chunks = {
        "a chunk size that is none": b"zz\r\n",
        "a negative chunk": b"-1\r\n",
        "a chunk size with 0x": b"0x5\r\nabcde\r\n0\r\n\r\n",
        "a chunk longer than it says": b"2\r\n{}}\r\n0\r\n\r\n",
        "a chunk size that overflows": b"ffffffffffffffffff\r\n",
        "bare newlines between chunks": b"2\n{}\n0\n\n",
        "a space after the chunk size": b"2 \r\n{}\r\n0\r\n\r\n",
        "a malformed trailer": b"2\r\n{}\r\n0\r\nX y\r\n\r\n",
    }
    found += [
        Case(name, [with_chunks(CREATE, payload) + inner], (400,), closes=True, requests=2)
        for name, payload in bad_chunks.items()
    ]
    return found


def _heads() -> list[Case]:
    def case(name: str, data: bytes, status: int, *, closes: bool = True) -> Case:
        return Case(name, [data], (status,), closes=closes)

    get = b"GET /merchant/payments HTTP/1.1\r\n"
    old_chunks = with_chunks(CREATE, chunked(body(), 9)).replace(b"HTTP/1.1", b"HTTP/1.0")
    return [
        case("no host", get + K + b"\r\n", 400),
        case("two hosts", get + H + H + K + b"\r\n", 400),
        case("a bad host", get + b"Host: a/b c\r\n" + K + b"\r\n", 400),
        case("an empty host", get + b"Host:\r\n" + K + b"\r\n", 400),
        case("OPTIONS *", b"OPTIONS * HTTP/1.1\r\n" + H + b"\r\n", 400),
        case("GET *", b"GET * HTTP/1.1\r\n" + H + b"\r\n", 400),
        case("CONNECT", b"CONNECT shop.example:443 HTTP/1.1\r\n" + H + b"\r\n", 400),
        case("CONNECT to a path", LIST.replace(b"GET", b"CONNECT") + LIST, 400)._replace(
            requests=2
        ),
        case("CONNECT to a URL", LIST.replace(b"GET /", b"CONNECT http://shop.example/"), 400),
        *(
            case(name, data, 400)._replace(other_version=True)
            for name, data in (
                ("no version", b"GET /merchant/payments\r\n\r\n"),
                ("HTTP/2.0", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                ("HTTP/0.9", b"GET / HTTP/0.9\r\n\r\n"),
            )
        ),
        case("two spaces", b"GET  /merchant/payments HTTP/1.1\r\n" + H + b"\r\n", 400),
        case("a raw byte in the path", b"GET /merchant/\xff HTTP/1.1\r\n" + H + b"\r\n", 400),
        case("a fragment", b"GET /merchant/payments#x HTTP/1.1\r\n" + H + b"\r\n", 400),
        case("bare newlines", LIST.replace(b"\r\n", b"\n"), 400),
        case("a bare newline in a value", _with(LIST, b"X: a\nX-API-Key: b"), 400),
        case("a bare return in a value", _with(LIST, b"X: a\rb"), 400),
        case("NUL in a value", _with(LIST, b"X: \x00"), 400),
        case("a space in a name", _with(LIST, b"X Y: z"), 400),
        case("a folded field", _with(LIST, b"X: a\r\n b"), 400),
        case("a field without a colon", _with(LIST, b"X"), 400),
        case("an empty name", _with(LIST, b": x"), 400),
        case("101 fields", _with(LIST, *[b"X: y"] * 99), 431),
        case("a head over 64 KiB", _with(LIST, b"X: " + b"y" * 70_000), 431),
        case("a path over 64 KiB", b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + H + b"\r\n", 431),
        case("1 MB of small fields", _with(LIST, *[b"X: y"] * 200_000), 431),
        case("60 fields", _with(LIST, *[b"X: y"] * 60), 200, closes=False),
        case("bytes beyond ASCII in a value", _with(LIST, b"X: \xe9"), 200, closes=False),
        case("an empty value", _with(LIST, b"X:"), 200, closes=False),
        case("an empty line first", b"\r\n" + LIST, 200, closes=False),
        case("HTTP/1.0", LIST.replace(b"HTTP/1.1", b"HTTP/1.0"), 200),
        case("HTTP/1.0, chunked", old_chunks, 400),
        case("a whole URL", LIST.replace(b"GET /", b"GET http://shop.example/"), 200, closes=False),
        case("a URL of another host", LIST.replace(b"GET /", b"GET http://other.example/"), 400),
    ]


def _routes() -> list[Case]:
    def ask(line: bytes, status: int, *, heads: bool = False, name: str = "") -> Case:
        request = line + b" HTTP/1.1\r\n" + H + K + b"\r\n"
        return Case(name or line[:60].decode("latin-1"), [request], (status,), heads=heads)

    return [
        ask(b"POST /merchant/payments/pay_1%2Fcancel", 405),  # an id that only GET reads
        ask(b"POST /merchant/payments%2Fpay_1/cancel", 404),
        ask(b"GET /merchant%2Fpayments", 404),
        ask(b"GET /merchant/%2e%2e/metrics", 404),
        ask(b"GET /merchant/../wallet/balance", 404),
        ask(b"GET //merchant/payments", 404),
        ask(b"GET /merchant/payments/%00", 404),
        ask(b"GET /merchant/payments/%ff%fe", 404),
        ask(b"GET /pay/%00", 404),
        ask(b"GET /approve/%F0%9F%98%80", 404),
        ask(b"GET /static/%2e%2e%2fsettings.py", 404),
        ask(b"PURGE /merchant/payments", 405),
        ask(b"get /merchant/payments", 405),
        ask(b"OPTIONS /merchant/payments", 405),
        ask(b"TRACE /merchant/payments", 405),
        ask(b"PATCH /merchant/payments/pay_1", 405),
        ask(b"PURGE /merchant/oauth/token", 405),
        ask(b"PURGE /merchant/nothing", 404),
        ask(b"PURGE /pay/x", 405),
        ask(b"PURGE /healthz", 405),
        ask(b"POST /readyz", 405),
        ask(b"DELETE /", 405),
        ask(b"HEAD /merchant/payments", 405, heads=True),
        ask(b"HEAD /healthz", 200, heads=True),
    ]


Make = Callable[[], list[Case]]
GROUPS: tuple[Make, ...] = (_upgrades, _bodies, _lengths, _heads, _routes)


def all_cases() -> list[Case]:
    """Made anew for each run: the references in them are new too."""
    return [case for make in GROUPS for case in make()]


def send_case(address: tuple[str, int], case: Case, key: str) -> Answer:
    pieces = [piece.replace(b"{key}", key.encode()) for piece in case.pieces]
    if case.cut:
        pieces = [p[at : at + case.cut] for p in pieces for at in range(0, len(p), case.cut)]
    return exchange(
        address,
        pieces,
        count=len(case.statuses),
        half_close=case.half_close,
        heads=case.heads,
        pause_seconds=0.001 if case.cut else 0.03,
    )
