"""Payment requests decided in one batch: each command sees what the ones before it did."""

import os
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest

from laari.rules.actors import Payer
from laari.rules.needs import Needs
from laari.rules.payments.payment_requests import (
    CancelRequest,
    CreateRequest,
    ExpireRequest,
    PayRequest,
    RequestDraft,
)
from laari.rules.payments.payments import CreatePayment, PaymentDraft
from laari.rules.payments.refunds import Refunded, RefundPayment
from laari.rules.records.merchant_funds import MerchantFunds
from laari.rules.records.merchants import MerchantActivity
from laari.rules.records.messages import Contact
from laari.rules.records.payments import PaymentRequest
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.records.wallets import Tier, Wallet
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR

NOW = datetime(2027, 7, 1, 9, tzinfo=UTC)
ACCOUNT = 7_700_000_000_001
PAYER = Payer(ACCOUNT, "live")
AISHA = Contact(ACCOUNT, uuid4(), "aisha@laari.test", "7771234", "dv")
DRAFT = RequestDraft("order", 600, "email", "Aisha@laari.test")


def tenant(mode: Mode = "live") -> Tenant:
    return Tenant(1, "mer_1", "Shop", mode, 250, 0, 0, ACCOUNT, True)


@pytest.fixture
def world() -> World:
    world = World(NOW, "http://laari.test", os.urandom)
    for merchant in ("mer_1", "mer_2"):
        world.merchants.show(merchant, MerchantActivity(merchant, True))
    start = date(2027, 7, 1)
    wallet = Wallet(ACCOUNT, uuid4(), "live", "open", 1_000, start, 0, start, 0, start, 0)
    world.wallets.lock(ACCOUNT, wallet)
    world.tiers = {"open": Tier("open", None, None, None, None)}
    world.recipients["email", "aisha@laari.test"] = AISHA
    world.funds.lock(1, MerchantFunds(1))
    world.balances[1] = 0
    return world


def create(world: World, draft: RequestDraft = DRAFT) -> PaymentRequest:
    request = CreateRequest(tenant(), draft, designated=False).decide(world)
    assert isinstance(request, PaymentRequest)
    return request


def code(outcome: object) -> str:
    assert isinstance(outcome, Refusal)
    return outcome.code


def test_a_batch_that_creates_pays_and_refunds(world: World) -> None:
    request = create(world)
    assert create(world) == request
    paid = PayRequest(tenant(), request.id, PAYER).decide(world)
    assert isinstance(paid, PaymentRequest)
    assert paid.payment_id is not None
    assert code(PayRequest(tenant(), request.id, PAYER).decide(world)) == "payment_conflict"
    refunded = RefundPayment(tenant(), paid.payment_id, OPERATOR).decide(world)
    assert isinstance(refunded, Refunded)
    assert world.requests.added[request.id].status == "refunded"
    assert world.payments.added[paid.payment_id].status == "refunded"
    assert world.wallets.changed[ACCOUNT].balance == 1_000
    assert [event.type for event in world.events] == [
        "payment_request.created",
        "payment_request.paid",
        "payment.paid",
        "payment.refunded",
    ]
    assert [(each.kind, each.amount) for each in world.transfers] == [
        ("payment", 600),
        ("fee", 15),
        ("refund", 600),
    ]


def test_two_requests_cannot_overspend_one_wallet(world: World) -> None:
    first, second = (create(world, RequestDraft(r, 600, *DRAFT.recipient)) for r in "ab")
    assert isinstance(PayRequest(tenant(), first.id, PAYER).decide(world), PaymentRequest)
    refused = PayRequest(tenant(), second.id, PAYER).decide(world)
    assert code(refused) == "insufficient_balance"
    assert [line.status for line in world.transactions] == ["success", "failed"]


def test_the_name_space_is_shared_within_a_batch(world: World) -> None:
    create(world)
    taken = CreatePayment(tenant(), PaymentDraft("order", 600)).decide(world)
    assert code(taken) == "reference_conflict"


def test_only_the_recipient_and_the_merchant_find_it(world: World) -> None:
    request = create(world)
    other = Tenant(2, "mer_2", "Other", "live", 0, 0, 0, 9, True)
    start = date(2027, 7, 1)  # a customer too, but not the one who is asked
    world.wallets.show(
        ACCOUNT + 1,
        Wallet(ACCOUNT + 1, uuid4(), "live", "open", 1_000, start, 0, start, 0, start, 0),
    )
    for command in (
        PayRequest(tenant(), request.id, Payer(ACCOUNT + 1, "live")),
        PayRequest(other, request.id, PAYER),
        CancelRequest(other, request.id, OPERATOR),
        ExpireRequest(other, request.id),
    ):
        assert code(command.decide(world)) == "payment_request_not_found"


def test_a_deadline_is_past_when_it_is_reached(world: World) -> None:
    request = create(world)
    assert request.expires_at == NOW + timedelta(days=1)
    world.now = request.expires_at - timedelta(microseconds=1)
    assert ExpireRequest(tenant(), request.id).decide(world) == request
    world.now = request.expires_at
    assert code(PayRequest(tenant(), request.id, PAYER).decide(world)) == "payment_conflict"
    assert code(CancelRequest(tenant(), request.id, OPERATOR).decide(world)) == (
        "payment_request_not_cancellable"
    )
    expired = ExpireRequest(tenant(), request.id).decide(world)
    assert isinstance(expired, PaymentRequest)
    assert expired.status == "expired"
    assert ExpireRequest(tenant(), request.id).decide(world) == expired
    assert [event.type for event in world.events].count("payment_request.expired") == 1


def test_the_order_of_the_checks(world: World) -> None:
    unknown = RequestDraft("new", 1, "vpa", "nobody")
    past = RequestDraft("new", 1, "vpa", "nobody", expires_at=NOW)
    sandbox = tenant("sandbox")
    assert code(CreateRequest(tenant(), past, False).decide(world)) == "invalid_request"
    assert code(CreateRequest(tenant(), unknown, False).decide(world)) == "customer_not_found"
    refused = CreateRequest(sandbox, unknown, False).decide(world)
    assert code(refused) == "sandbox_recipient_not_allowed"
    create(world)
    taken = RequestDraft("order", 1, "vpa", "nobody", expires_at=NOW)
    for owner in (tenant(), sandbox):
        outcome = CreateRequest(owner, taken, False, wait_seconds=5).decide(world)
        assert code(outcome) == "reference_conflict"


def test_whoever_named_too_many_strangers_waits(world: World) -> None:
    for draft in (DRAFT, RequestDraft("new", 1, "vpa", "nobody")):
        refused = CreateRequest(tenant(), draft, False, wait_seconds=4.2).decide(world)
        assert code(refused) == "rate_limited"
        assert isinstance(refused, Refusal)
        assert refused.retry_after == 5


def test_only_live_recipients_are_looked_up() -> None:
    needs = Needs()
    CreateRequest(tenant("sandbox"), DRAFT, True).needs(needs)
    assert needs.only_read(World.recipients) == set()
    CreateRequest(tenant("live"), DRAFT, False).needs(needs)
    assert needs.only_read(World.recipients) == {("email", "aisha@laari.test")}
