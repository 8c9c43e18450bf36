"""Every operation asks for its scope, and no other scope stands in for it."""

from collections.abc import Iterator

import httpx
import pytest

from laari.edge.merchant.app import OPERATIONS
from laari.edge.merchant.operations import ANY_READ_SCOPE, ANY_SCOPE, Public
from laari.rules.merchants.scopes import READ_SCOPES, SCOPES
from tests.serving import Merchant, Service

# The specification's table, what was added to it, and the sandbox controls, which ask for the
# matching create scope.
TABLE = {
    ("POST", "/payments"): "payments:create",
    ("GET", "/payments"): "payments:read",
    ("GET", "/payments/{id}"): "payments:read",
    ("GET", "/authorizations/{id}/payments"): "payments:read",
    ("POST", "/payments/{id}/cancel"): "payments:cancel",
    ("POST", "/payments/{id}/refunds"): "payments:refund",
    ("GET", "/payments/{id}/refunds"): "payments:read",
    ("GET", "/refunds/{id}"): "payments:read",
    ("GET", "/balance"): "balance:read",
    ("GET", "/payouts"): "payouts:read",
    ("GET", "/payouts/{id}"): "payouts:read",
    ("GET", "/payouts/{id}/movements"): "payouts:read",
    ("POST", "/payment-requests"): "payment_requests:create",
    ("GET", "/payment-requests"): "payment_requests:read",
    ("GET", "/payment-requests/{id}"): "payment_requests:read",
    ("POST", "/payment-requests/{id}/cancel"): "payment_requests:cancel",
    ("POST", "/authorizations"): "authorizations:create",
    ("GET", "/authorizations"): "authorizations:read",
    ("GET", "/authorizations/{id}"): "authorizations:read",
    ("GET", "/authorizations/{id}/charge-preview"): "authorizations:read",
    ("POST", "/authorizations/{id}/charge"): "authorizations:charge",
    ("POST", "/authorizations/{id}/cancel"): "authorizations:cancel",
    **{
        ("POST", f"/sandbox/{noun}/{{id}}/{action}"): scope
        for noun, actions, scope in (
            ("payments", "pay reject reserve release", "payments:create"),
            ("payment-requests", "pay reject reserve release", "payment_requests:create"),
            ("authorizations", "approve reject suspend resume", "authorizations:create"),
        )
        for action in actions.split()
    },
}
ANY = {("POST", "/sandbox/wallet"), ("POST", "/sandbox/clock")}
PAYOUT_CONTROLS = {
    ("POST", "/sandbox/payouts"),
    ("POST", "/sandbox/payouts/{id}/settle"),
    ("POST", "/sandbox/payouts/{id}/return"),
}
ANY_READ = {("GET", "/events"), ("GET", "/events/{id}")}
SPECIAL = {
    **dict.fromkeys(ANY | PAYOUT_CONTROLS, ANY_SCOPE),
    **dict.fromkeys(ANY_READ, ANY_READ_SCOPE),
}
PUBLIC = {("GET", "/public/qr/{id}")}
SERVED = {(operation.method, operation.path): operation for operation in OPERATIONS}


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    return service.merchant()


@pytest.fixture(scope="module")
def callers(shop: Merchant) -> Iterator[dict[str, httpx.Client]]:
    """A caller for every scope that has this one scope alone, and one without any."""
    callers = {scope: shop.bearer(shop.token(scope)) for scope in (*SCOPES, "")}
    yield callers
    for caller in callers.values():
        caller.close()


def call(caller: httpx.Client, method: str, path: str) -> httpx.Response:
    path = path.replace("{id}", "none")
    return caller.request(method, path, json={} if method == "POST" else None)


def test_the_table_is_the_one_that_is_served() -> None:
    for row, operation in SERVED.items():
        expected = None if row in PUBLIC else {**TABLE, **SPECIAL}[row]
        scope = None if isinstance(operation, Public) else operation.scope
        assert scope == expected, row
    assert TABLE.keys() <= SERVED.keys()
    assert set(TABLE.values()) == set(SCOPES)


