"""POST /payments: fields, defaults, retries by reference."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.sampling import some_of
from tests.serving import Merchant, Service

MAX_AMOUNT = 9_999_999_999


def test_a_new_payment_has_every_field_of_the_hosted_shape(shop: Merchant) -> None:
    response = shop.post("/payments", {"reference": " order-1 ", "amount": 12500})
    assert response.status_code == 201
    payment = response.json()["data"]
    assert list(payment) == [
        "id", "reference", "amount", "fee", "net_amount", "title", "description",
        "terminal_label", "bill_number", "status", "payment_url", "payment_reference", "qr_url",
        "return_url", "created_at", "paid_at", "expires_at", "metadata",
    ]  # fmt: skip
    assert payment["reference"] == "order-1"
    assert payment["status"] == "pending"
    assert payment["payment_url"].startswith(f"{shop.service.origin}/pay/")
    assert payment["qr_url"].startswith(f"{shop.service.origin}/merchant/public/qr/")
    for name in ("fee", "net_amount", "title", "description", "terminal_label", "bill_number"):
        assert payment[name] is None
    for name in ("payment_reference", "return_url", "paid_at"):
        assert payment[name] is None
    assert payment["metadata"] == {}
    created, expires = (datetime.fromisoformat(payment[n]) for n in ("created_at", "expires_at"))
    assert payment["created_at"].endswith("+05:00")
    assert expires - created == timedelta(hours=24)
    assert shop.events(payment["id"]) == ["payment.created"]


def test_every_field_is_kept(shop: Merchant) -> None:
    sent = {
        "reference": "full",
        "amount": MAX_AMOUNT,
        "title": "ރުފިޔާ ☕",
        "description": "  two\nlines ",
        "terminal_label": " Till 1 ",
        "bill_number": " 00-A_b./9 ",
        "return_url": " https://shop.example/back?a=1&b=ދ#done ",
        "expires_at": "2099-12-31T23:59:59.75Z",
        "metadata": {"z": " kept ", "a": "", "ކ": "ރ"},
    }
    payment = shop.payment(**sent)
    assert payment["title"] == "ރުފިޔާ ☕"
    assert payment["description"] == "two\nlines"
    assert payment["terminal_label"] == "Till 1"
    assert payment["bill_number"] == "00-A_b./9"
    assert payment["return_url"] == "https://shop.example/back?a=1&b=ދ#done"
    assert payment["expires_at"] == "2100-01-01T04:59:59+05:00"
    assert payment["metadata"] == sent["metadata"]
    assert list(payment["metadata"]) == ["z", "a", "ކ"]
    assert shop.get(f"/payments/{payment['id']}").json()["data"] == payment


@pytest.mark.parametrize("amount", [1, MAX_AMOUNT])
def test_amounts_at_the_bounds(shop: Merchant, amount: int) -> None:
    assert shop.payment(amount=amount)["amount"] == amount


REFUSED: list[tuple[str, Any]] = [
    *(
        ("amount", value)
        for value in (0, -1, MAX_AMOUNT + 1, 10**40, 5.0, "5", True, None, [5], {})
    ),
    *(("reference", value) for value in ("", "  ", None, 5, "x" * 101, "a\0b", ["a"])),
    *(("reference", value) for value in ("\u200b", " \u2060\ufeff\u3164 ", "\U000e0020")),
    ("title", "x" * 256),
    ("title", 5),
    ("title", "nul\0"),
    ("description", "x" * 501),
    ("terminal_label", "x" * 11),
    ("bill_number", "x" * 26),
    ("bill_number", "a#b"),
    ("bill_number", "ދ"),
    ("bill_number", 42),
    ("return_url", "shop.example"),
    ("return_url", "/back"),
    ("return_url", "ftp://shop.example"),
    ("return_url", "javascript:alert(1)"),
    ("return_url", "https://"),
    ("return_url", "https:///path"),
    ("return_url", "https://user@shop.example/"),
    ("return_url", "https://user:pw@shop.example/"),
    ("return_url", "https://shop.example:99999/"),
    ("return_url", "https://shop.example/a b"),
    ("return_url", "https://[::1"),
    *(
        ("return_url", f"https://{host}/")
        for host in (
            ".",
            "..",
            "a..b",
            ".shop.example",
            "%00.example",
            "%2e",
            "shop%20.example",
            "*",
            "a|b",
            "a^b",
            "\u200b",
            "\u3002",
            "\uff0500.example",
            f"{'x' * 64}.example",
            "x." * 130 + "mv",
            "256.1.1.1",
            "1.2.3",
            "[v1.a]",
            "[fe80::1%25eth0]",
            "[1.2.3.4]",
        )
    ),
    ("return_url", "https://shop.example/" + "x" * 2028),
    ("return_url", "https://shop.example/" + "ދ" * 1014),
    ("expires_at", "2020-01-01T00:00:00Z"),
    ("expires_at", "2020-01-01"),
    ("expires_at", ""),
    ("expires_at", "tomorrow"),
    ("expires_at", "2099-02-30"),
    ("expires_at", "2099-01-01T10:00"),
    ("expires_at", "0001-01-01"),
    ("expires_at", "9999-12-31T23:59:59Z"),  # the year 10000 in +05:00
    ("expires_at", "2099-01-01T10:00:00+05"),
    ("expires_at", 4102444800),
    ("metadata", None),
    ("metadata", []),
    ("metadata", "x"),
    ("metadata", {"a": 1}),
    ("metadata", {"a": None}),
    ("metadata", {"a": True}),
    ("metadata", {"a": {}}),
    ("metadata", {"": "x"}),
    ("metadata", {"k" * 41: "x"}),
    ("metadata", {"k": "v" * 501}),
    ("metadata", {f"k{i}": "v" for i in range(51)}),
    ("currency", "MVR"),
    ("surprise", 1),
]


@pytest.mark.parametrize(("field", "value"), some_of(REFUSED, 4))
def test_a_bad_field_is_refused_by_name_and_changes_nothing(
    shop: Merchant, field: str, value: Any
) -> None:
    response = shop.post("/payments", {"reference": "bad", "amount": 100, field: value})
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert error["code"] == "invalid_request"
    assert error["field"].partition(".")[0] == field
    assert error["message"]
    assert shop.get("/payments").json()["data"] == []


@pytest.mark.parametrize("field", ["reference", "amount"])
def test_required_fields(shop: Merchant, field: str) -> None:
    body = {"reference": "r", "amount": 1}
    del body[field]
    response = shop.post("/payments", body)
    assert response.status_code == 400
    assert response.json()["error"]["field"] == field


ACCEPTED: list[tuple[str, Any, Any]] = [
    ("reference", "x" * 100, "x" * 100),
    ("reference", " ކ" * 50, (" ކ" * 50).strip()),
    ("title", "x" * 255, "x" * 255),
    ("title", "  ", None),
    ("title", "\u200b", None),
    ("reference", "\u200ba\u200b", "\u200ba\u200b"),
    ("title", None, None),
    ("description", "😀" * 500, "😀" * 500),
    ("terminal_label", " " + "ދ" * 10 + " ", "ދ" * 10),
    ("terminal_label", "", None),
    ("bill_number", "  ", None),
    ("bill_number", None, None),
    ("bill_number", "A" * 25, "A" * 25),
    ("return_url", "", None),
    ("return_url", "HTTP://shop.example", "HTTP://shop.example"),
    *(
        ("return_url", f"https://{host}/", f"https://{host}/")
        for host in (
            "shop.example.",
            "my_shop.example",
            "xn--vq8a.example",
            "ދިވެހި.mv",
            "☕.example",
            "192.0.2.1",
            "192.0.2.1:8080",
            "[2001:db8::1]",
            "[2001:db8::1]:1",
            "shop.example:",
        )
    ),
    ("return_url", "http://localhost:3000/x", "http://localhost:3000/x"),
    ("return_url", "https://shop.example/" + "x" * 2027, "https://shop.example/" + "x" * 2027),
    ("expires_at", "2099-01-01", "2099-01-01T00:00:00+05:00"),
    ("expires_at", "2099-12-31T23:59:60Z", "2100-01-01T05:00:00+05:00"),
    ("expires_at", "9999-12-31T23:59:59", "9999-12-31T23:59:59+05:00"),
    ("expires_at", "2099-01-01T00:00:00", "2099-01-01T00:00:00+05:00"),
    ("expires_at", "2099-01-01T00:00:00-03:30", "2099-01-01T08:30:00+05:00"),
    ("metadata", {}, {}),
    ("metadata", {f"k{i}": "v" * 500 for i in range(50)}, {f"k{i}": "v" * 500 for i in range(50)}),
    ("metadata", {"k" * 40: " untrimmed "}, {"k" * 40: " untrimmed "}),
]


@pytest.mark.parametrize(("field", "value", "kept"), some_of(ACCEPTED, 4))
def test_a_field_at_its_bounds_is_kept(shop: Merchant, field: str, value: Any, kept: Any) -> None:
    assert shop.payment(**{field: value})[field] == kept


def test_null_expiry_means_24_hours(shop: Merchant) -> None:
    payment = shop.payment(expires_at=None)
    created, expires = (datetime.fromisoformat(payment[n]) for n in ("created_at", "expires_at"))
    assert expires - created == timedelta(hours=24)


def test_a_retry_returns_the_original_unchanged(shop: Merchant) -> None:
    original = shop.payment(reference="again", title="First", metadata={"a": "1"})
    retry = shop.post(
        "/payments",
        {
            "reference": " again ",
            "amount": 12500,
            "title": "Second",
            "metadata": {"b": "2"},
            "expires_at": "2001-01-01",
        },
    )
    assert retry.status_code == 201
    assert retry.json()["data"] == original
    assert shop.events(original["id"]) == ["payment.created"]


def test_a_retry_after_expiry_or_cancellation_shows_the_payment_as_stored(shop: Merchant) -> None:
    expired = shop.payment(reference="late")
    shop.advance(25 * 3600)
    assert shop.post("/payments", {"reference": "late", "amount": 12500}).json()["data"] == expired
    shop.get(f"/payments/{expired['id']}")
    again = shop.post("/payments", {"reference": "late", "amount": 12500})
    assert (again.status_code, again.json()["data"]["status"]) == (201, "expired")
    cancelled = shop.payment(reference="gone")
    shop.post(f"/payments/{cancelled['id']}/cancel")
    again = shop.post("/payments", {"reference": "gone", "amount": 12500})
    assert (again.status_code, again.json()["data"]["status"]) == (201, "cancelled")


def test_another_amount_for_a_reference_is_a_conflict(shop: Merchant) -> None:
    shop.payment(reference="taken", amount=100)
    response = shop.post("/payments", {"reference": "taken", "amount": 101})
    assert response.status_code == 409
    assert response.json()["error"]["code"] == "reference_conflict"


def test_references_are_case_sensitive_and_per_merchant(service: Service, shop: Merchant) -> None:
    first = shop.payment(reference="Abc")
    assert shop.payment(reference="abc")["id"] != first["id"]
    assert service.merchant().payment(reference="Abc")["id"] != first["id"]
