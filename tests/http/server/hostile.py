"""Requests that are nearly right, as bytes: made from parts, damaged, sent ahead, cut in pieces."""

from random import Random

METHODS = [*[b"GET", b"POST"] * 4, b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"PURGE"]
ODD_METHODS = [b"CONNECT", b"get", b"G-T", b"X", b"", b"GET ", b"PO ST", b"PRI", b"A" * 33]
TARGETS = [
    *[b"/", b"/a", b"/a/b?c=d&e=%2F"] * 3,
    b"/a%20b",
    b"//a",
    b"/?",
    b"/a?b?c",
    b"http://a/b",
    b"http://a",
    b"HTTP://a?b",
]
ODD_TARGETS = [
    b"http://b/",
    b"*",
    b"a:80",
    b"",
    b"/a b",
    b"/#x",
    b"/\x7f",
    b"/\xff",
    b"a",
    b"ftp://a/",
]
VERSIONS = [*[b"HTTP/1.1"] * 20, b"HTTP/1.0", b"HTTP/1.2"]
ODD_VERSIONS = [
    b"HTTP/2.0",
    b"HTTP/0.9",
    b"http/1.1",
    b"HTTP/1.",
    b"HTTP/11",
    b"HTTP/1.10",
    b"HTTP/ 1.1",
    b"",
    b"HTTP/1.1 ",
]
HOSTS = [*[b"Host: a"] * 8, b"host:a", b"Host: \ta\t", b"HOST: a"]
ODD_HOSTS = [
    b"Host: [::1]",
    b"Host: a:80",
    b"Host:",
    b"Host: a, b",
    b"Host: a b",
    b"Host : a",
    b" Host: a",
    b"Host: a/b",
    b"Host: a@b",
    b"Host: a:b",
]
FIELDS = [
    b"X: y",
    b"X:",
    b"X: \xe9",
    b"X:\ty",
    b"Accept: */*, a/b;q=0.5",
    b"Cookie: a=b; c=d",
    b"Connection: close",
    b"Connection: keep-alive",
    b"Connection: Close, X",
    b"Connection: x",
    b"Connection: upgrade\r\nUpgrade: h2c",
    b"Upgrade: websocket",
    b"Expect: 100-continue",
    b"TE: trailers",
    b"Trailer: X",
    b"Content-Length2: 5",
    b"X_y: z",
    b"Proxy-Connection: close",
]
ODD_FIELDS = [
    b"X : y",
    b"X",
    b": y",
    b"X\x00: y",
    b"X: a\x00b",
    b"X: a\rb",
    b"X: a\nb",
    b"X: y\r\n z",
    b"X: y\r\n\tz",
    b" X: y",
    b"X: \x0b",
    b"X: \x7f",
    b"X\xff: y",
    b"(X): y",
    b"X: a\r\r",
    b"Connection: \r\n close",
    b"Connection:close,keep-alive",
    b"Connection: close\x0b",
]
ODD_LENGTHS = [
    b"+%d",
    b"-%d",
    b"0x%x",
    b"%d, %d",
    b"%d,%d",
    b"0%d",
    b"%d ",
    b"\t%d",
    b"%d\x0b",
    b"%d.0",
    b"%d_0",
    b"",
    b"1" + b"0" * 30,
    b"%d;",
    b'"%d"',
    b"\xb2",
    b"%d %d",
    b"18446744073709551616",
]
CODINGS = [
    *[b"chunked"] * 40,
    b"Chunked",
    b"CHUNKED",
    b" chunked ",
    b"chunked,",
    b",chunked",
    b"identity",
    b"gzip, chunked",
    b"chunked, chunked",
    b"chunked, identity",
    b"chunked;q=1",
    b"xchunked",
    b'"chunked"',
    b"",
    b"\x0bchunked",
    b"chunke",
    b"chunked\x00",
    b"identity, chunked",
    b"chunked gzip",
]
SIZES = [
    *[b"%x"] * 12,
    b"%X",
    b"0%x",
    b"00000000000000000%x",
    b"0x%x",
    b"+%x",
    b"-%x",
    b"%x ",
    b" %x",
    b"%x\t",
    b"%x;a",
    b"%x;a=b",
    b'%x;a="b"',
    b"%x ;a=b",
    b"%x; a=b",
    b"%x;",
    b'%x;a="\r\n"',
    b"%x;\x00",
    b"%x;\xff",
    b"%x,a",
    b"1%x",
    b"%x_",
    b"",
    b"%xg",
    b"%x;a\rb",
    b"%x;a\nb",
    b"%x\x0b",
]
ENDS = [*[b"\r\n"] * 30, b"\n", b"\r", b"", b"\r\r\n", b"\n\r"]
TRAILERS = [
    *[b""] * 8,
    b"X: y\r\n",
    b"Content-Length: 9\r\n",
    b"X y\r\n",
    b"X: y\n",
    b" X: y\r\n",
    b"X : y\r\n",
]
SPLICES = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b" ",
    b"\t",
    b":",
    b",",
    b";",
    b"\x00",
    b"\x7f",
    b"\xff",
    b"0",
    b"1",
    b"a",
    b"chunked",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"0\r\n\r\n",
    b"Host: a\r\n",
    b'"',
    b"\x0b",
    b"%",
]


