"""Creating payment requests: fields, recipients, retries and the shared name space."""

from typing import Any

import httpx
import pytest

from tests.serving import Merchant, Service

VPA = {"type": "vpa", "value": "sandbox"}
EMAIL = {"type": "email", "value": "sandbox@laari.test"}
FULL = {
    "reference": "r",
    "amount": 12_500,
    "customer": VPA,
    "title": "Ferry",
    "description": "Two seats",
    "terminal_label": "Till 3",
    "bill_number": "2027/0815",
    "return_url": "https://shop.test/thanks",
    "expires_at": "2090-01-01T00:00:00Z",
}


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def ask(shop: Merchant, **fields: Any) -> httpx.Response:
    return shop.post("/payment-requests", {"reference": "r", "amount": 1, "customer": VPA} | fields)


def test_a_request_shows_all_its_fields(shop: Merchant) -> None:
    response = shop.post("/payment-requests", FULL)
    assert response.status_code == 201
    data = response.json()["data"]
    assert data["id"].startswith("prq_")
    assert data.pop("created_at").endswith("+05:00")
    assert data == {
        **FULL,
        "id": data["id"],
        "fee": None,
        "net_amount": None,
        "status": "pending",
        "payment_id": None,
        "payment_reference": None,
        "paid_at": None,
        "expires_at": "2090-01-01T05:00:00+05:00",
        "cancelled_at": None,
        "rejected_at": None,
    }
    assert shop.get(f"/payment-requests/{data['id']}").json()["data"]["id"] == data["id"]
    assert shop.events(data["id"]) == ["payment_request.created"]


def test_defaults_are_null_and_a_day(shop: Merchant) -> None:
    data = ask(shop, title=" ", terminal_label="", bill_number=None, expires_at=None).json()["data"]
    for name in ("title", "description", "terminal_label", "bill_number", "return_url"):
        assert data[name] is None
    # A day and no more than the fraction of a second that was cut off.
    created, expires = data["created_at"], data["expires_at"]
    assert created[10:] == expires[10:]
    assert created < expires


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"reference": None}, "reference"),
        ({"reference": " "}, "reference"),
        ({"reference": "x" * 101}, "reference"),
        ({"amount": 0}, "amount"),
        ({"amount": 10_000_000_000}, "amount"),
        ({"amount": "1"}, "amount"),
        ({"amount": 1.0}, "amount"),
        ({"amount": True}, "amount"),
        ({"customer": None}, "customer"),
        ({"customer": "sandbox"}, "customer"),
        ({"customer": {}}, "customer.type"),
        ({"customer": {"type": "vpa"}}, "customer.value"),
        ({"customer": {"type": "fax", "value": "1"}}, "customer.type"),
        ({"customer": {"type": "vpa", "value": " "}}, "customer.value"),
        ({"customer": {"type": "vpa", "value": 7}}, "customer.value"),
        ({"customer": {"type": "vpa", "value": "x\0"}}, "customer.value"),
        ({"customer": {"type": "vpa", "value": "x" * 255}}, "customer.value"),
        ({"customer": {**VPA, "name": "x"}}, "customer.name"),
        ({"title": "x" * 256}, "title"),
        ({"description": "x" * 501}, "description"),
        ({"terminal_label": "x" * 11}, "terminal_label"),
        ({"bill_number": "x" * 26}, "bill_number"),
        ({"bill_number": "é"}, "bill_number"),
        ({"return_url": "ftp://shop.test"}, "return_url"),
        ({"return_url": "https://me@shop.test"}, "return_url"),
        ({"return_url": "https://shop.test/" + "x" * 2031}, "return_url"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"expires_at": "2020-01-01"}, "expires_at"),
        ({"currency": "MVR"}, "currency"),
        ({"metadata": {}}, "metadata"),
    ],
    ids=str,
)
def test_fields_that_are_wrong(shop: Merchant, fields: dict[str, Any], field: str) -> None:
    response = ask(shop, **fields)
    assert code(response) == (400, "invalid_request")
    assert response.json()["error"]["field"] == field
    assert shop.get("/payment-requests").json()["data"] == []


