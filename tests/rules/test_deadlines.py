"""A deadline has to be in the future when something is made: this very moment is not."""

from datetime import timedelta
from typing import Any

import pytest

from laari.rules.payments.authorizations import AuthorizationDraft, CreateAuthorization
from laari.rules.payments.payment_requests import CreateRequest, RequestDraft
from laari.rules.payments.payments import CreatePayment, PaymentDraft
from laari.rules.refusals import Refusal
from tests.rules.books import Books

BOOKS = Books(0)
AT, LATER = BOOKS.now, BOOKS.now + timedelta(microseconds=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda at: CreatePayment(BOOKS.tenant, PaymentDraft("new", 100, expires_at=at)),
        lambda at: CreateRequest(
            BOOKS.tenant, RequestDraft("new", 100, "vpa", "sandbox", expires_at=at), True
        ),
        lambda at: CreateAuthorization(BOOKS.tenant, AuthorizationDraft("new", "A", expires_at=at)),
    ],
    ids=["payment", "request", "authorization"],
)
def test_nothing_is_made_at_its_own_deadline(make: Any) -> None:
    refused = make(AT).decide(BOOKS.world())
    assert isinstance(refused, Refusal)
    assert refused.code == "invalid_request"
    assert not isinstance(make(LATER).decide(BOOKS.world()), Refusal)
