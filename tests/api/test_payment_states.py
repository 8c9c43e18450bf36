"""Paying, declining, reserving, cancelling, expiring and refunding a payment."""

import httpx
import pytest

from tests.serving import Merchant, Service


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def act(shop: Merchant, payment: dict[str, object], action: str) -> httpx.Response:
    return shop.post(f"/sandbox/payments/{payment['id']}/{action}")


def test_paying_settles_the_payment(service: Service) -> None:
    shop = service.merchant(fee_bps=250, fee_fixed=100)
    payment = shop.payment(amount=12_345)
    paid = act(shop, payment, "pay")
    assert paid.status_code == 200
    data = paid.json()["data"]
    assert (data["status"], data["fee"], data["net_amount"]) == ("paid", 409, 11_936)
    assert data["paid_at"].endswith("+05:00")
    assert len(data["payment_reference"]) == 16
    assert shop.get(f"/payments/{payment['id']}").json()["data"] == data
    assert shop.events(payment["id"]) == ["payment.created", "payment.paid"]
    assert shop.control("wallet", {})["balance"] == 10_000_000 - 12_345


def test_the_fee_never_exceeds_the_amount(service: Service) -> None:
    shop = service.merchant(fee_bps=10_000, fee_fixed=500)
    paid = act(shop, shop.payment(amount=3), "pay").json()["data"]
    assert (paid["fee"], paid["net_amount"]) == (3, 0)


def test_a_payment_is_paid_once(shop: Merchant) -> None:
    payment = shop.payment()
    act(shop, payment, "pay")
    assert code(act(shop, payment, "pay")) == (409, "payment_conflict")
    assert shop.events(payment["id"]).count("payment.paid") == 1


def test_too_little_money_leaves_it_pending(shop: Merchant) -> None:
    payment = shop.payment(amount=500)
    shop.control("wallet", {"balance": 499})
    assert code(act(shop, payment, "pay")) == (402, "insufficient_balance")
    assert shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "pending"
    shop.control("wallet", {"balance": 500})
    assert act(shop, payment, "pay").status_code == 200
    assert shop.control("wallet", {})["balance"] == 0


@pytest.mark.parametrize(
    ("amounts", "last"),
    [((500_000,), 500_001), ((500_000, 500_000), 1)],
    ids=["per transaction", "per day"],
)
def test_wallet_limits_of_the_tier(shop: Merchant, amounts: tuple[int, ...], last: int) -> None:
    shop.control("wallet", {"tier": "basic"})
    for amount in amounts:
        assert act(shop, shop.payment(amount=amount), "pay").status_code == 200
    over = shop.payment(amount=last)
    assert code(act(shop, over, "pay")) == (422, "wallet_limit_exceeded")
    assert shop.get(f"/payments/{over['id']}").json()["data"]["status"] == "pending"
    history = shop.service.execute(
        "SELECT t.status, t.amount FROM transactions t JOIN wallets w USING (account) "
        "JOIN customers c ON c.id = w.customer_id JOIN tenants n ON n.id = c.sandbox_of "
        "WHERE n.merchant_id = $1 ORDER BY recorded DESC LIMIT 1",
        shop.id,
    )
    assert tuple(history[0]) == ("failed", -last)


def test_balance_is_checked_before_limits(shop: Merchant) -> None:
    shop.control("wallet", {"tier": "basic", "balance": 10})
    assert code(act(shop, shop.payment(amount=600_000), "pay"))[0] == 402


def test_daily_limit_resets_at_midnight(shop: Merchant) -> None:
    shop.control("wallet", {"tier": "basic"})
    for _ in range(2):
        act(shop, shop.payment(amount=500_000), "pay")
    assert code(act(shop, shop.payment(amount=1), "pay"))[0] == 422
    shop.advance(24 * 3600)
    assert act(shop, shop.payment(amount=1), "pay").status_code == 200


def test_declining_is_final_and_silent(shop: Merchant) -> None:
    payment = shop.payment()
    rejected = act(shop, payment, "reject")
    assert rejected.json()["data"]["status"] == "rejected"
    assert shop.events(payment["id"]) == ["payment.created"]
    assert code(act(shop, payment, "pay")) == (409, "payment_conflict")
    cancelled = shop.post(f"/payments/{payment['id']}/cancel")
    assert code(cancelled) == (409, "payment_not_cancellable")


def test_cancelling_once_and_again(shop: Merchant) -> None:
    payment = shop.payment()
    for _ in range(2):
        response = shop.post(f"/payments/{payment['id']}/cancel")
        assert (response.status_code, response.json()["data"]["status"]) == (200, "cancelled")
    assert shop.events(payment["id"]) == ["payment.created", "payment.cancelled"]
    assert code(act(shop, payment, "pay")) == (409, "payment_conflict")


