"""The wallet interface: who may ask, for what, and how."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import httpx
import pytest

from tests.api.purses import LIMIT, Purse, error
from tests.serving import Merchant, Service, serving


@pytest.mark.parametrize("path", ["/balance", "/usage/", "/transactions", "/nowhere", "", "/"])
def test_everything_needs_a_key(shop: Merchant, purse: Purse, path: str) -> None:
    address = f"{shop.service.origin}/wallet{path}"
    with httpx.Client() as stranger:
        for headers in (
            {},
            {"X-API-Key": ""},
            {"X-API-Key": "wk_wrong"},
            {"X-API-Key": shop.secret_key},  # a merchant's
            {"Authorization": f"Bearer {purse.key}"},
        ):
            for method in ("GET", "POST", "DELETE"):
                response = stranger.request(method, address, headers=headers)
                assert error(response) == (401, "unauthorized")
                assert "ApiKey" in response.headers["WWW-Authenticate"]
                assert response.headers["Cache-Control"] == "no-store"


def test_a_key_counts_only_as_it_is(purse: Purse) -> None:
    for key in (purse.key[:-1], purse.key.swapcase(), f"Bearer {purse.key}", f"{purse.key},"):
        assert purse.http.get("/balance", headers={"X-API-Key": key}).status_code == 401
    twice = [("X-API-Key", purse.key), ("X-API-Key", purse.key)]
    response = httpx.get(f"{purse.service.origin}/wallet/balance", headers=twice)
    assert error(response) == (401, "unauthorized")


def test_a_revoked_key_is_refused_from_the_next_request(purse: Purse) -> None:
    assert purse.get("/balance").status_code == 200
    purse.service.execute(
        "UPDATE wallet_keys SET revoked_at = now() WHERE digest = $1", purse.digest
    )
    assert error(purse.get("/balance")) == (401, "unauthorized")


def test_each_key_reads_its_own_wallet(service: Service, shop: Merchant, purse: Purse) -> None:
    other = service.merchant()
    theirs = Purse(service, other.control("wallet", {"balance": 500})["api_key"])
    shop.control("wallet", {"balance": 700})
    assert purse.data("/balance")[0]["ledger_balance"] == 7
    assert theirs.data("/balance")[0]["ledger_balance"] == 5
    account = purse.data("/balance")[0]["account_number"]
    assert theirs.data("/balance", account_number=account)[0]["account_number"] != account


def test_a_customer_of_the_operator(service: Service) -> None:
    made = service.laari("customer", "create", "Aishath", "--balance", "12345", "--json")
    assert made.returncode == 0, made.stderr
    customer = json.loads(made.stdout)
    purse = Purse(service, customer["api_key"])
    record = purse.data("/balance")[0]
    assert record["account_number"] == str(customer["account_number"])
    assert record["ledger_balance"] == Decimal("123.45")
    assert purse.data("/transactions")[0]["type"] == "topup"
    reset = datetime.fromisoformat(purse.data("/usage")["reset_at"]["daily"])
    assert timedelta(0) < reset - datetime.now(UTC) <= timedelta(days=1)


@pytest.mark.parametrize(
    "path",
    ["", "/", "/nowhere", "/balance/x", "/balance//", "//balance", "/Balance", "/usage.json"],
)
def test_unknown_endpoints(purse: Purse, path: str) -> None:
    address = f"{purse.service.origin}/wallet{path}"
    assert error(purse.http.get(address)) == (404, "not_found")
    assert error(purse.http.post(address)) == (404, "not_found")


@pytest.mark.parametrize("path", ["/balance", "/usage", "/transactions"])
def test_a_trailing_slash_and_a_body_make_no_difference(purse: Purse, path: str) -> None:
    plain = purse.data(path)
    assert purse.data(f"{path}/") == plain
    response = purse.http.request("GET", path, content=b"{nonsense")
    assert response.status_code == 200


@pytest.mark.parametrize("path", ["/balance", "/usage/", "/transactions?limit=0"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_only_get_is_allowed(purse: Purse, method: str, path: str) -> None:
    response = purse.http.request(method, path)
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET"
    assert response.headers["Cache-Control"] == "no-store"
    if method == "HEAD":
        assert response.content == b""
    else:
        assert error(response) == (405, "method_not_allowed")


def test_other_addresses_are_not_the_wallets(service: Service) -> None:
    assert httpx.get(f"{service.origin}/wallets").status_code == 404
    assert httpx.get(f"{service.origin}/walletbalance").status_code == 404


def test_every_answer_is_uncacheable(purse: Purse) -> None:
    for path in ("/balance", "/usage", "/transactions", "/transactions?limit=x", "/nowhere"):
        assert purse.get(path).headers["Cache-Control"] == "no-store"


def test_an_unexpected_error_has_the_wallets_shape(service: Service, purse: Purse) -> None:
    assert purse.get("/balance").status_code == 200
    service.execute("ALTER TABLE wallet_windows ADD CONSTRAINT broken CHECK (used < 2) NOT VALID")
    try:
        response = purse.get("/balance")
    finally:
        service.execute("ALTER TABLE wallet_windows DROP CONSTRAINT broken")
    assert error(response) == (500, "internal_error")
    assert response.headers["Cache-Control"] == "no-store"
    assert purse.get("/balance").status_code == 200


def test_https_is_required_before_the_key_is_looked_at(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = {
        "LAARI_PUBLIC_URL": "https://pay.example",
        "LAARI_TRUSTED_PROXIES": "127.0.0.0/8",
    }
    with serving(service.dsn, tmp_path_factory.mktemp("https"), **settings) as strict:
        shop = strict.merchant()
        shop.http.headers["X-Forwarded-Proto"] = "https"
        purse = Purse(strict, shop.control("wallet", {})["api_key"])
        for _ in range(LIMIT + 1):  # none of them counts
            response = purse.get("/balance")
            assert error(response) == (403, "invalid_request")
            assert response.headers["Cache-Control"] == "no-store"
        assert error(httpx.get(f"{strict.origin}/wallet/x")) == (403, "invalid_request")
        purse.http.headers["X-Forwarded-Proto"] = "https"
        assert purse.get("/balance").status_code == 200
