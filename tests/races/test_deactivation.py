"""A deactivated merchant takes no money, from the moment on that the operator is told so."""

import asyncio

import httpx
import pytest

from laari.store.postgres.pool import connection_to
from tests.actors import change
from tests.serving import Merchant

pytestmark = pytest.mark.ci

WAITS = """
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
               AND datname = current_database() AND query LIKE '%FROM merchants%FOR SHARE')
"""


def deactivated_under_way(shop: Merchant, path: str) -> httpx.Response:
    """Asks while the deactivation is not committed yet: the credentials still count."""

    async def run() -> httpx.Response:
        dsn = shop.service.dsn
        async with connection_to(dsn) as operator, connection_to(dsn) as observer:
            async with operator.transaction():
                await change(operator, "UPDATE merchants SET active = false WHERE id = $1", shop.id)
                asking = asyncio.create_task(asyncio.to_thread(shop.post, path))
                while not await observer.fetchval(WAITS):
                    assert not asking.done(), asking.result().text
                    await asyncio.sleep(0.01)
            response = await asking
            await change(operator, "UPDATE merchants SET active = true WHERE id = $1", shop.id)
        return response

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("kind", "action", "code"),
    [
        ("payments", "pay", "payment_conflict"),
        ("payments", "reserve", "payment_conflict"),
        ("payment-requests", "pay", "payment_conflict"),
        ("payment-requests", "reserve", "payment_conflict"),
        ("authorizations", "approve", "authorization_unavailable"),
    ],
)
def test_what_waits_for_the_deactivation_is_refused(
    shop: Merchant, kind: str, action: str, code: str
) -> None:
    make = {
        "payments": shop.payment,
        "payment-requests": shop.request,
        "authorizations": shop.authorization,
    }[kind]
    asked = make()
    refused = deactivated_under_way(shop, f"/sandbox/{kind}/{asked['id']}/{action}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, code)
    assert shop.get(f"/{kind}/{asked['id']}").json()["data"]["status"] == "pending"
    assert shop.control(f"{kind}/{asked['id']}/{action}")["id"] == asked["id"]


def test_an_attempt_that_fails_so_is_over_and_leaves_no_trace(shop: Merchant) -> None:
    payment = shop.payment()
    shop.control(f"payments/{payment['id']}/reserve")
    path = f"/sandbox/payments/{payment['id']}/pay"
    assert deactivated_under_way(shop, path).status_code == 409
    key = shop.control("wallet", {})["api_key"]
    address = f"{shop.service.origin}/wallet/transactions"
    history = httpx.get(address, headers={"X-API-Key": key}).json()["data"]
    assert [line["type"] for line in history] == ["topup"]
    assert shop.post(f"/payments/{payment['id']}/cancel").status_code == 200