def test_a_paid_or_expired_payment_is_not_cancellable(shop: Merchant) -> None:
    paid, late = shop.payment(), shop.payment()
    act(shop, paid, "pay")
    shop.advance(25 * 3600)
    shop.get(f"/payments/{late['id']}")
    for payment in (paid, late):
        response = shop.post(f"/payments/{payment['id']}/cancel")
        assert code(response) == (409, "payment_not_cancellable")


def test_an_overdue_payment_that_nobody_read_can_be_cancelled(shop: Merchant) -> None:
    payment = shop.payment()
    shop.advance(25 * 3600)
    response = shop.post(f"/payments/{payment['id']}/cancel")
    assert response.json()["data"]["status"] == "cancelled"
    assert shop.events(payment["id"]) == ["payment.created", "payment.cancelled"]


def test_cancel_ignores_a_body_and_knows_only_own_payments(
    service: Service, shop: Merchant
) -> None:
    payment = shop.payment()
    stranger = service.merchant()
    assert code(stranger.post(f"/payments/{payment['id']}/cancel")) == (404, "not_found")
    assert code(shop.post("/payments/pay_nothing/cancel")) == (404, "not_found")
    assert code(shop.post(f"/payments/{payment['reference']}/cancel")) == (404, "not_found")
    ignored = shop.http.post(f"/payments/{payment['id']}/cancel", content=b"{not json")
    assert ignored.status_code == 200


def test_reading_an_overdue_payment_expires_it_once(shop: Merchant) -> None:
    payment = shop.payment()
    shop.advance(24 * 3600 - 5)
    assert shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "pending"
    shop.advance(6)
    for _ in range(2):
        read = shop.get(f"/payments/{payment['id']}").json()["data"]
        assert read["status"] == "expired"
    assert shop.events(payment["id"]) == ["payment.created", "payment.expired"]
    assert code(act(shop, payment, "pay")) == (409, "payment_conflict")


def test_an_overdue_payment_cannot_be_paid_even_unread(shop: Merchant) -> None:
    payment = shop.payment()
    shop.advance(25 * 3600)
    for action in ("pay", "reject", "reserve"):
        assert code(act(shop, payment, action)) == (409, "payment_conflict")
    assert shop.events(payment["id"]) == ["payment.created"]


def test_a_reserved_payment_neither_expires_nor_is_cancelled(shop: Merchant) -> None:
    payment = shop.payment()
    assert act(shop, payment, "reserve").json()["data"]["status"] == "pending"
    assert code(act(shop, payment, "reserve")) == (409, "payment_conflict")
    assert code(act(shop, payment, "reject")) == (409, "payment_conflict")
    shop.advance(25 * 3600)
    assert shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "pending"
    cancelled = shop.post(f"/payments/{payment['id']}/cancel")
    assert code(cancelled) == (409, "payment_conflict")
    assert act(shop, payment, "pay").json()["data"]["status"] == "paid"


def test_releasing_gives_the_attempt_up(shop: Merchant) -> None:
    payment = shop.payment()
    assert code(act(shop, payment, "release")) == (409, "payment_conflict")
    act(shop, payment, "reserve")
    assert act(shop, payment, "release").status_code == 200
    shop.advance(25 * 3600)
    assert shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "expired"


def test_a_failed_payment_ends_its_reservation(shop: Merchant) -> None:
    payment = shop.payment(amount=100)
    act(shop, payment, "reserve")
    shop.control("wallet", {"balance": 0})
    assert code(act(shop, payment, "pay")) == (402, "insufficient_balance")
    assert shop.post(f"/payments/{payment['id']}/cancel").status_code == 200


def test_refund_gives_the_money_back(service: Service) -> None:
    shop = service.merchant(fee_bps=100)
    payment = shop.payment(amount=10_000)
    paid = act(shop, payment, "pay").json()["data"]
    result = service.laari("payment", "refund", payment["id"], "--json")
    assert result.returncode == 0, result.stderr
    refunded = shop.get(f"/payments/{payment['id']}").json()["data"]
    assert refunded == {**paid, "status": "refunded"}
    assert shop.control("wallet", {})["balance"] == 10_000_000
    assert shop.events(payment["id"]) == ["payment.created", "payment.paid"]
    again = service.laari("payment", "refund", payment["id"])
    assert again.returncode == 1
    audit = service.laari("audit", "--json")
    assert audit.returncode == 0, audit.stdout


def test_a_clock_moved_back_finds_what_was_spent_that_day(shop: Merchant) -> None:
    """Usage belongs to days, not to the order in which a test visits them."""
    shop.control("wallet", {"tier": "basic"})

    def pay(amount: int) -> int:
        return act(shop, shop.payment(amount=amount), "pay").status_code

    assert [pay(500_000), pay(400_000)] == [200, 200]
    shop.advance(40 * 86_400)
    assert [pay(500_000), pay(500_000), pay(1)] == [200, 200, 422]
    shop.control("clock", {"reset": True})
    assert [pay(100_001), pay(100_000), pay(1)] == [422, 200, 422]
    shop.advance(40 * 86_400)
    assert pay(1) == 422
