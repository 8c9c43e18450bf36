"""The pages keep live and sandbox apart themselves, before any rule has to refuse."""

from typing import Any
from uuid import UUID

import pytest

from laari.store.postgres.pool import connection_to
from tests.logins import opened
from tests.pages.forms import Forms
from tests.pages.owners import new_owner
from tests.pages.people import new_customer
from tests.serving import Merchant, Service


async def logged_in(service: Service, whose: UUID | str, cookie: str) -> Forms:
    async with connection_to(service.dsn) as connection:
        token = await opened(connection, whose, master=service.master_key)
    forms = Forms()
    forms.http.cookies.set(cookie, token)
    return forms


def stored(service: Service, asked: dict[str, Any], table: str = "payments") -> str:
    row = service.execute(
        f"SELECT * FROM {table} WHERE id = $1::uuid", asked["id"].partition("_")[2]
    )[0]
    assert "reserved_at" not in row or row["reserved_at"] is None
    return str(row["status"])


@pytest.mark.parametrize("action", ["pay", "decline"])
@pytest.mark.parametrize("mode", ["live", "sandbox"])
async def test_a_payer_of_the_other_mode_is_asked_to_log_in(
    service: Service, mode: str, action: str
) -> None:
    shop = service.merchant(mode=mode)
    other = "sandbox" if mode == "live" else "live"
    forms = await logged_in(service, (await new_customer(service, mode=other)).id, "laari")
    payment = shop.payment()
    address = payment["payment_url"]
    answer = forms.send(f"{address}/{action}", {"form_token": forms.token(address)})
    assert (answer.status_code, answer.headers.get("location")) == (
        303,
        address.removeprefix(service.origin),
    )
    assert stored(service, payment) == "pending"


@pytest.mark.parametrize("action", ["approve", "reject"])
async def test_an_approver_of_the_other_mode_is_asked_to_log_in(
    service: Service, live_shop: Merchant, action: str
) -> None:
    forms = await logged_in(service, (await new_customer(service, mode="sandbox")).id, "laari")
    asked = live_shop.authorization()
    address = asked["approval_url"]
    answer = forms.send(f"{address}/{action}", {"form_token": forms.token(address)})
    assert answer.status_code == 303
    assert stored(service, asked, "authorizations") == "pending"


@pytest.mark.parametrize("action", ["pay", "decline", "hold", "release"])
def test_the_checkout_of_a_live_payment_has_no_sandbox_controls(
    service: Service, live_shop: Merchant, action: str
) -> None:
    payment = live_shop.payment(title="Box of tuna")
    address, forms = payment["payment_url"], Forms()
    assert "/sandbox/" not in forms.http.get(address).text
    answer = forms.send(f"{address}/sandbox/{action}", {"form_token": forms.token(address)})
    assert answer.status_code == 404
    assert "Box of tuna" not in answer.text  # it is no page at all, and not one that says no
    assert stored(service, payment) == "pending"


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_the_approval_of_a_live_authorization_has_no_sandbox_controls(
    service: Service, live_shop: Merchant, action: str
) -> None:
    asked = live_shop.authorization(title="Box of tuna")
    address, forms = asked["approval_url"], Forms()
    answer = forms.send(f"{address}/sandbox/{action}", {"form_token": forms.token(address)})
    assert answer.status_code == 404
    assert "Box of tuna" not in answer.text
    assert stored(service, asked, "authorizations") == "pending"


async def test_the_dashboard_has_no_sandbox_controls_in_live_mode(service: Service) -> None:
    owner = new_owner(service, mode="live")
    payment = owner.shop.payment(title="Box of tuna")
    authorization = owner.shop.authorization(title="Box of tuna")
    forms = await logged_in(service, owner.email, "laari-dashboard")
    dashboard = owner.url("/live")
    token = forms.token(f"{dashboard}/keys")
    before = service.execute("SELECT * FROM wallets ORDER BY account")
    assert forms.http.get(f"{dashboard}/sandbox").status_code == 404
    for path, fields in (
        (f"/payments/{payment['id']}/sandbox/pay", {}),
        (f"/payments/{payment['id']}/sandbox/reserve", {}),
        (f"/payments/{payment['id']}/sandbox/reject", {}),
        (f"/authorizations/{authorization['id']}/sandbox/approve", {}),
        ("/sandbox/wallet", {"balance": "5.00", "tier": "verified"}),
        ("/sandbox/clock", {"number": "1", "unit": "days"}),
    ):
        answer = forms.send(dashboard + path, {"form_token": token, **fields})
        assert (path, answer.status_code) == (path, 404)
        assert "Box of tuna" not in answer.text
        assert 'name="balance"' not in answer.text
    assert stored(service, payment) == "pending"
    assert stored(service, authorization, "authorizations") == "pending"
    assert service.execute("SELECT * FROM wallets ORDER BY account") == before
