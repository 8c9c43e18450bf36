"""Paying, rejecting, reserving, cancelling, expiring and refunding a payment request."""

from typing import Any

import httpx
import pytest

from tests.serving import Merchant, Service

DAY = 86_400


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def act(shop: Merchant, request: dict[str, Any], action: str) -> httpx.Response:
    return shop.post(f"/sandbox/payment-requests/{request['id']}/{action}")


def cancel(shop: Merchant, request: dict[str, Any]) -> httpx.Response:
    return shop.post(f"/payment-requests/{request['id']}/cancel")


def status(shop: Merchant, request: dict[str, Any]) -> str:
    return shop.get(f"/payment-requests/{request['id']}").json()["data"]["status"]


def test_paying_makes_the_ordinary_payment(service: Service) -> None:
    shop = service.merchant(fee_bps=250, fee_fixed=100)
    asked = {
        "reference": "order-1",
        "amount": 12_345,
        "title": "Ferry",
        "description": "Two seats",
        "terminal_label": "Till 3",
        "bill_number": "77",
        "return_url": "https://shop.test/",
    }
    request = shop.request(**asked)
    paid = act(shop, request, "pay").json()["data"]
    assert (paid["status"], paid["fee"], paid["net_amount"]) == ("paid", 409, 11_936)
    payment = shop.get(f"/payments/{paid['payment_id']}").json()["data"]
    assert payment["status"] == "paid"
    for name in asked:
        assert payment[name] == request[name]
    for name in ("fee", "net_amount", "payment_reference", "paid_at", "expires_at"):
        assert payment[name] == paid[name]
    assert payment["metadata"] == {}
    assert shop.events(request["id"]) == ["payment_request.created", "payment_request.paid"]
    assert shop.events(paid["payment_id"]) == ["payment.paid"]
    assert shop.control("wallet", {})["balance"] == 10_000_000 - 12_345
    assert [each["id"] for each in shop.get("/payments").json()["data"]] == [payment["id"]]
    assert httpx.get(payment["qr_url"]).status_code == 404
    # The reference stays the request's.
    conflict = shop.post("/payments", {"reference": "order-1", "amount": 12_345})
    assert code(conflict) == (409, "reference_conflict")
    assert shop.post(f"/payments/{payment['id']}/cancel").status_code == 409


def test_paying_twice(shop: Merchant) -> None:
    request = shop.request()
    assert act(shop, request, "pay").status_code == 200
    assert code(act(shop, request, "pay")) == (409, "payment_conflict")
    assert len(shop.get("/payments").json()["data"]) == 1


def test_too_little_money_leaves_it_pending(shop: Merchant) -> None:
    request = shop.request(amount=500)
    shop.control("wallet", {"balance": 499})
    assert code(act(shop, request, "pay")) == (402, "insufficient_balance")
    assert status(shop, request) == "pending"
    assert shop.get("/payments").json()["data"] == []
    shop.control("wallet", {"balance": 500})
    assert act(shop, request, "pay").status_code == 200


def test_wallet_limits_apply(shop: Merchant) -> None:
    shop.control("wallet", {"tier": "basic"})
    request = shop.request(amount=500_001)
    assert code(act(shop, request, "pay")) == (422, "wallet_limit_exceeded")
    assert status(shop, request) == "pending"


def test_rejecting_is_final(shop: Merchant) -> None:
    request = shop.request()
    rejected = act(shop, request, "reject").json()["data"]
    assert rejected["status"] == "rejected"
    assert rejected["rejected_at"] is not None
    for action in ("pay", "reject", "reserve", "release"):
        assert code(act(shop, request, action)) == (409, "payment_conflict")
    assert code(cancel(shop, request)) == (409, "payment_request_not_cancellable")
    assert shop.events(request["id"]) == ["payment_request.created", "payment_request.rejected"]


