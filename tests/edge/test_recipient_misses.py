"""Recipients that nobody is: all count, also those that were looked for at the same time."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from laari.edge.load.token_buckets import RateBuckets
from laari.edge.merchant import payment_requests
from laari.edge.merchant.operations import Context
from laari.rules.refusals import refuse

PER_MINUTE = 3


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Context:
    """A live merchant's, at a moment that does not pass."""
    monkeypatch.setattr(payment_requests, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    backend: Any = SimpleNamespace(
        settings=SimpleNamespace(recipient_misses_per_minute=PER_MINUTE), rates=RateBuckets(None)
    )
    tenant = SimpleNamespace(id=7, mode="live")
    return cast(Context, SimpleNamespace(tenant=tenant, backend=backend))


def test_those_beyond_the_limit_are_owed(context: Context) -> None:
    """All of a crowd pass before the first of them is counted."""
    for asked in range(24):
        wait = payment_requests._wait_after_misses(context)
        assert wait == pytest.approx(max(0, asked - PER_MINUTE + 1) * 60 / PER_MINUTE)
        payment_requests.count_miss(context, refuse("customer_not_found"))


def test_no_more_than_an_hour_is_owed(context: Context) -> None:
    for _ in range(1000):
        payment_requests.count_miss(context, refuse("customer_not_found"))
    assert payment_requests._wait_after_misses(context) == pytest.approx(3600 + 60 / PER_MINUTE)


def test_other_outcomes_do_not_count(context: Context) -> None:
    for _ in range(24):
        payment_requests.count_miss(context, refuse("reference_conflict"))
    assert payment_requests._wait_after_misses(context) == 0.0
