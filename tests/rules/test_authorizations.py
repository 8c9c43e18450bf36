"""Authorizations as plain rules: what they are at each moment."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from laari.rules.actors import Payer
from laari.rules.payments.authorizations import ApproveAuthorization, as_of
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.payments import PaymentDraft
from laari.rules.records.authorizations import AuthorizationStatus
from laari.rules.refusals import Refusal
from tests.rules.books import ACCOUNT, START, Books

INSTANT = timedelta(microseconds=1)
DEADLINE = START + timedelta(days=30)


@pytest.mark.parametrize(
    ("status", "field"),
    [
        ("pending", "approval_expires_at"),
        ("active", "expires_at"),
        ("suspended", "expires_at"),
    ],
)
def test_an_authorization_is_expired_from_its_deadline_on(
    status: AuthorizationStatus, field: str
) -> None:
    never = {"expires_at": None, "approval_expires_at": DEADLINE + timedelta(days=99)}
    made = replace(Books(0).authorization, status=status, **{**never, field: DEADLINE})
    assert as_of(made, DEADLINE - INSTANT).status == status
    assert as_of(made, DEADLINE).status == "expired"


def test_a_charge_at_the_exact_deadline_is_refused() -> None:
    books = Books(1_000, expires_at=DEADLINE)
    books.real = DEADLINE - INSTANT
    books.run(ChargeAuthorization(books.tenant, books.id, PaymentDraft("before", 100)))
    books.real = DEADLINE
    late = books.run(ChargeAuthorization(books.tenant, books.id, PaymentDraft("at", 100)))
    assert isinstance(late, Refusal)
    assert late.code == "authorization_expired"
    assert books.balance == 900


def test_what_could_not_be_charged_any_more_is_not_approved() -> None:
    books = Books(0, expires_at=DEADLINE)
    waiting = replace(
        books.authorization, status="pending", account=None, approval_expires_at=DEADLINE + INSTANT
    )
    books.rows["authorizations"][books.id] = waiting
    books.real = DEADLINE
    payer = Payer(ACCOUNT, "sandbox")
    refused = books.run(ApproveAuthorization(books.tenant, books.id, payer))
    assert isinstance(refused, Refusal)
    assert refused.code == "authorization_expired"
    books.real = DEADLINE - INSTANT
    assert books.run(ApproveAuthorization(books.tenant, books.id, payer)).status == "active"
