from __future__ import annotations

import re
from decimal import Decimal

import pytest

RETURN = "/payments/process/{}/"


@pytest.fixture
def bought(browser, laari_merchant):
    """An order whose customer was sent to Laari: the shop's payment, and Laari's."""
    from shop.models import Payment  # noqa: PLC0415  # wants Django's settings

    response = browser.get("/")
    (hosted,) = laari_merchant.client.payments.list()
    assert (response.status_code, response.headers["Location"]) == (302, hosted.payment_url)
    return Payment.objects.get(token=hosted.reference), hosted


@pytest.fixture
def changes():
    """Every status that the shop was told, in that order."""
    from payments.signals import status_changed  # noqa: PLC0415

    seen = []

    def note(sender, instance, **_):
        seen.append(instance.status)

    status_changed.connect(note)
    yield seen
    status_changed.disconnect(note)


def status(payment):
    payment.refresh_from_db()
    return payment.status


def returns(browser, payment):
    """Where a customer who comes back from Laari is sent."""
    return browser.get(RETURN.format(payment.token)).headers["Location"]


def test_a_hosted_payment_has_the_orders_data(bought):
    payment, hosted = bought
    assert (hosted.amount, hosted.title) == (12550, "Two coffees")
    assert hosted.return_url == f"http://127.0.0.1:5000{RETURN.format(payment.token)}"
    assert (payment.transaction_id, payment.status) == (hosted.id, "waiting")


def test_asking_for_the_form_again_makes_no_second_payment(bought, laari_merchant):
    from payments import RedirectNeeded  # noqa: PLC0415

    payment, hosted = bought
    with pytest.raises(RedirectNeeded, match=re.escape(hosted.payment_url)):
        payment.get_form()
    laari_merchant.customer.pay(hosted)
    with pytest.raises(RedirectNeeded, match=payment.get_success_url()):
        payment.get_form()
    assert len(list(laari_merchant.client.payments.list())) == 1


def test_a_webhook_confirms_once(bought, browser, laari_merchant, deliver, changes):
    payment, hosted = bought
    laari_merchant.customer.pay(hosted)
    first = laari_merchant.webhooks.wait_for("payment.paid", hosted)
    assert status(payment) == "confirmed"
    assert payment.captured_amount == Decimal("125.50")
    again = (first.body, first.headers["Service-Signature"])
    assert deliver(*again) == 204
    assert deliver(*again, RETURN.format(payment.token)) == 204
    assert returns(browser, payment) == payment.get_success_url()
    assert changes == ["confirmed"]


def test_a_forged_webhook_is_refused(bought, browser, laari_merchant, deliver, changes):
    from shop.models import Payment  # noqa: PLC0415

    payment, hosted = bought
    browser.get("/")
    other = Payment.objects.last()
    laari_merchant.webhooks.handle(lambda *_: 200)  # instead of the shop
    laari_merchant.customer.pay(hosted)
    genuine = laari_merchant.webhooks.wait_for("payment.paid", hosted)
    body, signature = genuine.body, genuine.headers["Service-Signature"]
    forged = body.replace(hosted.reference.encode(), other.token.encode())
    for url in ("/payments/process/laari/", RETURN.format(other.token)):
        assert deliver(forged, signature, url) == 401
        assert deliver(body, None, url) == 401
        assert deliver(body, f"t=1,v1={'0' * 64}", url) == 401
    assert deliver(body, signature, RETURN.format(other.token)) == 202  # of another order
    assert (status(payment), status(other), changes) == ("waiting", "waiting", [])
    assert deliver(body, signature) == 204
    assert (status(payment), status(other)) == ("confirmed", "waiting")


def test_a_customer_who_returns_first_settles_it(bought, browser, laari_merchant, changes):
    laari_merchant.webhooks.fail_next(100)
    payment, hosted = bought
    assert returns(browser, payment) == payment.get_success_url()  # not decided yet
    laari_merchant.customer.pay(hosted)
    assert returns(browser, payment) == payment.get_success_url()
    assert (status(payment), changes) == ("confirmed", ["confirmed"])


def test_a_declined_payment_is_rejected(bought, browser, laari_merchant):
    payment, hosted = bought
    laari_merchant.customer.decline(hosted)
    assert returns(browser, payment) == payment.get_failure_url()
    assert (status(payment), payment.captured_amount) == ("rejected", 0)


