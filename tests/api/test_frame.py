"""What holds for every request of the merchant interface, before any operation."""

import base64
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.serving import Merchant, Service, serving

VERSION = "2027-07-01"
CREATE = {"reference": "r", "amount": 1}


def error(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_every_answer_is_uncacheable_and_names_the_version(shop: Merchant) -> None:
    payment = shop.payment()
    for response in (
        shop.get(f"/payments/{payment['id']}"),
        shop.get("/nowhere"),
        shop.http.delete("/payments"),
        shop.post("/payments", {}),
        httpx.get(payment["qr_url"]),
        shop.http.get("/payments", headers={"X-API-Key": "wrong"}),
    ):
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Service-Version"] == VERSION


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_base_address_itself_answers_as_the_interface(service: Service, slash: str) -> None:
    response = httpx.get(f"{service.origin}/merchant{slash}")
    assert error(response) == (404, "not_found")
    assert response.headers["Service-Version"] == VERSION


@pytest.mark.parametrize("path", ["/", "", "/nowhere", "/payments/", "/payments/x/y", "//payments"])
def test_unknown_routes_need_no_credentials(service: Service, path: str) -> None:
    response = httpx.get(f"{service.origin}/merchant/nowhere{path}")
    assert error(response) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/payments", "GET, POST"),
        ("PUT", "/payments/pay_x", "GET"),
        ("HEAD", "/payments", "GET, POST"),
        ("OPTIONS", "/payments", "GET, POST"),
        ("GET", "/payments/pay_x/cancel", "POST"),
        ("HEAD", "/payments/pay_x", "GET"),
        ("HEAD", "/sandbox/clock", "POST"),
        ("POST", "/public/qr/x", "GET, HEAD"),
        ("PATCH", "/sandbox/clock", "POST"),
    ],
)
def test_wrong_methods_need_no_credentials(
    service: Service, method: str, path: str, allowed: str
) -> None:
    response = httpx.request(method, f"{service.origin}/merchant{path}")
    assert response.status_code == 405
    assert response.headers["Allow"] == allowed
    if method != "HEAD":
        assert response.json()["error"]["code"] == "method_not_allowed"


def test_head_on_the_public_qr_is_get_without_the_image(shop: Merchant) -> None:
    address = shop.payment()["qr_url"]
    whole, head = httpx.get(address), httpx.head(address)
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["Content-Length"]) == len(whole.content) > 100
    different = {"date", "request-id"}
    assert {name: value for name, value in head.headers.items() if name not in different} == {
        name: value for name, value in whole.headers.items() if name not in different
    }
    missing = httpx.head(f"{address}x")
    assert (missing.status_code, missing.content) == (404, b"")
    wrong_version = httpx.head(address, headers={"Service-Version": "x"})
    assert wrong_version.status_code == 400
    # One connection: no body of an answer to HEAD is left behind to be taken for the next answer.
    with httpx.Client() as client:
        answers = [client.request(method, address) for method in ("HEAD", "GET", "HEAD", "GET")]
    assert [len(answer.content) for answer in answers] == [0, len(whole.content)] * 2


def test_the_version_header(shop: Merchant) -> None:
    assert shop.http.get("/payments", headers={"Service-Version": VERSION}).status_code == 200
    for wrong in ("", "2020-01-01", "latest", f"{VERSION}, {VERSION}"):
        response = shop.http.get("/payments", headers={"Service-Version": wrong})
        assert error(response) == (400, "unsupported_api_version")
        assert VERSION in response.json()["error"]["message"]
        assert response.headers["Service-Version"] == VERSION
    qr = httpx.get(shop.payment()["qr_url"], headers={"Service-Version": "x"})
    assert error(qr) == (400, "unsupported_api_version")


