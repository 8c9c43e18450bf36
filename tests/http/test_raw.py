"""Hostile bytes straight at the service: one response per request, in the interface's shape."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.cases import Case, all_cases, send_case
from tests.http.raw import Answer, Response
from tests.sampling import some_of
from tests.serving import Merchant, Service, serving

CASES = {case.name: case for case in all_cases()}


@pytest.fixture(scope="module")
def service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(engine.migrated("http"), tmp_path_factory.mktemp("http")) as service:
        yield service


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    shop = service.merchant()
    shop.payment()
    return shop


def send(shop: Merchant, case: Case) -> Answer:
    host, port = shop.service.origin.removeprefix("http://").split(":")
    return send_case((host, int(port)), case, shop.secret_key)


def test_there_are_enough_cases() -> None:
    assert len(CASES) == len(all_cases()) >= 80


@pytest.mark.parametrize("name", some_of(CASES, 4))
def test_one_response_per_request(shop: Merchant, name: str) -> None:
    case = CASES[name]
    answer = send(shop, case)
    assert tuple(answer.statuses) == case.statuses
    assert answer.closed == case.closes
    for response in answer.responses:
        check_shape(response)
    assert shop.service.process.poll() is None


def check_shape(response: Response) -> None:
    assert response.headers["request-id"].startswith("req_")
    assert "date" in response.headers
    if response.status >= 400 and response.body and "json" in response.headers["content-type"]:
        error = response.json()["error"]
        assert error if isinstance(error, str) else error["code"] and error["message"]


def test_faults_have_the_shape_of_the_interface(shop: Merchant) -> None:
    def fault(path: str) -> Response:
        request = f"GET {path} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".encode()
        return send(shop, Case(path, [request], (400,), closes=True)).responses[0]

    assert fault("/merchant/payments").json()["error"]["code"] == "invalid_request"
    assert "service-version" in fault("/merchant/payments").headers
    assert fault("/merchant/oauth/token").json()["error"] == "invalid_request"
    wallet = fault("/wallet/balance").json()
    assert wallet["success"] is False
    assert wallet["error"]["code"] == "invalid_request"
    assert fault("/pay/x").headers["content-type"].startswith("text/plain")
    for path in ("/merchant/payments", "/merchant/oauth/token", "/wallet/balance", "/pay/x"):
        assert fault(path).headers["cache-control"] == "no-store"
        assert fault(path).headers["connection"] == "close"


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/merchant", "merchant"),
        ("/merchant/payments", "merchant"),
        ("/merchant/oauth/token", "token"),
        ("/merchant/oauth%2Ftoken", "merchant"),
        ("/%6derchant/oauth/token", "token"),
        ("/wallet", "wallet"),
        ("/wallet/balance?limit=1", "wallet"),
        ("/wallet/" + "x" * 70_000, "wallet"),
        ("/pay/x", "page"),
    ],
)
def test_a_head_too_large_is_refused_in_the_shape_of_the_interface(
    shop: Merchant, path: str, shape: str
) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: a\r\nX: {'y' * 70_000}\r\n\r\n".encode()
    response = send(shop, Case(path, [request], (431,), closes=True)).responses[0]
    assert response.status == 431
    assert _shape(response) == shape


@pytest.mark.parametrize(
    ("start", "shape"),
    [
        (b"GET /wallet/balance HTTP/1.1\n", "wallet"),
        (b"POST /merchant/oauth/token HTTP/1.1\r\nHost: a\n", "token"),
        (b"GET /wal\n", "page"),
        (b"\n", "merchant"),
    ],
)
def test_lines_without_their_end_are_refused_in_the_shape_of_the_interface(
    shop: Merchant, start: bytes, shape: str
) -> None:
    response = send(shop, Case("newline", [start], (400,), closes=True)).responses[0]
    assert _shape(response) == shape


def _shape(response: Response) -> str:
    if "json" not in response.headers["content-type"]:
        return "page"
    shown = response.json()
    if shown.get("success") is False:
        return "wallet"
    if isinstance(shown["error"], str):
        return "token"
    assert "service-version" in response.headers
    return "merchant"


def test_too_many_parameters_are_refused_in_the_shape_of_the_interface(shop: Merchant) -> None:
    def fault(path: str) -> Response:
        request = f"GET {path}?{'a=1&' * 15_000} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        return send(shop, Case(path, [request], (400,), closes=True)).responses[0]

    assert fault("/merchant/payments").json()["error"]["code"] == "invalid_request"
    assert fault("/merchant/oauth/token").json()["error"] == "invalid_request"
    assert fault("/wallet/transactions").json()["success"] is False
    assert fault("/dashboard").headers["content-type"].startswith("text/plain")


def test_too_much_header_says_so(shop: Merchant) -> None:
    answer = send(shop, CASES["a head over 64 KiB"])
    assert answer.responses[0].json()["error"]["code"] == "request_too_large"


def test_what_strangers_send_is_logged_in_few_lines(shop: Merchant) -> None:
    log = Path(shop.service.env["LAARI_DATA_DIR"], "serve.log")
    before = log.read_text().count("\n")
    for _ in range(100):
        send(shop, CASES["no host"])
    assert shop.get("/payments").status_code == 200
    assert log.read_text().count("\n") - before <= 3
