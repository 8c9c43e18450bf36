"""The fixtures as a shop's tests use them, on a sandbox of their own."""

import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from laari.testing.merchant import SandboxMerchant
from laari.testing.sandbox import Sandbox
from laari_client import Laari, errors, verify_webhook

UNTOUCHED = 10_000_000  # laari in a new customer's wallet


def order(merchant: SandboxMerchant, reference: str = "order-1", amount: int = 12_550) -> str:
    return merchant.client.payments.create(reference=reference, amount=amount).id


def test_the_customer_pays(laari_merchant: SandboxMerchant) -> None:
    payment = laari_merchant.client.payments.create(reference="order-1", amount=12_550)
    assert laari_merchant.customer.pay(payment).status == "paid"
    assert laari_merchant.client.payments.get(payment.id).status == "paid"
    assert laari_merchant.customer.balance == UNTOUCHED - 12_550
    assert [each.id for each in laari_merchant.client.payments.list()] == [payment.id]


def test_the_customer_declines(laari_merchant: SandboxMerchant) -> None:
    client, customer = laari_merchant.client, laari_merchant.customer
    assert customer.decline(order(laari_merchant)).status == "rejected"
    asked = client.payment_requests.create(reference="r", amount=500, customer=customer.recipient)
    assert customer.decline(asked).status == "rejected"
    box = client.authorizations.create(reference="box", title="Box")
    assert customer.decline(box).status == "rejected"
    assert customer.balance == UNTOUCHED


def test_a_payment_request_is_paid(laari_merchant: SandboxMerchant) -> None:
    asked = laari_merchant.client.payment_requests.create(
        reference="r", amount=500, customer=laari_merchant.customer.recipient
    )
    assert laari_merchant.customer.pay(asked).status == "paid"
    laari_merchant.webhooks.wait_for("payment_request.paid", about=asked)


def test_a_subscription_renews_after_a_month(laari_merchant: SandboxMerchant) -> None:
    client = laari_merchant.client
    limits = {"period": {"interval": "month", "amount": 5000}}
    box = client.authorizations.create(
        reference="box", title="Box", type="recurring", limits=limits
    )
    assert laari_merchant.customer.approve(box).status == "active"
    client.authorizations.charge(box.id, reference="m1", amount=5000)
    with pytest.raises(errors.APIError) as refused:
        client.authorizations.charge(box.id, reference="m2", amount=5000)
    assert refused.value.code == "period_limit_exceeded"
    before = laari_merchant.clock.now
    assert laari_merchant.clock.advance(days=31) - before >= timedelta(days=31)
    client.authorizations.charge(box.id, reference="m2", amount=5000)
    assert laari_merchant.clock.reset() - before < timedelta(days=1)


def test_webhooks_come_signed_and_each_is_awaited_once(laari_merchant: SandboxMerchant) -> None:
    first, second = order(laari_merchant, "a"), order(laari_merchant, "b")
    laari_merchant.customer.pay(first)
    laari_merchant.customer.pay(second)
    webhooks = laari_merchant.webhooks
    told = webhooks.wait_for("payment.paid", about=second)
    assert told.data.id == second
    signature = told.headers["Service-Signature"]
    assert verify_webhook(told.body, signature, laari_merchant.webhook_secret) == told.event
    assert webhooks.wait_for("payment.paid").data.id == first
    with pytest.raises(AssertionError, match=r"no payment\.paid webhook came within 0\.1 s"):
        webhooks.wait_for("payment.paid", timeout=0.1)


def test_the_webhook_of_a_refund_is_about_its_payment(laari_merchant: SandboxMerchant) -> None:
    first, second = order(laari_merchant, "a"), order(laari_merchant, "b")
    for each in (first, second):
        laari_merchant.customer.pay(each)
        laari_merchant.client.payments.refund(each, amount=10)
    told = laari_merchant.webhooks.wait_for("payment.refunded", about=second)
    assert (told.data.payment_id, told.data.amount) == (second, 10)
    refund = laari_merchant.webhooks.wait_for("payment.refunded").data
    assert refund.payment_id == first


def test_a_webhook_that_fails_comes_again(laari_merchant: SandboxMerchant) -> None:
    laari_merchant.webhooks.fail_next(2, status=503)
    payment = order(laari_merchant)
    assert laari_merchant.webhooks.wait_for("payment.created").data.id == payment
    assert [each.status for each in laari_merchant.webhooks.deliveries] == [503, 503, 200]
    assert len({each.id for each in laari_merchant.webhooks.deliveries}) == 1


def test_three_failures_are_the_end_of_a_delivery(laari_merchant: SandboxMerchant) -> None:
    laari_merchant.webhooks.fail_next(3)
    order(laari_merchant)
    with pytest.raises(AssertionError, match=r"payment\.created \(answered 500\)"):
        laari_merchant.webhooks.wait_for("payment.created", timeout=3)
    (event,) = laari_merchant.client.events.list()
    assert event.delivery is not None
    assert (event.delivery.status, event.delivery.attempts) == ("failed", 3)