def test_the_version_is_checked_before_the_credentials(service: Service) -> None:
    response = httpx.get(f"{service.origin}/merchant/payments", headers={"Service-Version": "1"})
    assert error(response) == (400, "unsupported_api_version")


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def call(service: Service, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.get(f"{service.origin}/merchant/payments", headers=named)


def test_api_key_and_basic(service: Service, shop: Merchant) -> None:
    assert call(service, X_API_Key=shop.secret_key).status_code == 200
    assert call(service, Authorization=basic(shop.id, shop.secret_key)).status_code == 200
    assert call(service, Authorization=f"bAsIc {basic(shop.id, shop.secret_key)[6:]}").is_success


@pytest.mark.parametrize(
    "header",
    ["", "Basic", "Basic !!!", "Basic " + base64.b64encode(b"nocolon").decode(), "Digest x", "x"],
)
def test_bad_authorization_headers(service: Service, header: str) -> None:
    response = call(service, Authorization=header)
    assert error(response) == (401, "unauthorized")
    assert "Bearer" in response.headers["WWW-Authenticate"]
    assert "Basic" in response.headers["WWW-Authenticate"]


def test_wrong_credentials(service: Service, shop: Merchant) -> None:
    other = service.merchant()
    for headers in (
        {},
        {"X_API_Key": ""},
        {"X_API_Key": "wrong"},
        {"X_API_Key": shop.secret_key.swapcase()},
        {"X_API_Key": f"{shop.id}:{shop.secret_key}"},
        {"Authorization": basic(other.id, shop.secret_key)},
        {"Authorization": basic(shop.id.upper(), shop.secret_key)},
        {"Authorization": basic(shop.id, "wrong")},
        {"Authorization": basic("", shop.secret_key)},
    ):
        assert error(call(service, **headers)) == (401, "unauthorized"), headers


def test_the_selected_method_is_the_only_one_tried(service: Service, shop: Merchant) -> None:
    good_basic = basic(shop.id, shop.secret_key)
    assert call(service, Authorization="Bearer x", X_API_Key=shop.secret_key).status_code == 401
    assert call(service, Authorization="Bearer", X_API_Key=shop.secret_key).status_code == 401
    assert call(service, Authorization=good_basic, X_API_Key="wrong").status_code == 401
    assert call(service, Authorization="Basic x", X_API_Key=shop.secret_key).status_code == 200
    assert call(service, Authorization="Digest x", X_API_Key=shop.secret_key).status_code == 200


def test_an_inactive_merchant_is_refused_from_the_next_request(
    service: Service, shop: Merchant
) -> None:
    assert shop.get("/payments").status_code == 200
    service.execute("UPDATE merchants SET active = false WHERE id = $1", shop.id)
    assert error(shop.get("/payments")) == (401, "unauthorized")


def raw(shop: Merchant, content: bytes, **headers: str) -> httpx.Response:
    named = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return shop.http.post("/payments", content=content, headers=named)


DEEP = b'{"reference": "r", "amount": 1, "metadata": ' + b"[" * 100 + b"]" * 100 + b"}"
BAD_JSON: list[bytes] = [
    b"",
    b"{",
    b"nonsense",
    b'{"a": 1,}',
    b'{"reference": "r", "amount": NaN}',
    b'{"reference": "r", "amount": Infinity}',
    b'{"reference": "r", "reference": "s", "amount": 1}',
    b'{"reference": "r", "amount": 1, "metadata": {"a": "1", "a": "2"}}',
    b'{"reference": "\\ud800", "amount": 1}',
    b'{"reference": "\xff", "amount": 1}',
    b'\xef\xbb\xbf{"reference": "r", "amount": 1}',
    '{"reference": "r", "amount": 1}'.encode("utf-16"),
    DEEP,
    b"[" * 100_000,
]


@pytest.mark.parametrize("content", BAD_JSON, ids=lambda content: content[:24])
def test_what_is_not_json(shop: Merchant, content: bytes) -> None:
    assert error(raw(shop, content)) == (400, "invalid_json")


@pytest.mark.parametrize("content", [b"[]", b"null", b'"text"', b"5", b"true"])
def test_json_that_is_no_object(shop: Merchant, content: bytes) -> None:
    assert error(raw(shop, content)) == (400, "invalid_request")


@pytest.mark.parametrize(
    "content",
    [
        b'{"reference": "r", "amount": ' + b"9" * 5000 + b"}",
        b'{"reference": "r", "amount": 1e999}',
        b'{"reference": "a\\u0000b", "amount": 1}',
        b'{"reference": "r", "amount": 1, "' + b"k" * 100_000 + b'": 1}',
        b'{"reference": "r", "amount": 1, "metadata": {"\\u0000": "x"}}',
        b'{"reference": "r", "amount": 1, "title": "' + b"x" * 400_000 + b'"}',
    ],
    ids=lambda content: content[:30],
)
def test_hostile_values_are_refused(shop: Merchant, content: bytes) -> None:
    response = raw(shop, content)
    assert error(response) == (400, "invalid_request")
    assert len(response.content) < 2_000


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "json"])
def test_other_content_types_are_refused(shop: Merchant, kind: str) -> None:
    assert error(raw(shop, b"{}", Content_Type=kind)) == (400, "invalid_request")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON ;x=y"])
def test_parameters_of_the_content_type_are_fine(shop: Merchant, kind: str) -> None:
    body = b'{"reference": "r", "amount": 1}'
    assert raw(shop, body, Content_Type=kind).status_code == 201