def test_cancelling_once_and_again(shop: Merchant) -> None:
    request = shop.request()
    cancelled = cancel(shop, request)
    assert cancelled.status_code == 200
    assert cancelled.json()["data"]["status"] == "cancelled"
    assert cancelled.json()["data"]["cancelled_at"] is not None
    again = cancel(shop, request)
    assert (again.status_code, again.json()) == (200, cancelled.json())
    assert shop.events(request["id"]) == ["payment_request.created", "payment_request.cancelled"]
    assert code(act(shop, request, "pay")) == (409, "payment_conflict")


def test_what_cannot_be_cancelled(shop: Merchant) -> None:
    paid, overdue = shop.request(), shop.request()
    act(shop, paid, "pay")
    assert code(cancel(shop, paid)) == (409, "payment_request_not_cancellable")
    shop.advance(DAY + 1)
    assert code(cancel(shop, overdue)) == (409, "payment_request_not_cancellable")
    assert status(shop, overdue) == "expired"
    assert code(cancel(shop, overdue)) == (409, "payment_request_not_cancellable")


def test_a_reserved_request_waits_for_its_attempt(shop: Merchant) -> None:
    request = shop.request()
    assert code(act(shop, request, "release")) == (409, "payment_conflict")
    assert act(shop, request, "reserve").json()["data"]["status"] == "pending"
    assert code(act(shop, request, "reserve")) == (409, "payment_conflict")
    assert code(act(shop, request, "reject")) == (409, "payment_conflict")
    assert code(cancel(shop, request)) == (409, "payment_request_not_cancellable")
    shop.advance(DAY + 1)
    assert status(shop, request) == "pending"
    listed = shop.get("/payment-requests", status="pending").json()["data"]
    assert [each["id"] for each in listed] == [request["id"]]
    assert act(shop, request, "pay").json()["data"]["status"] == "paid"


def test_released_it_is_free_again(shop: Merchant) -> None:
    request = shop.request()
    act(shop, request, "reserve")
    assert act(shop, request, "release").status_code == 200
    assert cancel(shop, request).status_code == 200


def test_a_failed_attempt_ends_its_reservation(shop: Merchant) -> None:
    request = shop.request(amount=500)
    shop.control("wallet", {"balance": 1})
    act(shop, request, "reserve")
    assert code(act(shop, request, "pay")) == (402, "insufficient_balance")
    assert cancel(shop, request).status_code == 200


def test_an_overdue_request_expires_when_read_once(shop: Merchant) -> None:
    request = shop.request(expires_at="2089-12-31T23:59:59Z", reference="late")
    short = shop.request()
    shop.advance(DAY - 10)
    assert status(shop, short) == "pending"
    shop.advance(11)
    assert code(act(shop, short, "pay")) == (409, "payment_conflict")
    assert status(shop, short) == "expired"
    assert status(shop, short) == "expired"
    assert shop.events(short["id"]) == ["payment_request.created", "payment_request.expired"]
    assert status(shop, request) == "pending"


def test_the_list_expires_what_it_shows(shop: Merchant) -> None:
    due = [shop.request(terminal_label="A") for _ in range(3)]
    shop.advance(DAY + 1)
    fresh = shop.request(terminal_label="B")
    pending = shop.get("/payment-requests", status="pending").json()["data"]
    assert [each["id"] for each in pending] == [fresh["id"]]
    assert shop.events(due[0]["id"]) == ["payment_request.created"]
    expired = shop.get("/payment-requests", status="expired").json()["data"]
    assert [each["id"] for each in expired] == [each["id"] for each in reversed(due)]
    assert {each["status"] for each in expired} == {"expired"}
    shop.get("/payment-requests")
    assert shop.events(due[0]["id"]) == ["payment_request.created", "payment_request.expired"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"status": "processing"}, "status"),
        ({"status": ""}, "status"),
        ({"limit": "x"}, "limit"),
        ({"terminal_label": "x" * 11}, "terminal_label"),
        ({"bill_number": "é"}, "bill_number"),
        ({"created_from": "x"}, "created_from"),
        ({"status": ["paid", "paid"]}, "status"),
    ],
    ids=str,
)
def test_wrong_filters(shop: Merchant, query: dict[str, Any], field: str) -> None:
    response = shop.get("/payment-requests", **query)
    assert code(response) == (400, "invalid_request")
    assert response.json()["error"]["field"] == field