def case(random: Random) -> bytes:
    """One to three requests, each of which may be wrong somewhere."""
    data = b"".join(_request(random) for _ in range(random.choice((1, 1, 1, 2, 2, 3))))
    if random.random() < 0.3:
        data = _damaged(random, data)
    return data


def pieces(random: Random, data: bytes) -> list[bytes]:
    count = random.choice((0, 1, 1, 2, 3, 8))
    ends = sorted({0, len(data), *(random.randint(0, len(data)) for _ in range(count))})
    return [data[a:b] for a, b in zip(ends, ends[1:], strict=False)]  # noqa: RUF007


def _request(random: Random) -> bytes:
    """Each part is an odd one now and then: most requests have at most one of them."""

    def odd() -> bool:
        return random.random() < 0.03

    def end() -> bytes:
        return random.choice(ENDS) if odd() else b"\r\n"

    method = random.choice(ODD_METHODS if odd() else METHODS)
    version = random.choice(ODD_VERSIONS if odd() else VERSIONS)
    target = random.choice(ODD_TARGETS if odd() else TARGETS)
    line = b" ".join((method, target, version))
    fields = [random.choice(ODD_HOSTS if odd() else HOSTS)] * random.choice((0, *[1] * 60, 2))
    fields += [random.choice(ODD_FIELDS if odd() else FIELDS) for _ in range(random.randint(0, 3))]
    framing, body = _body(random)
    fields += framing
    random.shuffle(fields)
    before = random.choice((b"\r\n", b"\n", b"\r\n\r\n", b" ")) if odd() else b""
    return before + b"".join(each + end() for each in (line, *fields)) + end() + body


def _body(random: Random) -> tuple[list[bytes], bytes]:
    """How a body is announced, and the body."""
    payload = bytes(random.choices(b"ab\r\n0: \x00\xff", k=random.choice((0, 1, 3, 9, 40))))
    kind = random.random()
    if kind < 0.35:
        return [], b""
    if kind < 0.6:
        fields = [b"Content-Length: %d" % len(payload)]
        if random.random() < 0.15:
            form = random.choice(ODD_LENGTHS)
            odd = form.replace(b"%d", b"%d" % len(payload)).replace(b"%x", b"%x" % len(payload))
            fields = [b"Content-Length: " + odd, *fields[: random.choice((0, 0, 1))]]
        if random.random() < 0.03:
            fields.append(b"Transfer-Encoding: " + random.choice(CODINGS))
        return fields, payload
    fields = [b"Transfer-Encoding: " + random.choice(CODINGS)]
    if random.random() < 0.05:
        fields.append(random.choice((b"Transfer-Encoding: chunked", b"Content-Length: 5")))
    return fields, _chunks(random, payload)


def _chunks(random: Random, payload: bytes) -> bytes:
    size = random.choice((1, 3, 7, 50))
    parts = [payload[at : at + size] for at in range(0, len(payload), size)]
    data = b""
    for part in (*parts, b""):
        form = random.choice(SIZES) if random.random() < 0.1 else b"%x"
        sized = form.replace(b"%x", b"%x" % len(part)).replace(b"%X", b"%X" % len(part))
        end, after = (random.choice(ENDS) if random.random() < 0.1 else b"\r\n" for _ in range(2))
        data += sized + end + part + (after if part else b"")
    return data + random.choice(TRAILERS) + b"\r\n"


def _damaged(random: Random, data: bytes) -> bytes:
    for _ in range(random.choice((1, 1, 2, 3))):
        at, length = random.randint(0, len(data)), random.choice((0, 0, 1, 1, 2, 9))
        what = random.random()
        if what < 0.6:
            data = data[:at] + random.choice(SPLICES) + data[at + length :]
        elif what < 0.8:
            data = data[:at] + data[at + length :]
        elif what < 0.9:
            data = data[:at] + data[at : at + 12] * 2 + data[at + 12 :]
        else:
            data = data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]
    return data