@pytest.mark.parametrize("row", sorted(TABLE), ids=" ".join)
def test_only_the_right_scope_passes(
    callers: dict[str, httpx.Client], row: tuple[str, str]
) -> None:
    needed = TABLE[row]
    for scope, caller in callers.items():
        response = call(caller, *row)
        if scope == needed:
            # Past the scope: what is wrong now is the body or the id, or nothing.
            assert response.status_code in (200, 400, 404), (scope, response.text)
        else:
            assert response.status_code == 403, (scope, response.text)
            error = response.json()["error"]
            assert error["code"] == "insufficient_scope"
            assert needed in error["message"].replace(".", " ").split()


@pytest.mark.parametrize("row", sorted(ANY | PAYOUT_CONTROLS), ids=" ".join)
def test_any_one_scope_passes(callers: dict[str, httpx.Client], row: tuple[str, str]) -> None:
    passing = (404, 409) if row in PAYOUT_CONTROLS else (200, 400)
    for scope, caller in callers.items():
        response = call(caller, *row)
        if scope:
            assert response.status_code in passing, (scope, response.text)
        else:
            assert response.status_code == 403
            assert response.json()["error"]["code"] == "insufficient_scope"


@pytest.mark.parametrize("row", sorted(ANY_READ), ids=" ".join)
def test_one_scope_that_reads_passes(
    callers: dict[str, httpx.Client], row: tuple[str, str]
) -> None:
    for scope, caller in callers.items():
        expected = (200, 404) if scope in READ_SCOPES else (403,)
        assert call(caller, *row).status_code in expected, scope


def test_a_token_sees_the_events_of_what_it_may_read(service: Service) -> None:
    shop = service.merchant()
    shop.control(f"payments/{shop.payment()['id']}/pay")
    assert shop.post("/sandbox/payouts").status_code == 201
    shop.request()
    shop.authorization()
    event_ids = {each["type"]: each["id"] for each in shop.get("/events").json()["data"]}
    assert set(event_ids) == {
        "payment.created",
        "payment.paid",
        "payout.sent",
        "payment_request.created",
        "authorization.created",
    }
    for scope in READ_SCOPES:
        with shop.bearer(shop.token(scope)) as caller:
            seen = {each["type"] for each in caller.get("/events").json()["data"]}
            assert {each.partition(".")[0] + "s:read" for each in seen} == {scope}
            for event_type, event_id in event_ids.items():
                expected = 200 if event_type in seen else 403
                assert caller.get(f"/events/{event_id}").status_code == expected
                listed = caller.get("/events", params={"type": event_type})
                assert listed.status_code == expected


@pytest.mark.parametrize("row", sorted(SERVED.keys() - PUBLIC), ids=" ".join)
def test_keys_grant_every_scope(shop: Merchant, row: tuple[str, str]) -> None:
    passing = (200, 400, 404, 409)
    assert call(shop.http, *row).status_code in passing
    with httpx.Client(
        base_url=f"{shop.service.origin}/merchant", auth=(shop.id, shop.secret_key)
    ) as basic:
        assert call(basic, *row).status_code in passing


def test_a_scope_that_was_changed_in_the_database_opens_nothing(shop: Merchant) -> None:
    token = shop.token("payments:read")
    shop.service.execute(
        "UPDATE access_tokens t SET scope = 'payments:cancel' FROM oauth_clients c "
        "WHERE c.id = t.client_id AND c.merchant_id = $1",
        shop.id,
    )
    with shop.bearer(token) as caller:
        assert caller.get("/payments").status_code == 401
        assert caller.post("/sandbox/clock", json={"advance_seconds": 0}).status_code == 401


def test_a_token_makes_and_reads(shop: Merchant) -> None:
    with shop.bearer(shop.token()) as caller:
        made = caller.post("/payments", json={"reference": "by token", "amount": 1})
        assert made.status_code == 201
        found = shop.get(f"/payments/{made.json()['data']['id']}")
        assert found.json() == made.json()
