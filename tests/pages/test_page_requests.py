"""Pages at the level of HTTP: odd paths, queries, methods and cookies, and what is sent back."""

import re
from urllib.parse import urlsplit

import pytest

from laari.edge.pages.app import ROUTES
from tests.http.raw import Response, exchange
from tests.pages.forms import token_in
from tests.serving import Merchant, Service

SAME_ORIGIN = "Sec-Fetch-Site: same-origin"
FORM = "Content-Type: application/x-www-form-urlencoded"
OVER_HTTPS = "X-Forwarded-Proto: https"  # the tests' own machine is a trusted proxy
NO_TOKEN = "/pay/none"


def ask(
    service: Service, target: str, *fields: str, method: str = "GET", body: bytes = b""
) -> Response:
    host, port = service.origin.removeprefix("http://").split(":")
    lines = [f"{method} {target} HTTP/1.1", "Host: a", "Connection: close", *fields]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    request = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
    answer = exchange((host, int(port)), [request], count=1, heads=method == "HEAD")
    (response,) = answer.responses
    return response


@pytest.fixture
def link(shop: Merchant) -> str:
    """The path of a payment that can be paid."""
    return urlsplit(shop.payment()["payment_url"]).path


EXPECTED_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def test_every_reply_has_the_security_headers(service: Service, link: str) -> None:
    replies = [
        ask(service, link),
        ask(service, f"{link}/status"),
        ask(service, "/app"),
        ask(service, "/app/nothing"),
        ask(service, link, method="DELETE"),
        ask(service, f"{link}/pay", FORM, method="POST", body=b"a=b"),
    ]
    assert [reply.status for reply in replies] == [200, 200, 303, 404, 405, 403]
    for reply in replies:
        shown = {name: reply.headers[name] for name in EXPECTED_HEADERS}
        assert shown == EXPECTED_HEADERS
        assert reply.headers["content-security-policy"].startswith("default-src 'none'; ")
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["request-id"].startswith("req_")
        assert "strict-transport-security" not in reply.headers  # its public address is http


def test_media_types(service: Service, link: str) -> None:
    assert ask(service, link).headers["content-type"] == "text/html; charset=utf-8"
    status = ask(service, f"{link}/status")
    assert status.headers["content-type"] == "application/json"
    assert status.body == b'{"status":"pending"}'
    redirect = ask(service, "/app")
    assert "content-type" not in redirect.headers
    assert (redirect.headers["content-length"], redirect.body) == ("0", b"")
    assert redirect.headers["location"] == "/app/login?next=/app"


@pytest.mark.parametrize(
    "target",
    [
        "/pay",
        "/pay/",
        "/pay//status",
        "/pay/none/",
        "/pay/none/status/",
        "/pay/none/nothing",
        "/app/",
        "/app//login",
        "/app/login/",
        "/dashboard/",
        "/dashboard/login/",
        "/dashboard/nowhere/payments",
        "/static/nothing",
        "/static",
        "/app/%6cogin/",
        "/pay/none%2Fstatus",
        "/pay/%FF%FE",
        "/pay/%zz",
        "/pay/%",
        "/pay/%00",
        "/pay/%0D%0AX:y",
        "/pay/%C3%A9",
        "/pay/%3Fa",
        "/pay/%23a",
        "/pay/..",
        "/pay/../app",
        "/pay/" + "a" * 5000,
    ],
)
def test_a_path_that_is_no_page(service: Service, target: str) -> None:
    reply = ask(service, target)
    assert reply.status == 404
    assert b"</html>" in reply.body
    assert "location" not in reply.headers  # neither with nor without a slash


def test_an_encoded_path_is_the_same_page_and_an_encoded_slash_separates_nothing(
    service: Service, link: str
) -> None:
    assert ask(service, "/app/%6Cogin").status == 200
    assert ask(service, f"{link}/%73tatus").status == 200
    assert ask(service, f"{link}%2Fstatus").status == 404
    assert ask(service, f"{link}%2fstatus").status == 404


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/app/logout/everywhere", "/app/login?next=/app/logout/everywhere"),
        ("/app/requests/a%26b", "/app/login?next=/app/requests/a%26b"),
        ("/dashboard/live/payments", "/dashboard/login?next=%2Fdashboard%2Flive%2Fpayments"),
    ],
)
def test_where_a_redirect_leads(service: Service, target: str, location: str) -> None:
    reply = ask(service, target)
    assert (reply.status, reply.headers["location"]) == (303, location)