def test_bodies_up_to_512_kib(shop: Merchant) -> None:
    head = b'{"reference": "r", "amount": 1}'
    assert raw(shop, head.ljust(512 * 1024)).status_code == 201
    assert error(raw(shop, head.ljust(512 * 1024 + 1))) == (400, "request_too_large")
    assert error(raw(shop, b" " * 10_000_000)) == (400, "request_too_large")


def test_an_endless_body_is_answered_without_reading_it(shop: Merchant) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(200):
            yield b" " * 65_536

    response = shop.http.post(
        "/payments", content=endless(), headers={"Content-Type": "application/json"}
    )
    assert error(response) == (400, "request_too_large")


def test_a_huge_declared_length_is_answered_at_once(service: Service, shop: Merchant) -> None:
    host, port = service.origin.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(
            b"POST /merchant/payments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"X-API-Key: " + shop.secret_key.encode() + b"\r\nContent-Length: 99999999999\r\n\r\n{"
        )
        answer = b""
        while b"}}" not in answer:  # the headers may come before the body
            answer += connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"request_too_large" in answer


@pytest.mark.parametrize(
    "lines",
    [
        b"X-API-Key: \xff\xfe\r\n",
        b"X-API-Key: " + b"k" * 60_000 + b"\r\n",
        b"Authorization: Basic " + b"=" * 50_000 + b"\r\n",
        b"Authorization: Bearer \x80\x81\r\n",
        b"Authorization: Basic \r\nAuthorization: Bearer x\r\n",
        b"X-API-Key: a\r\nX-API-Key: b\r\n",
        b"Service-Version: \xff\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Transfer-Encoding: nonsense\r\n",
        b"Content-Length: abc\r\n",
        b": empty\r\n",
        b"X-Folded: a\r\n b\r\n",
        b"X: " + b"v" * 200_000 + b"\r\n",
    ],
    ids=lambda lines: repr(lines[:40]),
)
def test_header_tricks_never_cause_a_server_error(service: Service, lines: bytes) -> None:
    host, port = service.origin.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(b"POST /merchant/payments HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\n{}")
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(4096)
    # A refusal, or a connection closed without a word; nothing else.
    assert not answer or answer.startswith(b"HTTP/1.1 4"), answer
    assert httpx.get(f"{service.origin}/healthz").status_code == 200


@pytest.fixture(scope="module")
def strict(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that asks for HTTPS, trusts the loopback as its proxy, and limits rates."""
    settings: dict[str, Any] = {
        "LAARI_PUBLIC_URL": "https://pay.example",
        "LAARI_TRUSTED_PROXIES": "127.0.0.0/8",
        "LAARI_MERCHANT_RATE_SANDBOX": "5",
    }
    with serving(service.dsn, tmp_path_factory.mktemp("strict"), **settings) as strict:
        yield strict


def test_https_is_required(strict: Service) -> None:
    shop = strict.merchant()
    assert error(shop.get("/payments")) == (403, "invalid_request")
    assert error(shop.get("/nowhere")) == (404, "not_found")
    through_proxy = {"X-Forwarded-Proto": "https"}
    assert shop.http.get("/payments", headers=through_proxy).status_code == 200
    twice = {"X-Forwarded-Proto": "https, http"}
    assert error(shop.http.get("/payments", headers=twice)) == (403, "invalid_request")
    created = shop.http.post("/payments", json=CREATE, headers=through_proxy).json()["data"]
    assert created["payment_url"].startswith("https://pay.example/pay/")


def test_a_forwarded_header_counts_only_from_a_trusted_proxy(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with serving(
        service.dsn, tmp_path_factory.mktemp("direct"), LAARI_REQUIRE_HTTPS="on"
    ) as direct:
        shop = direct.merchant()
        response = shop.http.get("/payments", headers={"X-Forwarded-Proto": "https"})
        assert error(response) == (403, "invalid_request")


def test_the_request_rate_is_limited_per_merchant(strict: Service) -> None:
    shop, other = strict.merchant(), strict.merchant()
    proxied = {"X-Forwarded-Proto": "https"}
    statuses = [shop.http.get("/payments", headers=proxied).status_code for _ in range(20)]
    assert statuses[:5] == [200] * 5
    assert 429 in statuses
    limited = next(
        r for r in (shop.http.get("/payments", headers=proxied) for _ in range(20)) if r.is_error
    )
    assert error(limited) == (429, "rate_limited")
    assert int(limited.headers["Retry-After"]) >= 1
    assert other.http.get("/payments", headers=proxied).status_code == 200
