"""A batch that is decided again over the same rows, moment and random bytes decides the same."""

from random import Random
from typing import Any

from laari.rules.actors import Payer
from laari.rules.payments.authorizations import AuthorizationDraft, CreateAuthorization
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.payment_requests import CreateRequest, RequestDraft
from laari.rules.payments.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.records.payments import Payment
from laari.rules.tables import Lookup
from laari.rules.world import REGISTRY, World
from tests.rules.books import ACCOUNT, Books

BOOKS = Books(balance=1_000_000)


def decided(seed: int) -> World:
    """One batch with every kind of identifier."""
    world = BOOKS.world(Random(seed).randbytes)
    tenant, payer = BOOKS.tenant, Payer(ACCOUNT, "sandbox")
    payment = CreatePayment(tenant, PaymentDraft("ORDER-1", 12_550)).decide(world)
    assert isinstance(payment, Payment)
    for command in (
        PayPayment(tenant, payment.id, payer),
        CreateRequest(tenant, RequestDraft("ORDER-2", 100, "vpa", "sandbox"), designated=True),
        CreateAuthorization(tenant, AuthorizationDraft("BOX", "Box")),
        ChargeAuthorization(tenant, BOOKS.id, PaymentDraft("ORDER-3", 100)),
    ):
        command.decide(world)
    return world


def written(world: World) -> dict[str, Any]:
    rows = {each.name: each.touched(world) for each in REGISTRY if not isinstance(each, Lookup)}
    return {
        name: touched if isinstance(touched, list) else (touched.added, touched.changed)
        for name, touched in rows.items()
        if touched is not None
    }


def test_a_batch_can_be_replayed() -> None:
    first, again, other = (written(decided(seed)) for seed in (1, 1, 2))
    assert first == again
    assert {len(first[name]) for name in ("events", "transfers")} == {5, 4}
    assert first != other