def test_a_cancelled_payment_stays_cancelled(bought, laari_merchant, changes):
    payment, hosted = bought
    payment.cancel()
    laari_merchant.webhooks.wait_for("payment.cancelled", hosted)
    assert status(payment) == "cancelled"
    assert laari_merchant.client.payments.get(hosted.id).status == "cancelled"
    assert set(changes) == {"cancelled"}


def test_events_of_others_are_acknowledged(browser, laari_merchant, changes):
    elsewhere = laari_merchant.client.payments.create(reference="till-1", amount=100)
    laari_merchant.customer.pay(elsewhere)
    assert laari_merchant.webhooks.wait_for("payment.paid", elsewhere).status == 202
    laari_merchant.client.authorizations.create(reference="club-1", title="Club")
    assert laari_merchant.webhooks.wait_for("authorization.created").status == 202
    assert changes == []


def test_play_money_pays_no_live_order(bought, browser, laari_merchant, changes):
    from payments.core import provider_factory  # noqa: PLC0415

    payment, hosted = bought
    provider_factory("laari")._mode = "active"
    laari_merchant.customer.pay(hosted)
    assert laari_merchant.webhooks.wait_for("payment.paid", hosted).status == 202
    assert (status(payment), changes) == ("waiting", [])


def test_a_total_that_was_changed_later_is_an_error(bought, browser, laari_merchant):
    payment, hosted = bought
    payment.total = Decimal("500.00")
    payment.save()
    laari_merchant.customer.pay(hosted)
    laari_merchant.webhooks.wait_for("payment.paid", hosted)
    assert (status(payment), payment.captured_amount) == ("error", 0)
    assert returns(browser, payment) == payment.get_failure_url()


@pytest.mark.parametrize(
    ("currency", "total", "told"),
    [("USD", "1.00", "MVR only"), ("MVR", "1.005", "whole laari"), ("MVR", "0", "positive")],
)
def test_what_laari_cannot_take_is_refused(browser, laari_merchant, currency, total, told):
    from payments import PaymentError  # noqa: PLC0415
    from shop.models import Payment  # noqa: PLC0415

    payment = Payment(variant="laari", currency=currency, total=Decimal(total), token="t")
    with pytest.raises(PaymentError, match=told):
        payment.get_form()
    assert list(laari_merchant.client.payments.list()) == []


def test_a_part_is_refunded_and_then_the_rest(bought, laari_merchant, changes):
    payment, hosted = bought
    laari_merchant.customer.pay(hosted)
    laari_merchant.webhooks.wait_for("payment.paid", hosted)
    payment.refresh_from_db()
    payment.refund(Decimal("25.50"))
    assert (status(payment), payment.captured_amount) == ("confirmed", Decimal("100.00"))
    payment.refund()
    assert (status(payment), payment.captured_amount) == ("refunded", 0)
    refunds = laari_merchant.client.payments.refunds(hosted.id)
    assert [refund.amount for refund in refunds] == [10_000, 2_550]
    assert laari_merchant.client.payments.get(hosted.id).status == "refunded"
    assert changes == ["confirmed", "refunded"]


def test_a_refund_that_laari_refuses_changes_nothing(bought, laari_merchant):
    from payments import PaymentError  # noqa: PLC0415

    payment, hosted = bought
    laari_merchant.customer.pay(hosted)
    laari_merchant.webhooks.wait_for("payment.paid", hosted)
    laari_merchant.client.payments.refund(hosted.id, amount=12_000)
    payment.refresh_from_db()
    with pytest.raises(PaymentError, match="did not refund"):
        payment.refund()
    assert (status(payment), payment.captured_amount) == ("confirmed", Decimal("125.50"))


def test_a_refund_on_the_dashboard_is_taken_over(bought, laari_merchant, changes):
    from dataclasses import replace  # noqa: PLC0415

    from payments.core import provider_factory  # noqa: PLC0415

    payment, hosted = bought
    paid = laari_merchant.customer.pay(hosted)
    laari_merchant.webhooks.wait_for("payment.paid", hosted)
    for _ in range(2):
        provider_factory("laari")._settle(payment, replace(paid, status="refunded"))
    assert (status(payment), payment.captured_amount) == ("refunded", 0)
    assert changes == ["confirmed", "refunded"]
