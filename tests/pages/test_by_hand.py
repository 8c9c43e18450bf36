"""Requests and authorizations that a person of a shop makes without a program."""

import httpx
import pytest

from laari.edge.pages.dashboard.by_hand.payment_request import kind_of
from tests.pages.forms import Forms
from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.serving import Service

SANDBOX = {"customer": "sandbox", "amount": "125.50", "title": "Whale watching"}
TAB = {"title": "Room 7", "total": "500", "expires_at": "2090-01-01T12:00", "reference": "R7"}


@pytest.fixture
def owner(usual_service: Service) -> Owner:
    return new_owner(usual_service, fee_bps=100)


@pytest.fixture
def forms(owner: Owner) -> Forms:
    forms = Forms()
    forms.log_in(f"{owner.shop.service.origin}/dashboard/login", owner.email, PASSWORD)
    return forms


def send(forms: Forms, owner: Owner, rest: str, page: str = "", **fields: str) -> httpx.Response:
    token = forms.token(owner.url(f"/sandbox{page or rest}"))
    return forms.send(owner.url(f"/sandbox{rest}"), {"form_token": token, **fields})


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("7771234", "mobile"),
        ("+960 777 1234", "mobile"),
        ("sandbox", "vpa"),
        ("aisha@fp", "vpa"),
        ("Aisha@example.mv", "email"),
        ("777123", "vpa"),
    ],
)
def test_a_text_names_a_customer_by_its_form(written: str, kind: str) -> None:
    assert kind_of(written, ("fp",)) == kind


def test_a_request_is_sent_once_however_often_the_form_is(owner: Owner, forms: Forms) -> None:
    for _ in range(2):
        made = send(forms, owner, "/requests/new", **SANDBOX, reference="REQ-1")
        assert made.status_code == 303
    [stored] = owner.shop.get("/payment-requests").json()["data"]
    assert (stored["amount"], stored["customer"]) == (12_550, {"type": "vpa", "value": "sandbox"})
    page = forms.http.get(owner.shop.service.origin + made.headers["location"]).text
    assert "The request is sent." in page


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"customer": "someone"}, "Sandbox mode allows requests only"),
        ({"amount": "0"}, "The amount must be at least"),
        ({"bill_number": "a;b"}, "The bill number may contain only"),
        ({"expires_at": "2020-01-01T10:00"}, "The time of expiry must be in the future"),
    ],
)
def test_a_wrong_request_is_refused_in_words_of_the_form(
    owner: Owner, forms: Forms, fields: dict[str, str], message: str
) -> None:
    refused = send(forms, owner, "/requests/new", reference="one", **{**SANDBOX, **fields})
    assert refused.status_code in (400, 403, 422)
    assert message in refused.text.replace("\N{NO-BREAK SPACE}", " ")
    assert owner.shop.get("/payment-requests").json()["data"] == []


def test_a_tab_is_offered_approved_and_charged_up_to_its_total(owner: Owner, forms: Forms) -> None:
    shop = owner.shop
    made = send(forms, owner, "/authorizations/new", **TAB)
    [stored] = shop.get("/authorizations").json()["data"]
    assert (stored["limits"]["total"], stored["expires_at"]) == (
        50_000,
        "2090-01-01T12:00:00+05:00",
    )
    shown = f"/authorizations/{stored['id']}"
    pending = forms.http.get(owner.shop.service.origin + made.headers["location"]).text
    assert 'alt="QR code of the approval page"' in pending
    assert "Charge the customer" not in pending
    shop.control(f"authorizations/{stored['id']}/approve")
    drinks = {"amount": "400", "title": "Drinks", "reference": "drinks"}
    for _ in range(2):
        done = send(forms, owner, f"{shown}/charge", shown, **drinks)
        assert done.status_code == 303, done.text
    page = forms.http.get(owner.url(f"/sandbox{shown}")).text
    assert "100.00" in page.partition("Left in total")[2][:200]
    refused = send(forms, owner, f"{shown}/charge", shown, **drinks | {"reference": "more"})
    assert (refused.status_code, "lifetime limit" in refused.text) == (409, True)
    [entry] = shop.service.execute(
        "SELECT actor_name FROM journal WHERE merchant_id = $1 AND action = 'authorization.charge'",
        shop.id,
    )
    assert entry["actor_name"] == owner.email
    [payment] = shop.get(f"{shown}/payments").json()["data"]
    assert (payment["amount"], payment["title"]) == (40_000, "Drinks")


def test_a_tab_needs_a_total_and_an_end(owner: Owner, forms: Forms) -> None:
    for fields, message in (
        ({"total": ""}, "The total must be a number"),
        ({"expires_at": ""}, "The end is required."),
        ({"expires_at": "2020-01-01T10:00"}, "The end must be in the future"),
        ({"title": ""}, "The text of “What for” must not be blank"),
    ):
        refused = send(forms, owner, "/authorizations/new", **TAB | fields)
        assert refused.status_code in (400, 422)
        assert message in refused.text
    assert owner.shop.get("/authorizations").json()["data"] == []