def test_a_page_that_only_takes_forms_leads_to_the_page_with_the_form(
    service: Service, link: str
) -> None:
    reply = ask(service, f"{link}/logout")
    assert (reply.status, reply.headers["location"]) == (303, link)


def test_a_newline_in_a_path_begins_no_header(service: Service) -> None:
    reply = ask(service, "/app/requests/%0D%0ASet-Cookie:x=y")
    assert reply.status == 303
    assert reply.headers["location"].startswith("/app/login?next=/app/requests/%0D%0A")
    assert "x=y" not in reply.headers.get("set-cookie", "")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("next=/app/keys", "/app/keys"),
        ("next=/app/keys&next=/app/requests", "/app/requests"),  # the last one counts
        ("next=%2Fapp%2Fkeys", "/app/keys"),
        ("next=/app/a+b", "/app"),  # a plus is a space, which no page has
        ("next=/app/a%2Bb", "/app"),
        ("next=", "/app"),
        ("next", "/app"),
        ("next=%FF", "/app"),
        ("next=%zz", "/app"),
        ("next=//evil.test", "/app"),
        ("%6Eext=/app/keys", "/app/keys"),
        ("a=b;next=/app/keys", "/app"),  # a semicolon separates nothing
        ("&&next=/app/keys&", "/app/keys"),
        ("=x&next=/app/keys", "/app/keys"),
    ],
)
def test_the_query(service: Service, query: str, wanted: str) -> None:
    reply = ask(service, f"/app/login?{query}")
    assert reply.status == 200
    found = re.search(rb'name="next" value="([^"]*)"', reply.body)
    assert found is not None
    assert found[1].decode() == wanted


def test_the_language_of_the_query_is_kept(service: Service, link: str) -> None:
    reply = ask(service, f"{link}?lang=en&lang=dv")
    assert b'lang="dv"' in reply.body
    assert "laari-lang=dv; HttpOnly; Max-Age=31536000; Path=/; SameSite=lax" in cookies_of(
        service, f"{link}?lang=dv"
    )
    assert b'lang="en"' in ask(service, f"{link}?lang=%FF").body


def cookies_of(service: Service, target: str, *fields: str) -> list[str]:
    """Every Set-Cookie line, as it stands there."""
    import socket

    host, port = service.origin.removeprefix("http://").split(":")
    lines = [f"GET {target} HTTP/1.0", "Host: a", *fields, "", ""]
    with socket.create_connection((host, int(port)), 10) as client:
        client.sendall("\r\n".join(lines).encode())
        received = b""
        while data := client.recv(65536):
            received += data
    head = received.partition(b"\r\n\r\n")[0].decode("latin-1")
    return [
        line.partition(": ")[2]
        for line in head.split("\r\n")
        if line.lower().startswith("set-cookie:")
    ]


def test_cookies_byte_for_byte(service: Service, link: str) -> None:
    token = r"[A-Za-z0-9_-]{43}"
    (plain,) = cookies_of(service, link)
    assert re.fullmatch(rf"laari-visit={token}; HttpOnly; Path=/; SameSite=lax", plain)
    (secure,) = cookies_of(service, link, OVER_HTTPS)
    pattern = rf"__Host-laari-visit={token}; HttpOnly; Path=/; SameSite=lax; Secure"
    assert re.fullmatch(pattern, secure)
    assert cookies_of(service, link, "Cookie: laari-visit=known") == []


def test_logging_out_takes_the_cookie_away(service: Service, link: str) -> None:
    cookie = "Cookie: laari=session"
    page = ask(service, link, cookie)
    body = f"form_token={token_in(page.body.decode())}".encode()
    reply = ask(service, f"{link}/logout", cookie, FORM, SAME_ORIGIN, method="POST", body=body)
    assert (reply.status, reply.headers["location"]) == (303, link)
    assert reply.headers["set-cookie"] == 'laari=""; HttpOnly; Max-Age=0; Path=/; SameSite=lax'


