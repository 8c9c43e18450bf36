"""What the service answers is what its OpenAPI document says it answers."""

from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator, FormatChecker

from laari.edge.merchant.app import ROUTER
from laari.rules.events import EVENTS
from tests.serving import Merchant, Service, ask_for_token


@pytest.fixture(scope="module")
def document(service: Service) -> dict[str, Any]:
    return httpx.get(f"{service.origin}/openapi.json").json()


def check(document: dict[str, Any], response: httpx.Response) -> None:
    """The response is one that the document lists for the operation, in the shape it gives."""
    _, interface, path = response.request.url.path.split("/", 2)
    if interface == "wallet":
        described = document["paths"][f"/wallet/{path}"]["get"]
    else:
        found = ROUTER.find(f"/merchant/{path}")
        assert found is not None
        methods = found.methods
        # A wrong method is described with each one that the path has.
        operation = methods.get(response.request.method) or next(iter(methods.values()))
        address = f"/merchant{operation.path}"
        described = document["paths"][address][operation.method.lower()]
    expected = described["responses"][str(response.status_code)]
    media_type = response.headers["Content-Type"]
    schema = expected["content"][media_type].get("schema", {})
    if media_type == "application/json":
        whole = {**schema, "components": document["components"]}
        Draft202012Validator(whole, format_checker=FormatChecker()).validate(response.json())
    if response.is_error:
        code = response.json()["error"]["code"]
        assert code in expected["content"][media_type]["examples"]
    for name in (
        "Service-Version",
        "Idempotent-Replayed",
        "Retry-After",
        "WWW-Authenticate",
        "Allow",
    ):
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
        shop.post("/sandbox/clock", {"advance_seconds": 60, "reset": True}),
        shop.http.delete("/payments"),
        shop.http.put(path),
        shop.http.get("/sandbox/clock"),
        shop.http.post(httpx.URL(payment["qr_url"])),
    ):
        check(document, response)


def test_large_amounts_and_every_kind_of_event_are_as_described(
    document: dict[str, Any], shop: Merchant
) -> None:
    shop.control("wallet", {"balance": 10**15, "tier": "business"})
    paid = shop.payment(amount=9_999_999_999)
    shop.control(f"payments/{paid['id']}/pay")
    for body in ({"amount": 9_999_999_998, "reason": "other", "note": "x"}, {}, {}):
        check(document, shop.post(f"/payments/{paid['id']}/refunds", body))
    for path in (f"/payments/{paid['id']}/refunds", "/refunds/rfd_unknown", "/balance"):
        check(document, shop.get(path))
    again = shop.payment(amount=9_999_999_999)
    shop.control(f"payments/{again['id']}/pay")
    payout = shop.post("/sandbox/payouts")
    check(document, payout)
    payout_id = payout.json()["data"]["id"]
    for path in ("", f"/{payout_id}", f"/{payout_id}/movements"):
        check(document, shop.get(f"/payouts{path}"))
    for action in ("settle", "return", "return"):
        check(document, shop.post(f"/sandbox/payouts/{payout_id}/{action}"))
    shop.post(f"/payments/{shop.payment()['id']}/cancel")
    overdue = shop.payment()
    for action in ("pay", "reject"):
        shop.control(f"payment-requests/{shop.request(amount=9_999_999_999)['id']}/{action}")
    shop.post(f"/payment-requests/{shop.request()['id']}/cancel")
    limits = {"period": {"interval": "week", "amount": 10**18 - 1}, "max_payments": 2**32 - 1}
    approved = shop.approved(limits=limits)
    shop.charge(approved, 9_999_999_999)
    for authorization in (approved, shop.authorization()):
        shop.post(f"/authorizations/{authorization['id']}/cancel")
    shop.control(f"authorizations/{shop.authorization()['id']}/reject")
    shop.advance(2 * 86_400)
    assert shop.get(f"/payments/{overdue['id']}").json()["data"]["status"] == "expired"
    assert {each["status"] for each in shop.get("/payment-requests").json()["data"]} == {
        "paid",
        "rejected",
        "cancelled",
    }
    events = shop.get("/events", limit=100)
    check(document, events)
    seen = {event["type"] for event in events.json()["data"]}
    assert seen == set(EVENTS) - {"payment_request.expired"}
    for event in events.json()["data"]:
        check(document, shop.get(f"/events/{event['id']}"))
    for path in ("/payments", "/payment-requests", "/authorizations"):
        check(document, shop.get(path, limit=3))
    check(document, shop.get(f"/authorizations/{approved['id']}/payments"))
    check(document, shop.get(f"/authorizations/{approved['id']}/charge-preview", amount=5))


def test_an_event_fits_the_description_of_its_own_type_only(
    document: dict[str, Any], shop: Merchant
) -> None:
    shop.payment()
    (event,) = shop.get("/events").json()["data"]
    whole = {"$ref": "#/components/schemas/Event", "components": document["components"]}
    assert Draft202012Validator(whole).is_valid(event)
    for wrong in ("payment_request.created", "authorization.created", "webhook.test", "other"):
        assert not Draft202012Validator(whole).is_valid({**event, "type": wrong})


def test_token_answers_are_as_described(document: dict[str, Any], shop: Merchant) -> None:
    described = document["paths"]["/merchant/oauth/token"]["post"]["responses"]
    address = f"{shop.service.origin}/merchant/oauth/token"
    for response in (
        ask_for_token(shop.service, auth=shop.client()),
        ask_for_token(shop.service),
        ask_for_token(shop.service, auth=("cl_x", "wrong")),
        httpx.get(address),
    ):
        expected = described[str(response.status_code)]
        schema = expected["content"]["application/json"]["schema"]
        whole = {**schema, "components": document["components"]}
        Draft202012Validator(whole).validate(response.json())
        for name in ("Allow", "WWW-Authenticate"):
            assert (name in response.headers) is (name in expected.get("headers", {}))


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
        check(document, client.delete("/usage"))
        for _ in range(60):
            limited = client.get("/usage")
        assert limited.status_code == 429
        check(document, limited)
