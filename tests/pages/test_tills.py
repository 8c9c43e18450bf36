"""Tills on the dashboard: a person closes one once, and sees only tills of their own."""

import re

import httpx
import pytest

from tests.pages.forms import token_in
from tests.pages.owners import Owner, new_owner, sandbox_only
from tests.pages.test_journal import client_of
from tests.pages.test_permissions import TILL, logged_in, member
from tests.serving import Service


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service, mode="sandbox", fee_bps=100)


def sell(owner: Owner, amount: int, till: str) -> str:
    payment = owner.shop.payment(amount=amount, terminal_label=till)
    owner.shop.control(f"payments/{payment['id']}/pay")
    return str(payment["id"])


def close(client: httpx.Client, till: str, **fields: str) -> httpx.Response:
    page = client.get("/tills/close", params={"till": till})
    assert page.status_code == 200, page.text
    number = re.search(r'name="number" value="(\d+)"', page.text)
    form = {"till": till, "number": number.group(1) if number else "", **fields}
    return client.post("/tills/close", data={"form_token": token_in(page.text), **form})


def test_a_till_is_closed_once_and_can_be_printed(owner: Owner) -> None:
    sell(owner, 10_000, "1")
    sell(owner, 5_000, "2")
    with client_of(owner) as client:
        page = close(client, "1", note="Short by <b>one</b> =1+1")
        assert "/tills/closings/tcl_" in str(page.url)
        for told in ("Closing 1", "100.00", "99.00", owner.email, "Short by &lt;b&gt;one"):
            assert told in page.text
        # Pressed again, by hand or by another person: the same closing.
        again = close(client, "1", number="1")
        assert again.url.path == page.url.path
        assert "closed already" in again.text
        # Nothing has moved since.
        assert "Nothing has moved since closing 1" in client.get("/tills/close?till=1").text
        sell(owner, 2_000, "1")
        second = close(client, "1")
        assert "Closing 2" in second.text
        assert "20.00" in second.text
        listed = client.get("/tills").text
        assert listed.count("/tills/closings/tcl_") == 2
        assert "Close till" in listed  # the other till is open
    entries = owner.shop.service.execute(
        "SELECT after FROM journal WHERE action = 'till.close' AND merchant_id = $1 ORDER BY id",
        owner.shop.id,
    )
    assert ['"number":1,' in entries[0][0], '"number":2,' in entries[1][0]] == [True, True]


@pytest.mark.parametrize("till", ["none", "x" * 11, "\u202e"])
def test_an_unknown_till_cannot_be_closed(owner: Owner, till: str) -> None:
    sell(owner, 10_000, "1")
    with client_of(owner) as client:
        assert client.get("/tills/close", params={"till": till}).status_code == 404
        token = token_in(client.get("/tills/close?till=1").text)
        answer = client.post("/tills/close", data={"form_token": token, "till": till})
        assert answer.status_code == 404


def test_a_note_that_is_too_long_is_refused(owner: Owner) -> None:
    sell(owner, 10_000, "1")
    with client_of(owner) as client:
        answer = close(client, "1", note="x" * 501)
        assert answer.status_code == 400
        assert "at most 500" in answer.text
        assert "No till was closed yet" in client.get("/tills").text


async def test_a_cashier_closes_only_the_own_till(service: Service, owner: Owner) -> None:
    sandbox_only(owner)
    sell(owner, 10_000, TILL)
    sell(owner, 70_000, "other")
    base = f"{service.origin}/dashboard/{owner.shop.id}/sandbox"
    with client_of(owner) as manager:
        foreign = str(close(manager, "other").url)
        sell(owner, 30_000, "other")
    cashier = await logged_in(service, await member(service, owner.shop.id, "cashier"))
    page = cashier.get(f"{base}/tills").text
    assert "other" not in page
    assert "300.00" not in page
    assert cashier.get(foreign).status_code == 404
    assert cashier.get(f"{base}/tills/close?till=other").status_code == 404
    form = cashier.get(f"{base}/tills/close")  # the only till needs no name
    assert "100.00" in form.text
    token = token_in(form.text)
    for till, status in (("other", 404), ("", 404), (TILL, 303)):
        data = {"form_token": token, "till": till, "number": "1"}
        assert cashier.post(f"{base}/tills/close", data=data).status_code == status
    accountant = await logged_in(service, await member(service, owner.shop.id, "accountant"))
    listed = accountant.get(f"{base}/tills")
    assert listed.text.count("/tills/closings/tcl_") == 2
    assert "Close till" not in listed.text
    assert accountant.get(f"{base}/tills/close?till=other").status_code == 403


def test_closings_of_other_merchants_and_modes_do_not_exist(service: Service, owner: Owner) -> None:
    sell(owner, 10_000, "1")
    other = new_owner(service)
    with client_of(owner) as mine, client_of(other) as theirs:
        path = close(mine, "1").url.path
        name = path.rsplit("/", 1)[1]
        assert mine.get(f"/tills/closings/{name}").status_code == 200
        assert theirs.get(f"/tills/closings/{name}").status_code == 404
        assert mine.get("/tills/closings/tcl_x").status_code == 404
