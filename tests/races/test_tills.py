"""Sales at the counter, at the same time: none is made twice, and none is lost."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from laari.edge.pages.tills.references import SALE, new_reference
from tests.pages.forms import Forms, token_in
from tests.serving import Merchant, Service
from tests.tills import Seller, another_device, new_till

pytestmark = pytest.mark.ci

AtOnce = Callable[..., list[Any]]
OF_A_SALE = re.compile(r"/counter/sales/(pay_[0-9a-f]{32})")


@pytest.fixture
def shop(pair: Service) -> Merchant:
    """Its customer can pay everything."""
    shop = pair.merchant()
    shop.control("wallet", {"balance": 10**9, "tier": "business"})
    return shop


def made(shop: Merchant) -> dict[str, Any]:
    return {payment["id"]: payment for payment in shop.get("/payments", limit=100).json()["data"]}


def test_one_sale_that_two_devices_send_is_one_payment(shop: Merchant, at_once: AtOnce) -> None:
    """A double press, a reload and a repeat, all at once."""
    first = new_till(shop)
    sellers = [Seller(each) for each in (first, another_device(shop, first.tenant, first.till))]
    reference = new_reference(SALE)
    places = set(at_once(lambda n: sellers[n % 2].sell(reference)))
    assert len(places) == 1
    [payment] = made(shop)
    assert places == {f"/counter/sales/{payment}"}


def test_the_sales_of_two_devices_are_all_made(shop: Merchant, at_once: AtOnce) -> None:
    first = new_till(shop)
    sellers = [Seller(each) for each in (first, another_device(shop, first.tenant, first.till))]
    places = at_once(lambda n: sellers[n % 2].sell())
    found = [OF_A_SALE.fullmatch(place) for place in places]
    assert {match and match[1] for match in found} == made(shop).keys()
    assert len(set(places)) == len(places)
    # Paid at once, in both processes: each counter has all of them.
    for payment in at_once(lambda n: shop.control(f"payments/{found[n][1]}/pay")):
        assert payment["status"] == "paid"
    for seller in sellers:
        page = seller.http.get("/counter").text.replace("&nbsp;", "\N{NO-BREAK SPACE}")
        assert f"Paid sales: {len(places)}" in page
        assert page.count("/counter/sales/pay_") == 10


def test_a_sale_is_cancelled_or_paid_and_its_page_says_which(
    shop: Merchant, at_once: AtOnce
) -> None:
    seller = Seller(new_till(shop))
    sales = [OF_A_SALE.fullmatch(seller.sell()) for _ in range(32)]

    def act(n: int) -> Any:
        sale = sales[n // 2]
        assert sale is not None
        if n % 2:
            return seller.send(f"/sales/{sale[1]}/cancel")
        return shop.post(f"/sandbox/payments/{sale[1]}/pay").status_code

    answers = at_once(act, 64)
    payments = made(shop)
    for n, sale in enumerate(sales):
        assert sale is not None
        is_paid = payments[sale[1]]["status"] == "paid"
        assert is_paid or payments[sale[1]]["status"] == "cancelled"
        assert answers[2 * n] == (200 if is_paid else 409)
        assert answers[2 * n + 1] == (sale[0] if is_paid else "/counter")


def test_a_device_that_ends_while_it_sells_makes_no_hidden_sale(
    shop: Merchant, at_once: AtOnce
) -> None:
    """Every payment that exists was shown to the device, and it shows no other."""
    paired = new_till(shop)
    seller = Seller(paired)

    def act(n: int) -> str | None:
        return paired.end() if n == 32 else seller.sell()

    places = Counter(place for place in at_once(act, 96) if place is not None)
    ended = places.pop("/counter/pair", 0)
    assert {f"/counter/sales/{payment}" for payment in made(shop)} == places.keys()
    assert ended + places.total() == 95
    assert seller.sell() == "/counter/pair"


def test_a_confirmed_scan_that_is_sent_again_is_one_payment(
    shop: Merchant, at_once: AtOnce
) -> None:
    address, customer = f"{shop.service.origin}/till/{new_till(shop).till.token}", Forms()
    token = customer.token(address)
    page = customer.send(address, {"form_token": token, "amount": "12.50"}).text
    reference = re.search(r'name="reference" value="([^"]+)"', page)
    assert reference is not None
    fields = {"form_token": token_in(page), "amount": "12.50", "reference": reference[1]}

    def confirm(_: int) -> str:
        headers = {"Sec-Fetch-Site": "same-origin"}
        answer: httpx.Response = httpx.post(
            f"{address}/pay", data=fields, headers=headers, cookies=dict(customer.http.cookies)
        )
        return answer.headers["location"]

    places = set(at_once(confirm, 16))  # fewer than one address may confirm
    [payment] = made(shop).values()
    assert places == {payment["payment_url"].removeprefix(shop.service.origin)}