def test_the_shops_own_handler_answers(laari_merchant: SandboxMerchant) -> None:
    seen: list[bytes] = []

    def shop(body: bytes, headers: Mapping[str, str]) -> int | None:
        seen.append(body)
        return 503 if len(seen) == 1 else 204

    laari_merchant.webhooks.handle(shop)
    order(laari_merchant)
    assert laari_merchant.webhooks.wait_for("payment.created").status == 204
    assert [each.status for each in laari_merchant.webhooks.deliveries] == [503, 204]
    assert seen[0] == seen[1]


def defective_shop(body: bytes, headers: Mapping[str, str]) -> int | None:
    raise ValueError("a defect of the shop")


def test_what_the_shops_handler_raises_fails_the_test(laari_merchant: SandboxMerchant) -> None:
    laari_merchant.webhooks.handle(defective_shop)
    order(laari_merchant)
    began = time.monotonic()
    with pytest.raises(ValueError, match="a defect of the shop") as failed:
        laari_merchant.webhooks.wait_for("payment.created", timeout=30)
    assert time.monotonic() - began < 20  # at once, and not when the time is over
    assert "defective_shop" in [frame.name for frame in failed.traceback]
    assert "payment.created evt_" in failed.value.__notes__[0]
    assert laari_merchant.webhooks.deliveries[0].status == 500
    # Seen is seen: the attempts that follow do not fail the end of this test.


SHOP_TEST = """
import time

def broken(body, headers):
    raise ValueError("a defect of the shop")

def test_that_does_not_wait_for_the_webhook(laari_merchant):
    laari_merchant.webhooks.handle(broken)
    laari_merchant.client.payments.create(reference="order-1", amount=12550)
    while not laari_merchant.webhooks.deliveries:
        time.sleep(0.01)
"""


@pytest.mark.ci
def test_what_the_shops_handler_raises_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(SHOP_TEST)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert 'raise ValueError("a defect of the shop")' in ended.stdout


def test_a_forged_webhook_does_not_count(laari_merchant: SandboxMerchant) -> None:
    order(laari_merchant)
    told = laari_merchant.webhooks.wait_for("payment.created")
    forged = told.body.replace(b"payment.created", b"payment.paid")
    headers = {"Service-Signature": told.headers["Service-Signature"]}
    response = httpx.post(laari_merchant.webhooks.url, content=forged, headers=headers)
    assert response.status_code == 401
    with pytest.raises(AssertionError, match="wrong signature"):
        laari_merchant.webhooks.wait_for("payment.paid", timeout=0.1)


def test_merchants_know_nothing_of_each_other(
    laari_sandbox: Sandbox, laari_merchant: SandboxMerchant
) -> None:
    other = laari_sandbox.merchant("Other shop", fee_bps=200)
    other.clock.advance(days=400)
    other.customer.set(balance=5)
    mine, theirs = order(laari_merchant), order(other)
    laari_merchant.customer.pay(mine)
    assert laari_merchant.customer.balance == UNTOUCHED - 12_550
    with pytest.raises(errors.APIError):
        other.client.payments.get(mine)
    with pytest.raises(errors.APIError):
        other.customer.pay(theirs)  # it has MVR 0.05
    laari_merchant.webhooks.wait_for("payment.paid")
    other.webhooks.wait_for("payment.created")
    assert {each.data.id for each in laari_merchant.webhooks.deliveries} == {mine}
    assert {each.data.id for each in other.webhooks.deliveries} == {theirs}
    assert abs(laari_merchant.clock.now.timestamp() - time.time()) < 60


def test_a_client_without_credentials_of_the_merchant_gets_nowhere(
    laari_sandbox: Sandbox,
) -> None:
    with Laari(laari_sandbox.url, "sk_wrong") as stranger, pytest.raises(errors.APIError):
        stranger.payments.create(reference="r", amount=100)


def test_what_is_no_resource_is_refused(laari_merchant: SandboxMerchant) -> None:
    with pytest.raises(TypeError, match="pay_"):
        laari_merchant.customer.pay("order-1")
    with pytest.raises(TypeError, match="auth_"):
        laari_merchant.customer.approve(order(laari_merchant))
    with pytest.raises(TypeError, match="days=31"):
        laari_merchant.clock.advance()


def test_a_merchant_is_made_in_a_moment(laari_sandbox: Sandbox) -> None:
    times = []
    for _ in range(20):
        began = time.perf_counter()
        laari_sandbox.merchant()
        times.append(time.perf_counter() - began)
    assert min(times) < 0.05, times  # a busy machine is late more often than not