def test_the_list_filters_and_pages(shop: Merchant) -> None:
    made = [
        shop.request(terminal_label="A" if n % 2 else "B", bill_number=f"0{n}") for n in range(5)
    ]
    act(shop, made[0], "pay")
    act(shop, made[1], "reject")
    cancel(shop, made[2])

    def listed(**query: Any) -> list[int]:
        ids = [each["id"] for each in made]
        data = shop.get("/payment-requests", **query).json()["data"]
        return [ids.index(each["id"]) for each in data]

    assert listed() == [4, 3, 2, 1, 0]
    assert listed(status="paid") == [0]
    assert listed(status="rejected") == [1]
    assert listed(status="cancelled") == [2]
    assert listed(status="pending") == [4, 3]
    assert listed(status="refunded") == []
    assert listed(terminal_label="A") == [3, 1]
    assert listed(terminal_label="A", status="pending") == [3]
    assert listed(bill_number="03") == [3]
    assert listed(bill_number="3") == []
    assert listed(created_to="2020-01-01") == []
    first = shop.get("/payment-requests", limit=3).json()
    assert first["pagination"]["has_more"]
    second = shop.get("/payment-requests", limit=3, after=first["pagination"]["next_cursor"])
    seen = [each["id"] for each in first["data"] + second.json()["data"]]
    assert seen == [each["id"] for each in reversed(made)]
    # A cursor of another listing starts at the first page.
    other = shop.get("/payments", after=first["pagination"]["next_cursor"]).json()["data"]
    assert len(other) == 1


def test_refunding_the_payment_refunds_the_request(service: Service) -> None:
    shop = service.merchant(fee_bps=100)
    request = shop.request(amount=10_000)
    paid = act(shop, request, "pay").json()["data"]
    result = service.laari("payment", "refund", paid["payment_id"], "--json")
    assert result.returncode == 0, result.stderr
    refunded = shop.get(f"/payment-requests/{request['id']}").json()["data"]
    assert refunded == {**paid, "status": "refunded"}
    assert shop.get(f"/payments/{paid['payment_id']}").json()["data"]["status"] == "refunded"
    assert shop.control("wallet", {})["balance"] == 10_000_000
    assert shop.events(request["id"]) == ["payment_request.created", "payment_request.paid"]
    assert code(cancel(shop, request)) == (409, "payment_request_not_cancellable")
    listed = shop.get("/payment-requests", status="refunded").json()["data"]
    assert [each["id"] for each in listed] == [request["id"]]


def test_nobody_else_finds_a_request(service: Service) -> None:
    shop, other = service.merchant(), service.merchant()
    request = shop.request()
    for path in ("", "/cancel"):
        call = other.post if path else other.get
        response = call(f"/payment-requests/{request['id']}{path}")
        assert code(response) == (404, "payment_request_not_found")
    for action in ("pay", "reject", "reserve", "release"):
        assert code(act(other, request, action)) == (404, "payment_request_not_found")
    assert other.get("/payment-requests").json()["data"] == []
    service.laari("merchant", "update", shop.id, "--mode", "live")
    wrong_mode = shop.get(f"/payment-requests/{request['id']}")
    assert code(wrong_mode) == (404, "payment_request_not_found")
    assert code(act(shop, request, "pay")) == (404, "not_found")


@pytest.mark.parametrize("unknown", ["prq_" + "0" * 32, "prq_1", "x", "pay_" + "0" * 32])
def test_unknown_ids(shop: Merchant, unknown: str) -> None:
    for response in (
        shop.get(f"/payment-requests/{unknown}"),
        shop.post(f"/payment-requests/{unknown}/cancel"),
        shop.post(f"/sandbox/payment-requests/{unknown}/pay"),
    ):
        assert code(response) == (404, "payment_request_not_found")
