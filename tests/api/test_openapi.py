"""What the service answers is what its OpenAPI document says it answers."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator, FormatChecker

from laari.edge.merchant.app import ROUTES
from tests.serving import Merchant, Service


@pytest.fixture(scope="module")
def document(service: Service) -> dict[str, Any]:
    return httpx.get(f"{service.origin}/openapi.json").json()


def check(document: dict[str, Any], response: httpx.Response) -> None:
    """The response is one that the document lists for the operation, in the shape it gives."""
    _, interface, path = response.request.url.path.split("/", 2)
    if interface == "wallet":
        described = document["paths"][f"/{path}"]["get"]
    else:
        found = ROUTES.find(f"/{path}")
        assert found is not None
        operation = found[0][response.request.method]
        described = document["paths"][operation.path][operation.method.lower()]
    expected = described["responses"][str(response.status_code)]
    media_type = response.headers["Content-Type"]
    schema = expected["content"][media_type].get("schema", {})
    if media_type == "application/json":
        whole = {**schema, "components": document["components"]}
        Draft202012Validator(whole, format_checker=FormatChecker()).validate(response.json())
    if response.is_error:
        code = response.json()["error"]["code"]
        assert code in expected["content"][media_type]["examples"]
    for name in ("Service-Version", "Idempotent-Replayed", "Retry-After", "WWW-Authenticate"):
        assert name not in response.headers or name in expected["headers"]


def test_answers_are_as_described(document: dict[str, Any], shop: Merchant) -> None:
    body = {"reference": "A-1", "amount": 12500, "metadata": {"basket": "b-77"}}
    payment = shop.payment(return_url="https://shop.example/thanks", expires_at="2099-01-01")
    path = f"/payments/{payment['id']}"
    for response in (
        shop.post("/payments", body, Idempotency_Key="k"),
        shop.post("/payments", body, Idempotency_Key="k"),
        shop.post("/payments", {**body, "amount": 1}, Idempotency_Key="k"),
        shop.post("/payments", {**body, "amount": 1}),
        shop.post("/payments", {}),
        shop.post("/payments", body, Service_Version="2001-01-01"),
        shop.http.post("/payments", content=b"{"),
        shop.http.get("/payments", headers={"X-API-Key": "wrong"}),
        shop.get("/payments", limit="many"),
        shop.get("/payments", limit=1),
        shop.get(path),
        shop.get("/payments/pay_unknown"),
        httpx.get(payment["qr_url"]),
        shop.post(f"/sandbox{path}/reserve"),
        shop.post(f"{path}/cancel"),
        shop.post(f"/sandbox{path}/pay"),
        shop.post(f"{path}/cancel"),
        shop.post(f"/sandbox{path}/reject"),
        shop.get(path),
        httpx.get(payment["qr_url"]),
        shop.post("/sandbox/wallet", {"balance": 0}),
        shop.post("/sandbox/wallet", {"tier": "unknown"}),
        shop.post("/sandbox/clock", {"advance_seconds": 60}),
    ):
        check(document, response)


def test_refused_money_and_live_mode_are_described_too(
    document: dict[str, Any], service: Service, shop: Merchant
) -> None:
    shop.control("wallet", {"balance": 1})
    poor = shop.post(f"/sandbox/payments/{shop.payment()['id']}/pay")
    shop.control("wallet", {"balance": 10_000_000_000, "tier": "basic"})
    limited = shop.post(f"/sandbox/payments/{shop.payment(amount=9_999_999_999)['id']}/pay")
    live = service.merchant(mode="live").post("/sandbox/clock", {"reset": True})
    assert [poor.status_code, limited.status_code, live.status_code] == [402, 422, 404]
    for response in (poor, limited, live):
        check(document, response)


def test_wallet_answers_are_as_described(
    document: dict[str, Any], service: Service, shop: Merchant
) -> None:
    wallet = shop.control("wallet", {"balance": 54321})
    shop.control(f"payments/{shop.payment()['id']}/pay")
    with httpx.Client(base_url=f"{service.origin}/wallet") as client:
        assert client.get("/balance").status_code == 401
        check(document, client.get("/balance"))
        client.headers["X-API-Key"] = wallet["api_key"]
        for path in ("/balance", "/usage", "/transactions?limit=1", "/transactions?limit=0"):
            check(document, client.get(path))
        shop.control("wallet", {"tier": "business"})
        check(document, client.get("/usage"))
        for _ in range(60):
            limited = client.get("/usage")
        assert limited.status_code == 429
        check(document, limited)
