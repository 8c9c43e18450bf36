"""Payments by a remembered device at the same time: the sum of the day holds."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.pages.forms import token_in
from tests.pages.remembered import remembered
from tests.races.test_payments import audited
from tests.serving import Service

pytestmark = pytest.mark.ci

LIMIT = 10_000
AMOUNT = 300


def test_of_64_payments_at_once_as_many_are_paid_as_the_day_allows(
    pair: Service, at_once: Callable[..., list[Any]]
) -> None:
    customer = pair.customer(mobile="7640064")
    devices = [remembered(pair, "7640064", customer.password) for _ in range(2)]
    shop = pair.merchant(mode="live")
    payments = [shop.payment(amount=AMOUNT)["payment_url"] for _ in range(64)]
    tokens = [token_in(each.http.get(payments[0]).text) for each in devices]

    def pay(n: int) -> int:
        browser = devices[n % 2].http
        with httpx.Client(headers=browser.headers, cookies=browser.cookies, timeout=30) as own:
            answer = own.post(f"{payments[n]}/device", data={"form_token": tokens[n % 2]})
        return answer.status_code

    fits = LIMIT // AMOUNT
    assert Counter(at_once(pay)) == {303: fits, 409: 64 - fits}
    rows = pair.execute(
        "SELECT sum(v.amount)::bigint, count(*), min(w.balance) FROM device_payments v "
        "JOIN wallets w USING (customer_id) WHERE customer_id = $1",
        customer.id,
    )
    assert tuple(rows[0]) == (fits * AMOUNT, fits, 100_000 - fits * AMOUNT)
    paid = pair.execute("SELECT count(*) FROM payments WHERE payer_account = $1", customer.account)
    assert paid[0]["count"] == fits
    assert audited(shop)
