"""What every answer carries: no guessing of types, and https for good where the service has it."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.serving import Merchant, Service, serving

ONE_YEAR = "max-age=31536000"


@pytest.fixture(scope="module")
def https(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose public address is https; a header stands for the proxy in front."""
    settings = {
        "LAARI_PUBLIC_URL": "https://pay.example.com",
        "LAARI_TRUSTED_PROXIES": "127.0.0.1",
    }
    directory = tmp_path_factory.mktemp("guards")
    with serving(engine.migrated("guards"), directory, **settings) as service:
        yield service


def local(service: Service, url: str) -> str:
    return url.replace("https://pay.example.com", service.origin)


def answers(shop: Merchant, **headers: str) -> dict[str, httpx.Response]:
    """An answer of each kind that there is."""
    service = shop.service
    shop.http.headers.update(headers)
    payment = shop.post("/payments", {"reference": "guarded", "amount": 100}).json()["data"]
    key = {"X-API-Key": shop.secret_key, **headers}
    found = {}
    with httpx.Client(base_url=service.origin, headers=headers) as client:
        page = client.get(local(service, payment["payment_url"]))
        asset = page.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
        for path in (
            "/",
            "/docs",
            "/docs/assets/reference.js",
            "/openapi.json",
            "/nowhere",
            "/healthz",
            "/readyz",
            "/metrics",
            asset,
            "/static/none",
            "/app",
            "/app/login",
            "/dashboard",
            "/dashboard/login",
            "/pay/none",
            "/wallet/balance",
            "/merchant/none",
        ):
            found[path] = client.get(path)
        found["page"] = page
        found["qr"] = client.get(local(service, payment["qr_url"]))
        found["unauthorized"] = client.get("/merchant/payments")
        found["list"] = client.get("/merchant/payments", headers=key)
        found["not allowed"] = client.delete("/app/login")
        found["forged form"] = client.post("/app/login", data={})
        found["token"] = client.post("/merchant/oauth/token")
        found["too large"] = client.post("/merchant/payments", content=b"x" * 600_000, headers=key)
        found["head"] = client.head("/docs")
    return found


def test_every_answer_forbids_guessing_and_asks_for_https(https: Service) -> None:
    found = answers(https.merchant(), **{"X-Forwarded-Proto": "https"})
    assert found["qr"].headers["content-type"].startswith("image/")
    assert {response.status_code for response in found.values()} >= {200, 303, 401, 404, 405}
    for name, response in found.items():
        assert response.headers.get_list("x-content-type-options") == ["nosniff"], name
        assert response.headers.get_list("strict-transport-security") == [ONE_YEAR], name


def test_what_is_no_request_is_guarded_too(https: Service) -> None:
    address = ("127.0.0.1", int(https.origin.rpartition(":")[2]))
    with socket.create_connection(address, 10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nBad Header\r\n\r\n")
        answer = b""
        while chunk := client.recv(4096):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"\r\nx-content-type-options: nosniff\r\n") == 1
    assert answer.count(f"\r\nstrict-transport-security: {ONE_YEAR}\r\n".encode()) == 1


def test_without_https_nobody_is_bound_to_it(service: Service) -> None:
    for name, response in answers(service.merchant()).items():
        assert response.headers.get_list("x-content-type-options") == ["nosniff"], name
        assert "strict-transport-security" not in response.headers, name


def test_addresses_that_are_only_read_say_so(shop: Merchant) -> None:
    link = shop.post("/payments", {"reference": "read", "amount": 100}).json()["data"]
    with httpx.Client(base_url=shop.service.origin) as client:
        page = client.get(local(shop.service, link["payment_url"])).text
        asset = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
        for path in (
            "/",
            "/healthz",
            "/readyz",
            shop.service.metrics_url,
            "/docs",
            "/openapi.json",
            asset,
        ):
            for method in ("POST", "DELETE", "BREW"):
                found = client.request(method, path)
                assert (found.status_code, found.headers["allow"]) == (405, "GET, HEAD"), path
            assert client.head(path).status_code < 400
