from __future__ import annotations

import re

from reef.shop import Shop

from laari_client import Laari

NOWHERE = "http://127.0.0.1:9"  # where nobody listens


def bought(visitor, merchant):
    """Buys a dive: the page of the order, and the payment that Laari waits for."""
    response = visitor.post("/orders", data={"product": "reef-dive"})
    (payment,) = merchant.client.payments.list(status="pending")
    assert (response.status_code, response.headers["location"]) == (303, payment.payment_url)
    return payment.return_url.removeprefix(str(visitor.base_url).rstrip("/")), payment


def voucher(page):
    return re.findall(r'class="code">([0-9A-F]{8})<', page.text)


def test_a_paid_order_is_fulfilled_once(visitor, laari_merchant):
    page, payment = bought(visitor, laari_merchant)
    assert "waiting for your payment" in visitor.get(page).text
    laari_merchant.customer.pay(payment)
    delivery = laari_merchant.webhooks.wait_for("payment.paid", payment)
    first = voucher(visitor.get(page))
    assert len(first) == 1
    signature = {"Service-Signature": delivery.headers["Service-Signature"]}
    assert visitor.post("/hook", content=delivery.body, headers=signature).status_code == 204
    assert voucher(visitor.get(page)) == first


def test_the_price_is_the_shops_and_not_the_browsers(visitor, laari_merchant):
    visitor.post("/orders", data={"product": "snorkel", "amount": "1"})
    (payment,) = laari_merchant.client.payments.list()
    assert payment.amount == 20000
    assert visitor.post("/orders", data={"product": "submarine"}).status_code == 404


def test_the_return_page_asks_when_no_event_came(visitor, laari_merchant):
    laari_merchant.webhooks.fail_next(100)
    page, payment = bought(visitor, laari_merchant)
    laari_merchant.customer.pay(payment)
    assert len(voucher(visitor.get(page))) == 1


def test_a_customer_who_never_comes_back_gets_the_order_too(visitor, shop, laari_merchant):
    laari_merchant.webhooks.fail_next(100)
    page, payment = bought(visitor, laari_merchant)
    laari_merchant.customer.pay(payment)
    shop.reconcile()
    shop.laari = Laari(NOWHERE, laari_merchant.secret_key)  # the page need not ask any more
    assert len(voucher(visitor.get(page))) == 1


def test_a_declined_payment_can_be_tried_again(visitor, laari_merchant):
    page, payment = bought(visitor, laari_merchant)
    laari_merchant.customer.decline(payment)
    assert "was declined" in visitor.get(page).text
    response = visitor.post(f"{page}/pay")
    (second,) = laari_merchant.client.payments.list(status="pending")
    assert response.headers["location"] == second.payment_url
    assert second.reference == f"{payment.reference}-2"
    laari_merchant.customer.pay(second)
    assert len(voucher(visitor.get(page))) == 1
    assert visitor.post(f"{page}/pay").headers["location"] == page  # nothing left to pay


def test_an_order_survives_a_laari_that_is_away(visitor, shop, laari_merchant):
    reached = shop.laari
    shop.laari = Laari(NOWHERE, laari_merchant.secret_key, max_attempts=1)
    page = visitor.post("/orders", data={"product": "night-dive"}).headers["location"]
    assert "could not reach" in visitor.get(page).text
    shop.laari = reached
    for _ in range(2):  # pressed twice: one payment
        assert "/pay/" in visitor.post(f"{page}/pay").headers["location"]
    (payment,) = laari_merchant.client.payments.list()
    assert payment.amount == 150000


def test_forged_events_change_nothing(visitor, laari_merchant):
    page, _ = bought(visitor, laari_merchant)
    forged = b'{"id": "evt_1", "type": "payment.paid", "mode": "sandbox", "data": {}}'
    for headers in ({}, {"Service-Signature": f"t=1,v1={'0' * 64}"}):
        assert visitor.post("/hook", content=forged, headers=headers).status_code == 401
    assert visitor.post("/hook", content=b"x" * 1_000_001).status_code == 413
    assert voucher(visitor.get(page)) == []


def test_play_money_buys_nothing_in_a_live_shop(visitor, shop, laari_merchant, tmp_path):
    _, payment = bought(visitor, laari_merchant)
    laari_merchant.customer.pay(payment)
    delivery = laari_merchant.webhooks.wait_for("payment.paid", payment)
    live = Shop(shop.settings._replace(mode="active", database=tmp_path / "live.db"))
    order = live.order("reef-dive")
    assert order.reference == payment.reference
    live.take_event(delivery.body, delivery.headers["Service-Signature"])
    live.laari = Laari(NOWHERE, laari_merchant.secret_key)
    assert live.looked_up(order.token) == (order, None)
