"""The operator's limit for the payments of a merchant: no setting of the API, off by default."""

import httpx

from tests.serving import Merchant, Service


def refused(response: httpx.Response) -> None:
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "invalid_request")
    assert error["field"] == "amount"
    assert "MVR 50.00" in error["message"]


def limit(service: Service, shop: Merchant, *options: str) -> None:
    done = service.laari("merchant", "set-limit", shop.id, "--mode", "sandbox", *options)
    assert done.returncode == 0, done.stderr


def test_new_payments_requests_and_charges_keep_the_limit(service: Service) -> None:
    shop = service.merchant()
    active = shop.approved()
    before = shop.payment(reference="early", amount=5_001)
    limit(service, shop, "--max-payment", "5000", "--reason", "New shop")
    refused(shop.post("/payments", {"reference": "over", "amount": 5_001}))
    customer = {"type": "mobile", "value": "7700000"}
    wanted = {"reference": "asked", "amount": 5_001, "customer": customer}
    refused(shop.post("/payment-requests", wanted))
    refused(shop.charge(active, 5_001, "box"))
    assert shop.payment(reference="equal", amount=5_000)["amount"] == 5_000
    assert shop.charge(active, 5_000, "box").status_code == 201
    # A retry gets its payment, which can be paid, and nothing of a refused one stays.
    again = shop.post("/payments", {"reference": "early", "amount": 5_001})
    assert (again.status_code, again.json()["data"]["id"]) == (201, before["id"])
    assert shop.control(f"payments/{before['id']}/pay")["status"] == "paid"
    limit(service, shop)
    assert shop.payment(reference="over", amount=5_001)["reference"] == "over"
    other = service.execute(
        "SELECT max_payment FROM tenants WHERE merchant_id = $1 AND mode = 'live'", shop.id
    )
    assert other[0]["max_payment"] is None
    entries = service.execute(
        "SELECT after::json ->> 'max_payment' AS limit, reason FROM journal "
        "WHERE action = 'merchant.set_limit' AND merchant_id = $1 ORDER BY id",
        shop.id,
    )
    assert [tuple(each) for each in entries] == [("5000", "New shop"), (None, None)]


def test_a_refusal_above_the_limit_is_saved_under_its_key(service: Service) -> None:
    shop = service.merchant()
    limit(service, shop, "--max-payment", "5000", "--reason", "New shop")
    body = {"reference": "over", "amount": 5_001}
    refused(shop.post("/payments", body, Idempotency_Key="one"))
    limit(service, shop)
    again = shop.post("/payments", body, Idempotency_Key="one")
    refused(again)
    assert again.headers["idempotent-replayed"] == "true"
    assert shop.post("/payments", body, Idempotency_Key="two").status_code == 201


def test_the_qr_image_stays_while_the_merchant_is_paused(service: Service) -> None:
    shop = service.merchant()
    payment = shop.payment()
    paused = service.laari("merchant", "update", shop.id, "--inactive", "--reason", "Holidays")
    assert paused.returncode == 0, paused.stderr
    assert httpx.get(payment["qr_url"]).status_code == 200
    assert "not taking payments at the moment" in httpx.get(payment["payment_url"]).text