@pytest.mark.parametrize(
    "cookie",
    ["", "=", ";;;", "laari", "laari=\xff\xfe", 'laari="', "laari=" + "a" * 4000, "laari=\t"],
)
def test_odd_cookies_are_nobodys(service: Service, cookie: str) -> None:
    reply = ask(service, "/app", f"Cookie: {cookie}")
    assert (reply.status, reply.headers["location"]) == (303, "/app/login?next=/app")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "FOO"])
def test_a_method_that_no_page_has(service: Service, link: str, method: str) -> None:
    reply = ask(service, link, method=method)
    assert reply.status == 405
    assert sorted(reply.headers["allow"].split(", ")) == ["GET", "HEAD"]
    reply = ask(service, "/app/login", method=method)
    assert sorted(reply.headers["allow"].split(", ")) == ["GET", "HEAD", "POST"]
    assert ask(service, "/app/nothing", method=method).status == 404


def test_a_page_that_takes_no_form(service: Service, link: str) -> None:
    assert ask(service, link, FORM, method="POST", body=b"a=b").status == 405


def test_head_is_get_without_a_body(service: Service) -> None:
    filled = {"mode": "live", "action": "pay", "digest": "0"}
    for route in ROUTES:
        target = re.sub(r"\{(\w+)\}", lambda found: filled.get(found[1], "none"), route.path)
        get, head = ask(service, target), ask(service, target, method="HEAD")
        assert (head.status, head.body) == (get.status, b""), target
        # A page has a new token each time, of the same length.
        assert head.headers["content-length"] == get.headers["content-length"]
        for changing in ("date", "request-id", "set-cookie"):
            head.headers.pop(changing, None), get.headers.pop(changing, None)
        assert head.headers == get.headers


@pytest.mark.parametrize(
    ("fields", "body", "status"),
    [
        ([FORM, SAME_ORIGIN], b"form_token=x", 403),  # not this browser's
        ([FORM, SAME_ORIGIN], b"", 403),
        ([SAME_ORIGIN], b"form_token=x", 400),  # no form
        (["Content-Type: multipart/form-data; boundary=a", SAME_ORIGIN], b"--a--", 400),
        (["Content-Type: application/json", SAME_ORIGIN], b"{}", 400),
        ([FORM, SAME_ORIGIN], b"form_token=\xff", 400),
        ([FORM, SAME_ORIGIN], b"form_token=%FF", 400),
        ([FORM, SAME_ORIGIN], b"form_token", 400),
        ([FORM, SAME_ORIGIN], b"a=b&" * 51 + b"c=d", 400),
        ([FORM, SAME_ORIGIN], b"a=" + b"b" * 40_000, 400),
        ([FORM], b"form_token=x", 403),
        ([FORM, "Sec-Fetch-Site: cross-site"], b"form_token=x", 403),
        ([FORM, SAME_ORIGIN, "Origin: https://evil.test"], b"form_token=x", 403),
    ],
)
def test_forms_that_are_refused(
    service: Service, link: str, fields: list[str], body: bytes, status: int
) -> None:
    reply = ask(service, f"{link}/login", *fields, method="POST", body=body)
    assert reply.status == status
    assert b"</html>" in reply.body


def test_a_form_is_read_from_chunks_too(service: Service, link: str) -> None:
    cookie = "Cookie: laari=session"
    token = token_in(ask(service, link, cookie).body.decode())
    form = f"form_token={token}".encode()
    chunked = b"5\r\n" + form[:5] + b"\r\n%x\r\n" % len(form[5:]) + form[5:] + b"\r\n0\r\n\r\n"
    host, port = service.origin.removeprefix("http://").split(":")
    head = "\r\n".join(
        [
            f"POST {link}/logout HTTP/1.1",
            "Host: a",
            "Connection: close",
            "Transfer-Encoding: chunked",
            FORM,
            SAME_ORIGIN,
            cookie,
            "",
            "",
        ]
    ).encode()
    answer = exchange((host, int(port)), [head, chunked[:9], chunked[9:]], count=1)
    assert answer.statuses == [303]
