"""What a cashier sees: a counter, without modes, fees and what is only for programs."""

import re

import httpx
import pytest

from tests.pages.forms import token_in
from tests.pages.owners import Owner, new_owner
from tests.pages.people import new_customer
from tests.pages.test_permissions import TILL, logged_in, member
from tests.pages.wallets import pay
from tests.serving import Service


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service, mode="live", name="Seagull Café", fee_bps=150)


@pytest.fixture
async def cashier(service: Service, owner: Owner) -> httpx.Client:
    return await logged_in(service, await member(service, owner.shop.id, "cashier"))


async def test_a_cashier_of_a_live_shop_only_meets_real_money(
    service: Service, owner: Owner, cashier: httpx.Client
) -> None:
    live = f"/dashboard/{owner.shop.id}/live"
    assert (
        cashier.get(f"/{owner.shop.id}/sandbox/payments").headers["location"] == f"{live}/payments"
    )
    page = cashier.get(live.removeprefix("/dashboard")).text
    for words in ('class="switch"', 'class="band', "credentials", "sandbox", "/docs"):
        assert words not in page, words
    manager = await logged_in(service, await member(service, owner.shop.id, "manager"))
    assert 'class="switch"' in manager.get(live.removeprefix("/dashboard")).text


async def test_a_cashier_sees_the_payer_and_no_fee(
    service: Service, owner: Owner, cashier: httpx.Client
) -> None:
    payment = owner.shop.payment(
        reference="coffee", amount=12_550, terminal_label=TILL, metadata={"order": "internal-7"}
    )
    home = f"/{owner.shop.id}/live"
    shown = f"{home}/payments/{payment['id']}"
    assert "Next sale" not in cashier.get(shown).text
    customer = await new_customer(service, name="Fathimath Didi")
    await pay(owner.shop, customer, payment)
    page = cashier.get(shown).text
    assert f"F… D…, …{customer.mobile[-3:]}" in page
    assert "Fathimath" not in page
    assert re.search(r'href="[^"]+/payments/new">Next sale<', page)
    for words in ("Fee", "You receive", "Timeline", payment["id"] + "<", "internal-7"):
        assert words not in page, words
    for path in ("", "/payments?preset=today", "/payments/movements?preset=today", "/tills"):
        text = cashier.get(home + path).text
        assert "125.50" in text, path
        assert "123.62" not in text, path  # after the fee
        assert "ees" not in text, path
        assert "net" not in re.findall(r"\w+", text.lower()), path
    manager = await logged_in(service, await member(service, owner.shop.id, "manager"))
    page = manager.get(shown).text
    assert all(words in page for words in ("You receive", "Timeline", "123.62", "internal-7"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"amount": "0"}, "The amount must be at least MVR 0.01."),
        ({"amount": "100000000"}, "The amount must be at most MVR 99,999,999.99."),
        ({"amount": "250"}, "The amount must not exceed the limit of this merchant, MVR 200.00."),
        ({"amount": "five"}, "The amount must be a number such as 125 or 125.50."),
        ({"title": "x" * 256}, "The text of “What for” must be at most 255 characters."),
        ({"bill_number": "a;b"}, "The bill number may contain only"),
    ],
)
async def test_errors_of_a_new_link_are_in_words_of_the_page(
    service: Service, owner: Owner, cashier: httpx.Client, fields: dict[str, str], message: str
) -> None:
    service.execute("UPDATE tenants SET max_payment = 20000 WHERE merchant_id = $1", owner.shop.id)
    page = f"/{owner.shop.id}/live/payments/new"
    form = cashier.get(page).text
    assert "etadata" not in form
    assert "Return address" not in form
    sent = {"form_token": token_in(form), "amount": "10", "reference": "one", **fields}
    refused = cashier.post(page, data=sent)
    text = refused.text.replace("\N{NO-BREAK SPACE}", " ").replace("&nbsp;", " ")
    assert refused.status_code == 400
    assert message in text