def test_a_return_url_counts_characters(shop: Merchant) -> None:
    long = "https://shop.test/" + "é" * 2030
    request = shop.request(return_url=long)
    assert request["return_url"] == long
    paid = shop.control(f"payment-requests/{request['id']}/pay")
    payment = shop.get(f"/payments/{paid['payment_id']}").json()["data"]
    assert payment["return_url"] == long


@pytest.mark.parametrize(
    ("customer", "shown"),
    [
        (VPA, "sandbox"),
        ({"type": "vpa", "value": " Sandbox "}, "sandbox"),
        ({"type": "vpa", "value": "sandbox@fp"}, "sandbox"),
        ({"type": "vpa", "value": "SANDBOX@FahiPay"}, "sandbox"),
        (EMAIL, "sandbox@laari.test"),
        ({"type": "email", "value": " Sandbox@Laari.TEST "}, "Sandbox@Laari.TEST"),
    ],
    ids=str,
)
def test_the_sandbox_recipient(shop: Merchant, customer: dict[str, str], shown: str) -> None:
    data = ask(shop, customer=customer).json()["data"]
    assert data["customer"] == {"type": customer["type"], "value": shown}
    assert shop.control(f"payment-requests/{data['id']}/pay")["status"] == "paid"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("vpa", "aisha"),
        ("vpa", "sandbox@other"),
        ("vpa", "sandbox@fp@fp"),
        ("vpa", "sandbox@"),
        ("vpa", "sandbox@laari.test"),
        ("email", "aisha@laari.test"),
        ("email", "sandbox"),
        ("mobile", "7771234"),
        ("mobile", "sandbox"),
    ],
)
def test_any_other_sandbox_recipient(service: Service, kind: str, value: str) -> None:
    shop = service.merchant()
    response = ask(shop, customer={"type": kind, "value": value})
    assert code(response) == (400, "sandbox_recipient_not_allowed")
    assert response.json()["error"]["field"] == "customer.value"


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("mobile", "7001001", "7001001"),
        ("mobile", "+960 700-1001", "7001001"),
        ("mobile", "9607001001", "7001001"),
        ("email", "LIVE.one@Laari.test", "LIVE.one@Laari.test"),
        ("vpa", "Live-One", "live-one"),
        ("vpa", "live-one@fp", "live-one"),
        ("vpa", "live-one@fahipay", "live-one"),
    ],
)
def test_live_recipients(service: Service, kind: str, value: str, shown: str) -> None:
    known = service.execute("SELECT 1 FROM customers WHERE vpa = 'live-one'")
    if not known:
        service.customer(mobile="7001001", email="live.one@laari.test", vpa="live-one")
    shop = service.merchant(mode="live")
    response = ask(shop, customer={"type": kind, "value": value})
    assert response.status_code == 201, response.text
    assert response.json()["data"]["customer"] == {"type": kind, "value": shown}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("mobile", "7999999", "customer_not_found"),
        ("email", "nobody@laari.test", "customer_not_found"),
        ("vpa", "nobody", "customer_not_found"),
        ("vpa", "sandbox", "customer_not_found"),
        ("email", "sandbox@laari.test", "customer_not_found"),
        ("vpa", "nobody@other", "invalid_request"),
        ("vpa", "no body", "invalid_request"),
        ("email", "nobody", "invalid_request"),
        ("mobile", "123", "invalid_request"),
        ("mobile", "+9617001001", "invalid_request"),
    ],
)
def test_unknown_live_recipients(service: Service, kind: str, value: str, expected: str) -> None:
    shop = service.merchant(mode="live")
    response = ask(shop, customer={"type": kind, "value": value})
    assert code(response) == (400, expected)
    assert response.json()["error"]["field"] == "customer.value"
    # The reference is still free.
    assert shop.post("/payments", {"reference": "r", "amount": 1}).status_code == 201


