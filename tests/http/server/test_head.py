"""The head of a request: what is one, and what is refused because it could be read in two ways."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.http.head import (
    CHUNKED,
    MAX_ITEMS,
    MAX_PARAMETERS,
    MAX_TARGET_BYTES,
    Fault,
    Head,
    read_head,
)

MOST = 100
GET = b"GET /a HTTP/1.1\r\nHost: shop.example"


def read(head: bytes) -> Head:
    found = read_head(head, MOST)
    assert isinstance(found, Head), found
    return found


def fault(head: bytes) -> Fault:
    found = read_head(head, MOST)
    assert isinstance(found, Fault), found
    return found


def test_an_ordinary_head() -> None:
    head = read(
        b"POST /merchant/payments?a=1&b=%2F HTTP/1.1\r\nHost: shop.example:8000\r\n"
        b"X-API-Key: \t sk_1 \r\nContent-Length: 12\r\nX-Empty:\r\nx-api-key: two"
    )
    assert head.method == "POST"
    assert head.path == "/merchant/payments"
    assert head.query == b"a=1&b=%2F"
    assert head.length == 12
    assert head.keep_alive
    assert head.fields.pairs == [
        (b"host", b"shop.example:8000"),
        (b"x-api-key", b"sk_1"),
        (b"content-length", b"12"),
        (b"x-empty", b""),
        (b"x-api-key", b"two"),
    ]


def test_the_same_fields_are_read_once() -> None:
    first = read(b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close")
    again = read_head(
        b"GET /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close", MOST, first.fields
    )
    assert isinstance(again, Head)
    assert (again.method, again.path, again.length, again.keep_alive) == ("GET", "/b", 3, False)
    assert again.fields is first.fields
    other = read_head(
        b"GET /b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nConnection: close", MOST, first.fields
    )
    assert isinstance(other, Head)
    assert other.length == 4
    # The version and the target are looked at anew.
    chunked = read(b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked").fields
    assert isinstance(read_head(b"GET / HTTP/1.0" + chunked.raw, MOST, chunked), Fault)
    assert isinstance(read_head(b"GET http://b/ HTTP/1.1" + chunked.raw, MOST, chunked), Fault)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/a%20b", "/a b"),
        (b"/payments/ID%2Fcancel", "/payments/ID%2Fcancel"),
        (b"/payments/ID%2fcancel", "/payments/ID%2Fcancel"),
        (b"/a%2F%2e%2E", "/a%2F.."),
        (b"/%E0%B4%85", "/അ"),
        (b"/%zz", "/%zz"),
        (b"//a", "//a"),
        (b"http://shop.example/a", "/a"),
        (b"HTTPS://Shop.Example", "/"),
        (b"http://shop.example?x=1", "/"),
    ],
)
def test_paths(target: bytes, path: str) -> None:
    assert read(b"GET %b HTTP/1.1\r\nHost: shop.example" % target).path == path


@pytest.mark.parametrize("method", [b"PURGE", b"get", b"M-SEARCH", b"OPTIONS", b"X" * 32])
def test_any_method_is_a_method(method: bytes) -> None:
    assert read(b"%b / HTTP/1.1\r\nHost: a" % method).method == method.decode()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"GET",
        b"GET /",
        b"GET / HTTP/1.1 ",
        b" GET / HTTP/1.1",
        b"GET  / HTTP/1.1",
        b"GET\t/\tHTTP/1.1",
        b"GET / HTTP/2.0",
        b"GET / HTTP/0.9",
        b"GET / HTTP/11",
        b"GET / http/1.1",
        b"PRI * HTTP/2.0",
        b"OPTIONS * HTTP/1.1",
        b"GET * HTTP/1.1",
        b"CONNECT a:443 HTTP/1.1",
        b"GET a HTTP/1.1",
        b"GET ftp://a/ HTTP/1.1",
        b"GET /a#b HTTP/1.1",
        b"GET /\x00 HTTP/1.1",
        b"GET /\xc3\xa9 HTTP/1.1",
        b"G@T / HTTP/1.1",
        b"G" * 33 + b" / HTTP/1.1",
        b"GET /a b HTTP/1.1",
        b"GET http:///a HTTP/1.1",
    ],
)
def test_a_malformed_request_line_is_refused(line: bytes) -> None:
    assert fault(line + b"\r\nHost: a").refusal.status == 400


@pytest.mark.parametrize(
    "field",
    [
        b"X",
        b"X y: z",
        b"X : y",
        b": y",
        b" X: y",
        b"\tX: y",
        b"X: a\r\n b",
        b"X: a\nY: b",
        b"X: a\rb",
        b"X: \x00",
        b"X: \x7f",
        b"X: \x1b",
        b"X\x00: a",
        b"X(y): a",
        b"X\xe9: a",
        b"",
    ],
)
def test_a_malformed_field_is_refused(field: bytes) -> None:
    found = fault(GET + b"\r\n" + field)
    assert found.refusal.status == 400
    assert found.path == "/a"


@pytest.mark.parametrize(
    "hosts",
    [
        (),
        (b"a", b"a"),
        (b"a", b"b"),
        (b"",),
        (b"a b",),
        (b"a/b",),
        (b"a@b",),
        (b"a:b",),
        (b"[::::]",),
        (b"[1.2.3.4]",),
        (b"[::1]x",),
        (b"a:65536",),
        (b"[::1]:99999",),
        (b"a:123456",),
        (b"[::1",),
        (b"::1",),
        (b"http://a",),
        (b"a, b:1, c d",),
        (b"\xe9",),
    ],
)
def test_a_host_that_is_not_one_is_refused(hosts: tuple[bytes, ...]) -> None:
    head = b"GET / HTTP/1.1" + b"".join(b"\r\nHost: " + host for host in hosts)
    assert fault(head).refusal.status == 400


@pytest.mark.parametrize(
    "host", [b"a", b"a.b-c:65535", b"[::1]:8000", b"127.0.0.1", b"a:", b"xn--a_b"]
)
def test_hosts(host: bytes) -> None:
    read(b"GET / HTTP/1.1\r\nHost: " + host)


def test_a_target_and_a_host_that_differ() -> None:
    assert fault(b"GET http://a/ HTTP/1.1\r\nHost: b").refusal.status == 400


def test_http_1_0_may_leave_the_host_out_and_is_closed() -> None:
    head = read(b"GET / HTTP/1.0\r\nConnection: keep-alive")
    assert not head.keep_alive
    assert fault(b"GET / HTTP/1.0\r\nHost: a\r\nHost: b").refusal.status == 400


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ((b"Content-Length: 1", b"Content-Length: 1"), 400),
        ((b"Content-Length: 1", b"Content-Length: 2"), 400),
        ((b"Content-Length: 1, 1",), 400),
        ((b"Content-Length: +1",), 400),
        ((b"Content-Length: -1",), 400),
        ((b"Content-Length: 0x1",), 400),
        ((b"Content-Length: 1_0",), 400),
        ((b"Content-Length: ",), 400),
        ((b"Content-Length: \xb2",), 400),
        ((b"Content-Length: " + b"9" * 19,), 400),
        ((b"Content-Length: 1", b"Transfer-Encoding: chunked"), 400),
        ((b"Transfer-Encoding: chunked", b"Content-Length: 1"), 400),
        ((b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), 400),
        ((b"Transfer-Encoding: chunked, chunked",), 400),
        ((b"Transfer-Encoding: chunked, identity",), 400),
        ((b"Transfer-Encoding: identity",), 400),
        ((b"Transfer-Encoding: xchunked",), 400),
        ((b"Transfer-Encoding: ",), 400),
        ((b'Transfer-Encoding: "chunked"',), 400),
        ((b"Transfer-Encoding: chunked;q=1",), 400),
        ((b"Transfer-Encoding: gzip, chunked",), 501),
        ((b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked"), 501),
    ],
)
def test_a_body_whose_length_is_in_doubt_is_refused(fields: tuple[bytes, ...], status: int) -> None:
    assert fault(GET + b"".join(b"\r\n" + each for each in fields)).refusal.status == status


def test_chunked() -> None:
    assert read(GET + b"\r\nTransfer-Encoding: Chunked").length == CHUNKED
    assert fault(b"GET / HTTP/1.0\r\nTransfer-Encoding: chunked").refusal.status == 400


def test_an_upgrade_changes_nothing() -> None:
    head = read(
        GET + b"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nContent-Length: 5"
    )
    assert head.length == 5
    assert head.keep_alive


def test_connection_close_in_a_list() -> None:
    assert not read(GET + b"\r\nConnection: x,\tClose").keep_alive
    assert read(GET + b"\r\nConnection: closed").keep_alive


def test_a_hundred_fields_and_no_more() -> None:
    read(GET + b"\r\nX: y" * 99)
    found = fault(GET + b"\r\nX: y" * 100)
    assert found.refusal.status == 431
    assert found.path == "/a"


def test_the_address_is_bounded() -> None:
    longest = b"/merchant/" + b"a" * (MAX_TARGET_BYTES - 10)
    read(b"GET %b HTTP/1.1\r\nHost: a" % longest)
    for target in (longest + b"a", b"http://a" + longest, b"/merchant/a?" + longest):
        found = fault(b"GET %b HTTP/1.1\r\nHost: a" % target)
        assert found.refusal.code == "invalid_request"
        assert found.path is not None
        assert found.path.startswith("/merchant/a")  # the response has the interface's shape


def test_the_number_of_parameters_is_bounded() -> None:
    most = b"&".join([b"a=1"] * MAX_PARAMETERS)
    assert read(b"GET /wallet/usage?%b HTTP/1.1\r\nHost: a" % most).query == most
    found = fault(b"GET /wallet/usage?%b& HTTP/1.1\r\nHost: a" % most)
    assert (found.refusal.code, found.path) == ("invalid_request", "/wallet/usage")
    read(b"GET /%b HTTP/1.1\r\nHost: a" % (b"&" * MAX_PARAMETERS))  # a path has none


@pytest.mark.parametrize("name", [b"Connection", b"Transfer-Encoding"])
def test_lists_are_bounded(name: bytes) -> None:
    most = b", ".join([b"x"] * (MAX_ITEMS - 1))
    start = GET + b"\r\n" + name + b": " + most
    if name == b"Connection":
        assert not read(start + b", close").keep_alive
    else:
        assert fault(start + b", chunked").refusal.status == 501
    found = fault(start + b", x, chunked")
    assert "20 items" in found.refusal.message


@pytest.mark.parametrize(
    "head",
    [
        GET + b"\r\nX:" + b" " * 65_000 + b"\x00",
        GET + b"\r\n" + b"a" * 65_000,
        GET + b"\r\nHost" * 10_000,
        b"GET /" + b"%2F" * 20_000 + b" HTTP/1.1\r\nHost: a",
        b"G" * 65_000,
        GET + b"\r\nConnection: " + b"," * 65_000,
        GET + b"\r\nTransfer-Encoding: " + b" ," * 32_000,
    ],
)
def test_no_head_takes_long_to_read(head: bytes) -> None:
    took = []
    for _ in range(5):
        started = time.process_time()
        read_head(head, MOST)
        took.append(time.process_time() - started)
    assert min(took) < 0.004


@given(st.binary(max_size=200))
def test_whatever_comes_is_a_head_or_a_fault(tail: bytes) -> None:
    for head in (tail, GET + b"\r\n" + tail, GET + tail):
        assert isinstance(read_head(head, MOST), Head | Fault)


@pytest.mark.parametrize("target", [b"a:443", b"/a", b"http://shop.example/a", b"*"])
def test_connect_is_refused_with_any_target(target: bytes) -> None:
    """A proxy in front takes what follows for a tunnel."""
    assert fault(b"CONNECT " + target + GET.removeprefix(b"GET /a")).refusal.status == 400
