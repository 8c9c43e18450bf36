"""Refunds and the balance over the interface: fields, refusals, replays, both modes."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from laari.rules.actors import Payer
from laari.rules.ids import read_id
from laari.rules.payments.payments import PayPayment
from tests.pages.people import new_customer
from tests.pages.wallets import submit, tenant_of
from tests.serving import Merchant, Service

DAY = 86_400


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def paid(shop: Merchant, amount: int = 10_000, **fields: Any) -> dict[str, Any]:
    payment = shop.payment(amount=amount, **fields)
    return shop.control(f"payments/{payment['id']}/pay")


def refund(shop: Merchant, payment: dict[str, Any], /, **body: Any) -> httpx.Response:
    headers = {name: body.pop(name) for name in ("Idempotency_Key",) if name in body}
    return shop.post(f"/payments/{payment['id']}/refunds", body, **headers)


def balance(shop: Merchant) -> int:
    found = shop.get("/balance").json()["data"]
    assert (found["held"], found["in_transit"], found["currency"]) == (0, 0, "MVR")
    return int(found["available"])


def laari(service: Service, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(service.laari(*arguments, "--json").stdout)
    return found


def test_a_refund_has_these_fields(service: Service) -> None:
    shop = service.merchant(fee_bps=250)
    payment = paid(shop)
    response = refund(shop, payment, amount=4_000, reason="duplicate", note=" One of two ")
    assert response.status_code == 201
    data = response.json()["data"]
    assert data.pop("id").startswith("rfd_")
    assert data.pop("created_at").endswith("+05:00")
    assert data == {
        "payment_id": payment["id"],
        "amount": 4_000,
        "reason": "duplicate",
        "note": "One of two",
    }
    # The payment keeps its fields, and stays paid.
    assert shop.get(f"/payments/{payment['id']}").json()["data"] == payment
    assert balance(shop) == 10_000 - 250 - 4_000


def test_the_rest_is_refunded_without_an_amount(shop: Merchant) -> None:
    payment = paid(shop)
    refund(shop, payment, amount=1)
    last = refund(shop, payment).json()["data"]
    assert (last["amount"], last["reason"], last["note"]) == (9_999, None, None)
    assert shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "refunded"
    assert balance(shop) == 0


def test_a_request_is_refunded_with_the_last_part(shop: Merchant) -> None:
    request = shop.request(amount=5_000)
    done = shop.control(f"payment-requests/{request['id']}/pay")
    for amount, status in ((2_000, "paid"), (3_000, "refunded")):
        assert refund(shop, {"id": done["payment_id"]}, amount=amount).status_code == 201
        found = shop.get(f"/payment-requests/{request['id']}").json()["data"]
        assert found["status"] == status


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"amount": 0}, "amount"),
        ({"amount": -1}, "amount"),
        ({"amount": 1.5}, "amount"),
        ({"amount": "100"}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": 10**10}, "amount"),
        ({"reason": "weather"}, "reason"),
        ({"note": "x" * 501}, "note"),
        ({"note": 5}, "note"),
    ],
)
def test_fields_are_checked_first(shop: Merchant, body: dict[str, Any], field: str) -> None:
    refused = shop.post("/payments/pay_unknown/refunds", body)
    assert code(refused) == (400, "invalid_request")
    assert refused.json()["error"]["field"] == field


def test_what_cannot_be_refunded(service: Service, shop: Merchant) -> None:
    pending = shop.payment()
    assert code(refund(shop, pending)) == (409, "payment_not_refundable")
    assert code(refund(shop, {"id": "pay_" + "0" * 32})) == (404, "not_found")
    done = paid(shop)
    assert code(refund(service.merchant(), done)) == (404, "not_found")
    assert code(refund(shop, done, amount=10_001)) == (409, "refund_exceeds_payment")
    assert refund(shop, done).status_code == 201
    assert code(refund(shop, done)) == (409, "payment_not_refundable")
    old = paid(shop)
    shop.advance(366 * DAY)
    assert code(refund(shop, old)) == (409, "payment_not_refundable")


def test_a_key_refunds_once(shop: Merchant) -> None:
    payment = paid(shop)
    first = refund(shop, payment, amount=3_000, Idempotency_Key="a")
    again = refund(shop, payment, amount=3_000, Idempotency_Key="a")
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    other = refund(shop, payment, amount=3_001, Idempotency_Key="a")
    assert code(other) == (409, "idempotency_conflict")
    # The key belongs to this payment.
    elsewhere = refund(shop, paid(shop), amount=3_000, Idempotency_Key="a")
    assert code(elsewhere) == (409, "idempotency_conflict")
    assert balance(shop) == 20_000 - 3_000


def test_refunds_are_listed_newest_first_in_pages(service: Service, shop: Merchant) -> None:
    payment = paid(shop)
    made = []
    for amount in (1, 2, 3):
        made.append(refund(shop, payment, amount=amount).json()["data"])
        shop.advance(1)
    path = f"/payments/{payment['id']}/refunds"
    first = shop.get(path, limit=2).json()
    assert first["data"] == [made[2], made[1]]
    rest = shop.get(path, limit=2, after=first["pagination"]["next_cursor"]).json()
    assert (rest["data"], rest["pagination"]["has_more"]) == ([made[0]], False)
    assert shop.get(f"/refunds/{made[0]['id']}").json()["data"] == made[0]
    stranger = service.merchant()
    for address in (path, f"/refunds/{made[0]['id']}", "/refunds/rfd_x", "/refunds/pay_x"):
        assert code(stranger.get(address)) == (404, "not_found")
    own = paid(stranger)
    cursor = first["pagination"]["next_cursor"]
    other = stranger.get(f"/payments/{own['id']}/refunds", after=cursor)
    assert other.json()["data"] == []


def test_each_refund_has_an_event_and_a_line_of_history(shop: Merchant) -> None:
    payment = paid(shop, title="Lunch")
    made = [refund(shop, payment, amount=amount).json()["data"] for amount in (4_000, 6_000)]
    events = shop.get("/events", type="payment.refunded").json()["data"][::-1]
    assert [{**event["data"], "payment": None} for event in events] == [
        {**each, "payment": None} for each in made
    ]
    assert [event["data"]["payment"]["status"] for event in events] == ["paid", "refunded"]
    lines = shop.service.execute(
        "SELECT t.amount, t.details, r.amount FROM refunds r JOIN transactions t USING (tid) "
        "JOIN tenants n ON n.id = r.tenant_id WHERE n.merchant_id = $1 ORDER BY t.recorded",
        shop.id,
    )
    assert [tuple(line) for line in lines] == [(4_000, "Lunch", 4_000), (6_000, "Lunch", 6_000)]


def test_a_client_has_the_scopes_only_by_name(shop: Merchant) -> None:
    created = laari(shop.service, "client", "create", shop.id)
    assert len(created["scopes"]) == 10
    assert not {"payments:refund", "balance:read"} & set(created["scopes"])
    named = laari(shop.service, "client", "create", shop.id, "--scope", "payments:refund")
    assert named["scopes"] == ["payments:refund"]


def test_the_actor_is_the_credential(shop: Merchant) -> None:
    payment = paid(shop)
    refund(shop, payment, amount=1)
    with shop.bearer(shop.token("payments:refund")) as caller:
        assert caller.post(f"/payments/{payment['id']}/refunds", json={}).status_code == 201
    actors = shop.service.execute(
        "SELECT actor_kind, actor_name FROM refunds JOIN payments p ON p.id = payment_id "
        "WHERE p.reference = $1 ORDER BY refunds.created_at",
        payment["reference"],
    )
    (kind, name), (client_kind, client) = map(tuple, actors)
    assert (kind, name, client_kind) == ("credential", "secret key", "credential")
    assert client.startswith("cl_")


async def test_the_modes_have_separate_refunds_and_balances(service: Service) -> None:
    shop = await asyncio.to_thread(service.merchant, mode="live")
    customer = await new_customer(service, balance=50_000)
    tenant = await tenant_of(shop, "live")
    payment = await asyncio.to_thread(shop.payment, amount=10_000)
    payment_id = read_id("pay_", payment["id"])
    assert payment_id is not None
    await submit(service, PayPayment(tenant, payment_id, Payer(customer.account, "live")))
    made = await asyncio.to_thread(refund, shop, payment, amount=2_500)
    assert made.status_code == 201
    assert await asyncio.to_thread(balance, shop) == 7_500
    await asyncio.to_thread(laari, service, "merchant", "update", shop.id, "--mode", "sandbox")
    assert await asyncio.to_thread(balance, shop) == 0
    assert code(await asyncio.to_thread(refund, shop, payment)) == (404, "not_found")
    found = await asyncio.to_thread(shop.get, f"/refunds/{made.json()['data']['id']}")
    assert code(found) == (404, "not_found")


@pytest.mark.parametrize(
    ("language", "words"), [("en", "Refunded to the wallet"), ("dv", "ވޮލެޓަށް އަނބުރާ ދިން")]
)
def test_the_customer_sees_each_part_on_the_receipt(
    shop: Merchant, language: str, words: str
) -> None:
    payment = paid(shop)
    for amount in (1_234, 2_345):
        refund(shop, payment, amount=amount, note="internal words")
    page = httpx.get(payment["payment_url"], headers={"Accept-Language": language}).text
    assert page.count(words) == 2
    assert "12.34" in page
    assert "23.45" in page
    assert "internal words" not in page


@pytest.mark.ci
async def test_many_refunds_at_once_never_exceed_the_payment_or_the_balance(
    service: Service,
) -> None:
    shop = await asyncio.to_thread(service.merchant, fee_bps=1_000)
    first, second = [await asyncio.to_thread(paid, shop) for _ in range(2)]
    # A hold leaves 4,000 laari.
    words = ("merchant", "hold", shop.id, "14000", "--mode", "sandbox", "--reason", "test")
    held = await asyncio.to_thread(service.laari, *words)
    assert held.returncode == 0, held.stderr
    assert shop.get("/balance").json()["data"]["available"] == 4_000
    async with httpx.AsyncClient(
        base_url=shop.http.base_url, headers=shop.http.headers, timeout=30
    ) as client:
        answers = await asyncio.gather(
            *(
                client.post(f"/payments/{each['id']}/refunds", json={"amount": 500})
                for each in (first, second)
                for _ in range(32)
            )
        )
    outcomes = [each.status_code for each in answers]
    made = outcomes.count(201)
    assert set(outcomes) <= {201, 409, 429, 503}
    # Each payment's fee of 1,000 counts with its first refund.
    assert made == 12
    assert shop.get("/balance").json()["data"]["available"] == -2_000
