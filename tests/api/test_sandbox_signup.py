"""Sign-up for the sandbox over HTTP: what it makes, what it refuses, and that nothing is live."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from laari.edge.reference.openapi import openapi_document
from tests.serving import Merchant, Service, serving

PER_MINUTE = 6
_addresses = count(1)


@pytest.fixture(scope="module")
def open_service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    settings = {
        "LAARI_SANDBOX_SIGNUP": "on",
        "LAARI_SANDBOX_SIGNUPS_PER_MINUTE": str(PER_MINUTE),
        "LAARI_WEBHOOK_ALLOW_PRIVATE": "on",
        "LAARI_TRUSTED_PROXIES": "127.0.0.1",  # so that a header can stand for another address
    }
    place = tmp_path_factory.mktemp("signup")
    with serving(engine.migrated("signup"), place, **settings) as service:
        yield service


def sign_up(service: Service, body: Any = None, **headers: str) -> httpx.Response:
    """From an address that nobody has signed up from, unless one is given."""
    sent = {"X-Forwarded-For": f"192.0.2.{next(_addresses)}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    url = f"{service.origin}/sandbox/merchants"
    if body is None:
        return httpx.post(url, headers=sent)
    return httpx.post(url, json=body, headers=sent)


def test_a_merchant_is_made_with_all_that_a_first_test_wants(open_service: Service) -> None:
    response = sign_up(open_service)
    assert response.status_code == 201, response.text
    assert response.headers["cache-control"] == "no-store"
    made = response.json()
    assert made["mode"] == "sandbox"
    assert made["webhook_url"] is None
    assert "password" not in made
    assert made["webhook_secret"] == made["secret_key"]
    shop = Merchant(open_service, made["merchant_id"], made["secret_key"])
    paid = shop.control(f"payments/{shop.payment()['id']}/pay")
    assert paid["status"] == "paid"
    customer = made["customer"]
    shop.request(customer={"type": "vpa", "value": customer["vpa"]})
    balance = httpx.get(
        f"{open_service.origin}/wallet/balance", headers={"X-API-Key": customer["api_key"]}
    )
    assert balance.status_code == 200, balance.text
    assert customer["account_number"] in balance.text


def test_it_says_what_the_command_line_says(open_service: Service) -> None:
    created = json.loads(open_service.laari("merchant", "create", "Shop", "--json").stdout)
    assert created.keys() - sign_up(open_service).json().keys() == set()


def test_what_is_asked_for_is_given(open_service: Service) -> None:
    asked = {"name": "Bodu Boat", "webhook_url": "http://127.0.0.1:9/hook", "fee_bps": 150}
    made = sign_up(open_service, {**asked, "email": "a@boat.mv", "mode": "sandbox"}).json()
    assert {name: made[name] for name in asked} == asked
    assert made["email"] == "a@boat.mv"
    assert len(made["password"]) > 12
    again = sign_up(open_service, {"email": "a@boat.mv"})
    assert (again.status_code, again.json()["error"]["field"]) == (400, "email")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"mode": "live"}, "mode"),
        ({"name": "a\x1b[2J"}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"email": "nobody"}, "email"),
        ({"webhook_url": "ftp://shop.mv"}, "webhook_url"),
        ({"fee_bps": 10_001}, "fee_bps"),
        ({"secret_key": "sk_mine"}, "secret_key"),
    ],
)
def test_what_it_does_not_take(open_service: Service, body: Any, field: str) -> None:
    before = open_service.execute("SELECT count(*) FROM merchants")[0][0]
    response = sign_up(open_service, body)
    assert response.status_code == 400
    assert response.json()["error"]["field"] == field
    assert open_service.execute("SELECT count(*) FROM merchants")[0][0] == before


def test_other_forms_are_refused(open_service: Service) -> None:
    url = f"{open_service.origin}/sandbox/merchants"
    assert httpx.get(url).status_code == 405
    assert httpx.post(url, content=b"{}").json()["error"]["code"] == "invalid_request"
    assert httpx.post(url, json=[]).status_code == 400
    assert httpx.post(url, json={"name": "x" * 600_000}).status_code == 400
    assert sign_up(open_service, Sec_Fetch_Site="cross-site").status_code == 400
    assert sign_up(open_service, Sec_Fetch_Site="same-origin").status_code == 201


def test_one_address_floods_alone(open_service: Service) -> None:
    flood = [sign_up(open_service, X_Forwarded_For="198.51.100.7") for _ in range(PER_MINUTE + 4)]
    assert [each.status_code for each in flood] == [201] * PER_MINUTE + [429] * 4
    assert 1 <= int(flood[-1].headers["retry-after"]) <= 60
    assert sign_up(open_service, X_Forwarded_For="198.51.100.8").status_code == 201
    # One provider's customer has a whole network of IPv6 addresses.
    sixes = [sign_up(open_service, X_Forwarded_For=f"2001:db8::{n:x}") for n in range(10)]
    assert [each.status_code for each in sixes].count(201) == PER_MINUTE


def test_a_merchant_that_signed_up_goes_live_only_after_approval(open_service: Service) -> None:
    made = sign_up(open_service).json()
    merchant_id = made["merchant_id"]
    # Even a row that says otherwise opens nothing: there is no live tenant.
    open_service.execute("UPDATE merchants SET mode = 'live' WHERE id = $1", merchant_id)
    shop = Merchant(open_service, merchant_id, made["secret_key"])
    assert shop.post("/payments", {"reference": "r", "amount": 100}).status_code == 401
    open_service.execute("UPDATE merchants SET mode = 'sandbox' WHERE id = $1", merchant_id)
    assert shop.payment()["status"] == "pending"
    assert open_service.laari("merchant", "approve", merchant_id).returncode == 0
    assert shop.payment()["status"] == "pending"  # in the sandbox: its people choose the mode
    assert open_service.laari("merchant", "update", merchant_id, "--mode", "live").returncode == 0
    assert shop.post("/payments", {"reference": "r", "amount": 100}).status_code == 201
    assert open_service.laari("audit").returncode == 0


def test_it_is_off_unless_it_is_switched_on(service: Service) -> None:
    assert sign_up(service).status_code == 404
    assert httpx.get(f"{service.origin}/dashboard/signup").status_code == 404
    assert "/dashboard/signup" not in httpx.get(f"{service.origin}/dashboard/login").text
    assert "/sandbox/merchants" not in httpx.get(f"{service.origin}/openapi.json").json()["paths"]


def test_the_reference_tells_of_it_where_it_is_on(open_service: Service) -> None:
    document = httpx.get(f"{open_service.origin}/openapi.json").json()
    assert document == openapi_document(open_service.origin, signup=True)
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []
    described = document["paths"]["/sandbox/merchants"]["post"]
    assert described["security"] == []
    answered = document["components"]["schemas"]["SandboxMerchant"]
    assert sign_up(open_service).json().keys() == set(answered["required"])


@pytest.mark.ci
def test_it_stays_open_next_to_live_merchants(engine, tmp_path: Path) -> None:
    settings = {"LAARI_SANDBOX_SIGNUP": "on", "LAARI_TRUSTED_PROXIES": "127.0.0.1"}
    with serving(engine.migrated("signup_live"), tmp_path, **settings) as service:
        shop = service.merchant()
        assert sign_up(service).status_code == 201
        service.execute("UPDATE merchants SET mode = 'live' WHERE id = $1", shop.id)
        assert sign_up(service).status_code == 201
        assert service.execute("SELECT count(*) FROM merchants")[0]["count"] == 3