def test_a_matching_retry_answers_the_original(shop: Merchant) -> None:
    first = shop.post("/payment-requests", FULL).json()["data"]
    again = {
        **FULL,
        "reference": " r ",
        "customer": {"type": "vpa", "value": "Sandbox@fp"},
        "expires_at": "2090-01-01T05:00:00+05:00",
    }
    without_deadline = {name: value for name, value in FULL.items() if name != "expires_at"}
    for body in (FULL, again, without_deadline, {**FULL, "expires_at": None}):
        response = shop.post("/payment-requests", body)
        assert (response.status_code, response.json()["data"]) == (201, first)
    assert shop.events(first["id"]) == ["payment_request.created"]


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 12_501},
        {"customer": EMAIL},
        {"customer": {"type": "vpa", "value": "aisha"}},
        {"title": "Ferries"},
        {"title": None},
        {"description": "Three seats"},
        {"description": None},
        {"terminal_label": "Till 4"},
        {"terminal_label": None},
        {"bill_number": "2027/0816"},
        {"bill_number": None},
        {"return_url": "https://shop.test/"},
        {"return_url": None},
        {"expires_at": "2090-01-01T00:00:01Z"},
        {"expires_at": "2020-01-01"},
    ],
    ids=str,
)
def test_each_field_alone_makes_another_request(shop: Merchant, change: dict[str, Any]) -> None:
    shop.post("/payment-requests", FULL)
    assert code(shop.post("/payment-requests", FULL | change)) == (409, "reference_conflict")
    assert len(shop.get("/payment-requests").json()["data"]) == 1


def test_an_email_is_compared_without_case_and_shown_as_first_written(shop: Merchant) -> None:
    first = ask(shop, customer={"type": "email", "value": "Sandbox@laari.test"}).json()["data"]
    again = ask(shop, customer={"type": "email", "value": "sandbox@LAARI.test"})
    assert (again.status_code, again.json()["data"]) == (201, first)


def test_a_retry_after_the_deadline_shows_what_became_of_it(shop: Merchant) -> None:
    body = {**FULL, "expires_at": "2090-01-01T00:00:00Z"}
    first = shop.post("/payment-requests", body).json()["data"]
    shop.advance(80 * 366 * 86_400)
    again = shop.post("/payment-requests", body)
    assert (again.status_code, again.json()["data"]["id"]) == (201, first["id"])
    shop.get(f"/payment-requests/{first['id']}")
    again = shop.post("/payment-requests", body)
    assert (again.status_code, again.json()["data"]["status"]) == (201, "expired")


def test_references_are_shared_with_payments(shop: Merchant) -> None:
    ask(shop, reference="request", amount=5)
    conflict = shop.post("/payments", {"reference": "request", "amount": 5})
    assert code(conflict) == (409, "reference_conflict")
    shop.payment(reference="payment", amount=5)
    assert code(ask(shop, reference="payment", amount=5)) == (409, "reference_conflict")


def test_the_retry_check_comes_before_the_recipient(shop: Merchant) -> None:
    shop.payment(reference="taken")
    wrong = {"type": "mobile", "value": "7771234"}
    assert code(ask(shop, reference="taken", customer=wrong)) == (409, "reference_conflict")


def test_an_idempotency_key_means_nothing_here(shop: Merchant) -> None:
    body = {"reference": "a", "amount": 1, "customer": VPA}
    assert shop.post("/payment-requests", body, Idempotency_Key="k").status_code == 201
    other = shop.post("/payment-requests", {**body, "reference": "b"}, Idempotency_Key="k")
    assert other.json()["data"]["reference"] == "b"
    assert shop.post("/payment-requests", body, Idempotency_Key="not valid").status_code == 201
