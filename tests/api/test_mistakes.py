"""Ten people's mistakes, and more: what each is told has to say what to do."""

from typing import Any

import httpx
import pytest

from tests.serving import Merchant, Service

LAARI = "12550 is MVR 125.50"
BODY = {"reference": "M-1", "amount": 12550}

# What was sent to POST /payments, and what the message has to teach.
BODIES: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "rufiyaa with a point": ({"amount": 125.5}, "amount", ("integer", "laari", LAARI)),
    "rufiyaa in a string": ({"amount": "125.50"}, "amount", ("integer", "laari", LAARI)),
    "nothing to pay": ({"amount": 0}, "amount", ("between 1 and 9999999999", LAARI)),
    "an endless amount": (
        {"amount": 10**31},
        "amount",
        ("between 1 and 9999999999", LAARI),
    ),
    "a deadline before the calendar": (
        {"expires_at": "0001-01-01"},
        "expires_at",
        ("must be in the future",),
    ),
    "a slip of the finger": ({"titel": "Tea"}, "titel", ("Did you mean title?",)),
    "another way of writing": (
        {"returnUrl": "https://shop.mv"},
        "returnUrl",
        ("Did you mean return_url?",),
    ),
    "another service's field": (
        {"currency": "MVR"},
        "currency",
        ("not supported", "reference, amount, title"),
    ),
    "no scheme": ({"return_url": "shop.mv/thanks"}, "return_url", ("http or https",)),
    "a deadline that has passed": (
        {"expires_at": "2020-01-01"},
        "expires_at",
        ("must be in the future",),
    ),
    "a deadline in words": ({"expires_at": "tomorrow"}, "expires_at", ("RFC 3339",)),
}


@pytest.mark.parametrize("mistake", BODIES)
def test_a_wrong_field_is_told_what_is_right(shop: Merchant, mistake: str) -> None:
    wrong, field, teaches = BODIES[mistake]
    response = shop.post("/payments", BODY | wrong)
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["code"], error["field"]) == ("invalid_request", field)
    for words in teaches:
        assert words in error["message"]
    assert shop.get("/payments").json()["data"] == []


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"per_payment": 10**31}, "limits.per_payment"),
        ({"period": {"interval": "day", "amount": -(10**31)}}, "limits.period.amount"),
        ({"total": 10**31}, "limits.total"),
        ({"max_payments": 10**31}, "limits.max_payments"),
    ],
)
def test_an_endless_limit_is_told_its_range(
    shop: Merchant, limits: dict[str, Any], field: str
) -> None:
    error = shop.post("/authorizations", {"reference": "A", "title": "T", "limits": limits}).json()
    assert error["error"]["field"] == field
    assert f"{field} must be between 1 and " in error["error"]["message"]


@pytest.mark.parametrize("name", ["created_from", "created_to"])
def test_a_bare_plus_in_a_date_is_told_how_to_write_it(shop: Merchant, name: str) -> None:
    for date, told in (("2026-01-01T00:00:00+05:00", True), ("1+January+2026", False)):
        response = shop.get(f"/payments?{name}={date}")
        assert response.status_code == 400
        message = response.json()["error"]["message"]
        assert "RFC 3339" in message
        assert ("%2B" in message) == told


def test_a_nested_amount_and_a_nested_field_are_told_by_their_whole_names(shop: Merchant) -> None:
    made = {"reference": "A", "title": "T", "type": "recurring", "limits": {"per_payment": 1.5}}
    assert LAARI in shop.post("/authorizations", made).json()["error"]["message"]
    made["limits"] = {"period": {"amonut": 1}}
    error = shop.post("/authorizations", made).json()["error"]
    assert error["field"] == "limits.period.amonut"
    assert "Did you mean limits.period.amount?" in error["message"]


def test_a_very_long_unknown_field_is_not_compared(shop: Merchant) -> None:
    error = shop.post("/payments", BODY | {"x" * 200_000: 1}).json()["error"]
    assert len(error["message"]) < 300
    assert "Supported: reference" in error["message"]


def test_who_may_not_in_is_told_why_and_what_to_send(shop: Merchant, service: Service) -> None:
    key = shop.secret_key
    cases: list[tuple[dict[str, str], tuple[str, ...]]] = [
        ({}, ("No credentials were sent", "X-API-Key", "Bearer")),
        ({"X-API-Key": "sk_unknown"}, ("not known", "rotated")),
        ({"X-API-Key": f"Bearer {key}"}, ("must have only the key",)),
        ({"X-API-Key": ""}, ("X-API-Key is empty",)),
        ({"X-API-Key": shop.token()}, ("send it as Authorization: Bearer",)),
        ({"X-API-Key": "wk_anything"}, ("a wallet's key",)),
        ({"X-API-Key": "cs_anything"}, ("client secret", "/merchant/oauth/token")),
        ({"Authorization": f"Bearer {key}"}, ("send it as X-API-Key",)),
        ({"Authorization": "Bearer at_gone"}, ("not known or has expired",)),
        ({"Authorization": key}, ("must begin with Bearer or Basic", "X-API-Key")),
        ({"Authorization": "Basic ~"}, ("cannot be read", "merchant id")),
        ({"Api-Key": key}, ("Api-Key is not read", "as X-API-Key")),
        ({"X-Auth-Token": key}, ("X-Auth-Token is not read",)),
    ]
    for headers, teaches in cases:
        response = httpx.get(f"{service.origin}/merchant/payments", headers=headers)
        assert response.status_code == 401
        error = response.json()["error"]
        assert error["code"] == "unauthorized"
        assert all(words in error["message"] for words in teaches), (headers, error)
        assert key not in response.text


