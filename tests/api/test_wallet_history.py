"""The wallet interface: the history of transactions, page by page."""

import secrets
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from tests.api.purses import Purse, error, pay
from tests.serving import Merchant, Service


def test_a_payment_in_the_history(shop: Merchant, purse: Purse) -> None:
    payment = pay(shop, 12_550, title="Two tickets")
    shown = purse.data("/transactions")[0]
    assert shown == {
        "tid": payment["payment_reference"],
        "time": payment["paid_at"],
        "type": "payment",
        "name": "Test Shop",
        "details": "Two tickets",
        "amount": Decimal("-125.5"),
        "status": "success",
    }
    assert datetime.fromisoformat(shown["time"]).utcoffset() == timedelta(hours=5)


@pytest.mark.parametrize("why", ["balance", "limit"])
def test_failed_attempts_appear_and_move_nothing(shop: Merchant, purse: Purse, why: str) -> None:
    if why == "balance":
        shop.control("wallet", {"balance": 100})
    payment = shop.payment(amount=5_000_001)
    response = shop.post(f"/sandbox/payments/{payment['id']}/pay")
    assert response.status_code == {"balance": 402, "limit": 422}[why]
    before = purse.data("/balance")
    failed, earlier, *_ = purse.data("/transactions")
    assert (failed["type"], failed["status"]) == ("payment", "failed")
    assert failed["amount"] == Decimal("-50000.01")
    assert earlier["status"] == "success"
    assert purse.data("/balance") == before
    assert set(purse.data("/usage")["usage"].values()) == {0}


def test_recorded_order_and_not_time_decides(shop: Merchant, purse: Purse) -> None:
    shop.advance(1_000_000)
    later = pay(shop, 100)
    shop.control("clock", {"reset": True})
    sooner = pay(shop, 200)
    tids = [transaction["tid"] for transaction in purse.data("/transactions", limit=2)]
    assert tids == [sooner["payment_reference"], later["payment_reference"]]


def history(shop: Merchant, count: int) -> list[str]:
    """Gives the wallet so many more failed attempts; all of its tids, newest first."""
    account = shop.service.execute(
        "SELECT sandbox_account FROM tenant_details WHERE merchant_id = $1 AND mode = 'sandbox'",
        shop.id,
    )[0][0]
    shop.service.execute(
        "INSERT INTO transactions (tid, account, time, type, name, details, amount, status) "
        "SELECT upper(substr(md5($2 || n), 1, 16)), $1, now(), 'payment', 'n', '', -n, 'failed' "
        "FROM generate_series(1, $3) AS n",
        account,
        secrets.token_hex(8),
        count,
    )
    rows = shop.service.execute(
        "SELECT tid FROM transactions WHERE account = $1 ORDER BY recorded DESC", account
    )
    return [row["tid"] for row in rows]


def test_pages_join_without_gap_or_repeat(shop: Merchant, purse: Purse) -> None:
    expected = history(shop, 24)
    assert len(expected) == 25
    first = purse.get("/transactions").json()
    assert [one["tid"] for one in first["data"]] == expected[:10]
    assert first["pagination"] == {
        "limit": 10,
        "has_more": True,
        "next_cursor": first["pagination"]["next_cursor"],
    }
    history(shop, 5)  # new ones do not shift the pages that follow
    second = purse.get("/transactions", before=first["pagination"]["next_cursor"]).json()
    assert [one["tid"] for one in second["data"]] == expected[10:20]
    last = purse.get("/transactions", before=second["pagination"]["next_cursor"], limit=100).json()
    assert [one["tid"] for one in last["data"]] == expected[20:]
    assert last["pagination"] == {"limit": 100, "has_more": False, "next_cursor": None}


@pytest.mark.parametrize("limit", [1, 9, 10, 99, 100])
def test_page_sizes(shop: Merchant, purse: Purse, limit: int) -> None:
    expected = history(shop, limit)  # one more than the page holds
    body = purse.get("/transactions", limit=limit).json()
    assert [one["tid"] for one in body["data"]] == expected[:limit]
    assert body["pagination"]["limit"] == limit
    assert body["pagination"]["has_more"] is True
    rest = purse.get("/transactions", before=body["pagination"]["next_cursor"]).json()
    assert [one["tid"] for one in rest["data"]] == expected[limit:]
    assert rest["pagination"] == {"limit": 10, "has_more": False, "next_cursor": None}


def test_a_page_that_ends_with_the_history_is_the_last(shop: Merchant, purse: Purse) -> None:
    expected = history(shop, 4)
    body = purse.get("/transactions", limit=5).json()
    assert len(body["data"]) == 5
    assert body["pagination"] == {"limit": 5, "has_more": False, "next_cursor": None}
    empty = purse.get("/transactions", before=expected[-1]).json()
    assert empty["data"] == []
    assert empty["pagination"] == {"limit": 10, "has_more": False, "next_cursor": None}


def test_unknown_parameters_are_ignored(purse: Purse) -> None:
    for path in ("/balance", "/usage", "/transactions"):
        plain = purse.get(path).json()
        assert purse.get(f"{path}?account=1&page=2&offset=3&Limit=0&x=1&x=2").json() == plain
    assert purse.get("/balance?limit=0&before=x").status_code == 200  # not a parameter here


BAD_PAGING = [
    "limit=0",
    "limit=101",
    "limit=1000",
    "limit=-1",
    "limit=%2B5",
    "limit=+5",
    "limit=05",
    "limit=010",
    "limit=",
    "limit",
    "limit=5.0",
    "limit=1e1",
    "limit=ten",
    "limit=5%20",
    "limit=5%0A",
    "limit=%D9%A5",
    "limit=" + "9" * 5000,
    "limit=5&limit=5",
    "limit[]=5",
    "limit[0]=5",
    "before=",
    "before=nonsense",
    "before=0000000000000000",
    "before=%00",
    "before=%FF",
    "before=" + "A" * 5000,
    "before[]=0000000000000000",
    "limit=%ff",
]


@pytest.mark.parametrize("query", BAD_PAGING, ids=lambda query: query[:30])
def test_invalid_pagination(purse: Purse, query: str) -> None:
    assert error(purse.get(f"/transactions?{query}")) == (400, "invalid_pagination")
    assert error(purse.get(f"/transactions/?x=1&{query}")) == (400, "invalid_pagination")


def test_cursors_are_each_accounts_own(service: Service, shop: Merchant, purse: Purse) -> None:
    mine = history(shop, 3)[0]
    other = service.merchant()
    theirs = history(other, 3)[0]
    assert purse.get("/transactions", before=mine).status_code == 200
    assert error(purse.get("/transactions", before=theirs)) == (400, "invalid_pagination")
    assert error(purse.get("/transactions", before=mine.lower())) == (400, "invalid_pagination")
    twice = purse.get(f"/transactions?before={mine}&before={mine}")
    assert error(twice) == (400, "invalid_pagination")


@pytest.mark.parametrize(
    ("query", "status"), [("page=%ff", 200), ("%ff=1", 200), ("before=%ff", 400)]
)
def test_bytes_that_are_no_text_matter_in_known_parameters_only(
    purse: Purse, query: str, status: int
) -> None:
    response = purse.http.get(f"/transactions?{query}")
    assert response.status_code == status, response.text
