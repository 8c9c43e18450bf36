"""Payouts on the dashboard: the list, one payout with its movements, its file, and the bank."""

import re

import httpx
import pytest

from tests.pages.forms import Forms
from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.serving import Service

BANK = {"holder": "Seagull Café", "bank": "BML", "number": "7730 0000 12345"}


@pytest.fixture
def owner(usual_service: Service) -> Owner:
    return new_owner(usual_service, fee_bps=100)


@pytest.fixture
def forms(owner: Owner) -> Forms:
    forms = Forms()
    forms.log_in(f"{owner.shop.service.origin}/dashboard/login", owner.email, PASSWORD)
    return forms


def save(forms: Forms, owner: Owner, **fields: str) -> httpx.Response:
    address = owner.url("/sandbox/money/bank")
    given = {"form_token": forms.token(address), "password": PASSWORD, **BANK, **fields}
    return forms.send(address, given)


def test_a_payout_shows_its_movements_and_their_file(owner: Owner, forms: Forms) -> None:
    shop = owner.shop
    named = {"reference": "C-7", "title": "Cake", "bill_number": "B-1", "terminal_label": "Bar"}
    paid = shop.payment(amount=10_000, **named)
    shop.control(f"payments/{paid['id']}/pay")
    shop.post(f"/payments/{paid['id']}/refunds", {"amount": 1_000})
    payout = shop.post("/sandbox/payouts").json()["data"]
    listed = forms.http.get(owner.url("/sandbox/money/payouts")).text
    assert "No. 1" in listed
    assert "89.00" in listed
    address = owner.url(f"/sandbox/money/payouts/{payout['id']}")
    page = forms.http.get(address).text
    assert f"/payments/{paid['id']}" in page
    assert "Download all movements as CSV" in page
    file = forms.http.get(f"{address}/export.csv")
    assert file.headers["content-type"].startswith("text/csv")
    lines = file.text.lstrip("\ufeff").splitlines()
    assert lines[0] == (
        "moved_at,movement,reference,title,bill_number,terminal_label,gross,fee,net,"
        "payment_id,refund_id,payout,bank_references,bank_account"
    )
    names = ["C-7", "Cake", "B-1", "Bar"]
    assert sorted(line.split(",")[1:9] for line in lines[1:]) == [
        ["payment", *names, "100.00", "1.00", "99.00"],
        ["refund", *names, "-10.00", "0.00", "-10.00"],
    ]
    assert {line.split(",", 11)[-1] for line in lines[1:]} == {f"1,{payout['id']},BML 0000"}
    other = new_owner(shop.service)
    forms.log_in(f"{shop.service.origin}/dashboard/login", other.email, PASSWORD)
    for path in ("", "/export.csv"):
        foreign = other.url(f"/sandbox/money/payouts/{payout['id']}{path}")
        assert forms.http.get(foreign).status_code == 404
        assert forms.http.get(f"{address}{path}").status_code == 404


def test_a_payout_and_the_ledger_name_each_other(owner: Owner, forms: Forms) -> None:
    shop = owner.shop
    paid = shop.payment(amount=10_000)
    shop.control(f"payments/{paid['id']}/pay")
    payout = shop.post("/sandbox/payouts").json()["data"]
    ledger = forms.http.get(owner.url("/sandbox/money")).text
    assert re.search(r"Payout<br><span[^>]*><bdi[^>]*>No. 1 · po_", ledger)
    [order] = shop.service.execute(
        "SELECT reference FROM bank_orders WHERE payout_id = $1::uuid",
        payout["id"].removeprefix("po_"),
    )
    page = forms.http.get(owner.url(f"/sandbox/money/payouts/{payout['id']}")).text
    assert order["reference"] in page
    assert "Correct the bank account" not in page
    statement = owner.url("/sandbox/money/statement")
    assert order["reference"] in forms.http.get(f"{statement}?preset=today").text
    file = forms.http.get(f"{statement}.csv?preset=today").text
    assert file.splitlines()[1].endswith(f",1,{order['reference']}")


def test_a_returned_payout_leads_to_the_bank_account(owner: Owner, forms: Forms) -> None:
    shop = owner.shop
    paid = shop.payment(amount=10_000)
    shop.control(f"payments/{paid['id']}/pay")
    payout = shop.post("/sandbox/payouts").json()["data"]
    shop.post(f"/sandbox/payouts/{payout['id']}/return")
    shop.service.execute(
        "UPDATE bank_orders SET return_reason = 'ACCOUNT <CLOSED>' WHERE payout_id = $1::uuid",
        payout["id"].removeprefix("po_"),
    )
    page = forms.http.get(owner.url(f"/sandbox/money/payouts/{payout['id']}")).text
    assert "ACCOUNT &lt;CLOSED&gt;" in page
    assert re.search(r'href="[^"]*/sandbox/money/bank">Correct the bank account<', page)


def test_a_bank_account_is_saved_and_changed_after_48_hours(owner: Owner, forms: Forms) -> None:
    assert "None yet" in forms.http.get(owner.url("/sandbox/money/payouts")).text
    assert save(forms, owner).status_code == 303
    page = forms.http.get(owner.url("/sandbox/money/payouts")).text
    assert "BML" in page
    assert "2345" in page
    assert "7730000012345" not in page
    assert save(forms, owner, number="1111").status_code == 303
    assert "is used from" in forms.http.get(owner.url("/sandbox/money/payouts")).text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"holder": "=1+1"}, "The holder must have"),
        ({"bank": "<script>"}, "The bank must be one of"),
        ({"number": "12x4"}, "The account number must have"),
        ({"password": "wrong"}, "password"),
    ],
)
def test_a_wrong_bank_account_changes_nothing(
    owner: Owner, forms: Forms, fields: dict[str, str], message: str
) -> None:
    refused = save(forms, owner, **fields)
    assert message in refused.text
    assert "None yet" in forms.http.get(owner.url("/sandbox/money/payouts")).text


def test_a_payout_on_request_needs_the_operators_agreement(owner: Owner, forms: Forms) -> None:
    shop = owner.shop
    shop.control(f"payments/{shop.payment(amount=10_000)['id']}/pay")
    save(forms, owner)
    listed = owner.url("/sandbox/money/payouts")
    assert "Request a payout" not in forms.http.get(listed).text
    token = forms.token(owner.url("/sandbox/money/bank"))
    refused = forms.send(f"{listed}/request", {"form_token": token})
    assert "This merchant may not request payouts." in refused.text
    agreed = shop.service.laari(
        "payout", "terms", shop.id, "--mode", "sandbox", "--on-request", "--json"
    )
    assert agreed.returncode == 0
    assert "Request a payout" in forms.http.get(listed).text
    done = forms.send(f"{listed}/request", {"form_token": token})
    assert done.status_code == 303
    # Nothing but the sandbox's controls answers it, so it is sent at once.
    [payout] = shop.get("/payouts").json()["data"]
    assert payout["status"] == "sent"
    back = shop.post(f"/sandbox/payouts/{payout['id']}/return").json()["data"]
    assert back["status"] == "returned"
    entries = shop.service.laari("journal", "list", "--merchant", shop.id, "--json").stdout
    assert "payout.request" in entries