def test_nobody_learns_which_keys_there_were(shop: Merchant, service: Service) -> None:
    """An inactive merchant's key and one that never was get the same bytes; so do tokens."""
    address, token = f"{service.origin}/merchant/payments", shop.token()
    service.laari("merchant", "update", shop.id, "--inactive")
    for known, unknown in (
        ({"X-API-Key": shop.secret_key}, {"X-API-Key": "sk_never"}),
        ({"Authorization": f"Bearer {token}"}, {"Authorization": "Bearer at_never"}),
    ):
        first, second = (httpx.get(address, headers=each) for each in (known, unknown))
        assert first.status_code == second.status_code == 401
        assert first.content == second.content


def test_a_wallets_key_is_asked_for_by_its_header(shop: Merchant, service: Service) -> None:
    for headers, words in (
        ({}, "No API key was sent"),
        ({"Authorization": "Bearer wk_x"}, "Authorization is not read here"),
        ({"X-API-Key": "wk_x"}, "not known or was revoked"),
        ({"X-API-Key": shop.secret_key}, "for /merchant"),
    ):
        response = httpx.get(f"{service.origin}/wallet/balance", headers=headers)
        assert response.status_code == 401
        assert words in response.json()["error"]["message"]
        assert shop.secret_key not in response.text


def test_a_taken_reference_is_named_with_what_differs(shop: Merchant) -> None:
    payment = shop.payment(reference="R-1", amount=100)
    request = shop.request(reference="R-2", amount=100)

    def told(path: str, body: dict[str, Any]) -> str:
        response = shop.post(path, body)
        assert response.status_code == 409
        error = response.json()["error"]
        assert error["code"] == "reference_conflict"
        assert "use a new reference" in error["message"]
        return str(error["message"])

    other = told("/payments", {"reference": "R-1", "amount": 200})
    assert payment["id"] in other
    assert "different amount" in other
    kind = told("/payments", {"reference": "R-2", "amount": 100})
    assert f"payment request {request['id']}, which is not a hosted payment" in kind
    again = {"reference": "R-2", "amount": 7, "title": "New", "customer": request["customer"]}
    assert "a different amount and title." in told("/payment-requests", again)
    one, two = shop.approved(), shop.approved()
    charge = shop.charge(one, reference="R-3", amount=5).json()["data"]
    moved = shop.charge(two, reference="R-3", amount=5).json()["error"]["message"]
    assert f"charge {charge['id']}, which has a different authorization" in moved
    elsewhere = shop.service.merchant()
    assert elsewhere.payment(reference="R-1", amount=200)["reference"] == "R-1"


def test_an_ignored_query_parameter_is_told_in_a_header(shop: Merchant, service: Service) -> None:
    plain = shop.get("/payments", limit="5", created_from="2026-01-01")
    assert "Laari-Warning" not in plain.headers
    misspelt = shop.get("/payments", stauts="paid", page="2")
    assert misspelt.status_code == 200
    assert misspelt.headers["Laari-Warning"] == "Ignored: stauts (did you mean status?); page"
    assert misspelt.json() == shop.get("/payments").json()
    many = shop.http.get("/payments?a=1&b=1&c=1&d=1&e=1&a=2")
    assert many.headers["Laari-Warning"] == "Ignored: a; b; c; 2 more"
    made = shop.http.post("/payments?expires=1", json=BODY, headers={"Idempotency-Key": "w"})
    assert made.headers["Laari-Warning"] == "Ignored: expires"
    replayed = shop.http.post("/payments", json=BODY, headers={"Idempotency-Key": "w"})
    assert replayed.content == made.content
    assert "Laari-Warning" not in replayed.headers
    wallet = {"X-API-Key": shop.control("wallet", {})["api_key"]}
    history = httpx.get(f"{service.origin}/wallet/transactions?limits=1", headers=wallet)
    assert history.headers["Laari-Warning"] == "Ignored: limits (did you mean limit?)"


def test_what_is_no_plain_name_is_not_repeated_in_a_header(shop: Merchant) -> None:
    response = shop.http.get("/payments?a%0d%0aSet-Cookie:x=1&%DE%AA=1")
    assert "Set-Cookie" not in response.headers
    told = [value for name, value in response.headers.items() if name == "laari-warning"]
    assert all("Cookie" not in value for value in told)
    strange = shop.http.get("/payments?a%0d%0aSet-Cookie:x=1").headers
    assert strange["Laari-Warning"] == "Ignored: a parameter that is not known"


def test_a_refused_local_webhook_names_the_setting(service: Service, shop: Merchant) -> None:
    for url in ("http://localhost:3000/hook", "https://127.0.0.1/hook"):
        done = service.laari("merchant", "update", shop.id, "--webhook-url", url)
        assert done.returncode == 1
        assert "LAARI_WEBHOOK_ALLOW_PRIVATE=on" in done.stderr
