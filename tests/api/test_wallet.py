"""The wallet interface over real HTTP."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest

from tests.serving import Merchant, Service, serving

LIMIT = 60  # requests in a window


class Purse:
    """The wallet interface with one personal key."""

    def __init__(self, service: Service, key: str) -> None:
        self.service = service
        self.key = key
        self.http = httpx.Client(
            base_url=f"{service.origin}/wallet", headers={"X-API-Key": key}, timeout=30
        )

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.http.get(path, params=query or None)

    def data(self, path: str, **query: Any) -> Any:
        response = self.get(path, **query)
        assert response.status_code == 200, response.text
        body = json.loads(response.text, parse_float=Decimal)
        assert body["success"] is True
        return body["data"]

    def age_window(self, seconds: float) -> None:
        """Lets the running window have begun so much earlier."""
        self.service.execute(
            "UPDATE wallet_windows SET opened_at = opened_at - make_interval(secs => $2) "
            "FROM wallet_keys k WHERE k.account = wallet_windows.account "
            "AND k.digest = sha256(convert_to($1, 'UTF8'))",
            self.key,
            seconds,
        )


@pytest.fixture
def purse(shop: Merchant) -> Purse:
    """The wallet of the shop's own sandbox customer."""
    return Purse(shop.service, shop.control("wallet", {})["api_key"])


def error(response: httpx.Response) -> tuple[int, str]:
    body = response.json()
    assert set(body) == {"success", "error"}
    assert body["success"] is False
    assert set(body["error"]) == {"code", "message"}
    assert body["error"]["message"]
    return response.status_code, body["error"]["code"]


def pay(shop: Merchant, amount: int, **fields: Any) -> dict[str, Any]:
    payment = shop.payment(amount=amount, **fields)
    return shop.control(f"payments/{payment['id']}/pay")


# Balance


def test_the_balance(shop: Merchant, purse: Purse) -> None:
    shop.control("wallet", {"balance": 1_234_50})
    response = purse.get("/balance")
    assert response.headers["Content-Type"] == "application/json"
    record = response.json()["data"][0]
    account = record.pop("account_number")
    assert isinstance(account, str)
    assert account.isdigit()
    assert response.json() == {"success": True, "data": [{"account_number": account, **record}]}
    assert record == {
        "currency": "MVR",
        "ledger_balance": 1234.5,
        "available_balance": 1234.5,
        "hold_balance": 0,
    }


@pytest.mark.parametrize(
    ("laari", "written"),
    [
        (0, "0"),
        (7, "0.07"),
        (-12_345, "-123.45"),
        (10_000_000, "100000"),
        (999_999_999_999_999_999, "9999999999999999.99"),
        (-999_999_999_999_999_999, "-9999999999999999.99"),
        (900_719_925_474_099_301, "9007199254740993.01"),  # 2^53 + 1 and a laari
    ],
)
def test_numbers_are_exact_in_the_raw_json(
    shop: Merchant, purse: Purse, laari: int, written: str
) -> None:
    shop.control("wallet", {"balance": laari})
    text = purse.get("/balance").text
    assert f'"ledger_balance":{written},"available_balance":{written},"hold_balance":0}}' in text
    latest = purse.data("/transactions", limit=1)[0]
    assert Decimal(latest["amount"]) == Decimal(laari - 10_000_000).scaleb(-2) or laari == 10**7


def test_a_payment_counts_from_the_next_request(shop: Merchant, purse: Purse) -> None:
    pay(shop, 25_075)
    assert purse.data("/balance")[0]["ledger_balance"] == Decimal("99749.25")


# Usage


def test_usage_by_tier(shop: Merchant, purse: Purse) -> None:
    assert purse.data("/usage") | {"reset_at": None} == {
        "tier": "verified",
        "limits": {
            "per_transaction": 50_000,
            "daily": 100_000,
            "weekly": 300_000,
            "monthly": 500_000,
        },
        "usage": {"daily": 0, "weekly": 0, "monthly": 0},
        "remaining": {"daily": 100_000, "weekly": 300_000, "monthly": 500_000},
        "reset_at": None,
    }
    pay(shop, 1_000_001)
    shop.control("wallet", {"tier": "basic"})
    lowered = purse.data("/usage")
    assert lowered["tier"] == "basic"
    assert lowered["limits"]["per_transaction"] == 5_000
    assert set(lowered["usage"].values()) == {Decimal("10000.01")}
    assert lowered["remaining"] == {  # the day's is passed, and shown as nothing left
        "daily": 0,
        "weekly": Decimal("19999.99"),
        "monthly": Decimal("39999.99"),
    }
    shop.control("wallet", {"tier": "business"})
    free = purse.data("/usage")
    assert set(free["limits"].values()) == {None}
    assert set(free["remaining"].values()) == {None}
    assert set(free["usage"].values()) == {Decimal("10000.01")}


def test_usage_follows_the_sandbox_clock(shop: Merchant, purse: Purse) -> None:
    def usage() -> Any:
        return purse.data("/usage")

    def pass_reset(period: str) -> None:
        wait = datetime.fromisoformat(usage()["reset_at"][period]) - now()
        shop.advance(int(wait.total_seconds()) + 1)

    def now() -> datetime:
        return datetime.fromisoformat(shop.advance(0)["now"])

    pass_reset("monthly")  # the first of a month, so that the day's end is not the month's
    before = now()
    resets = {name: datetime.fromisoformat(at) for name, at in usage()["reset_at"].items()}
    assert {at.utcoffset() for at in resets.values()} == {timedelta(hours=5)}
    assert {(at.hour, at.minute, at.second) for at in resets.values()} == {(0, 0, 0)}
    assert resets["daily"].date() == before.date() + timedelta(days=1)
    assert resets["weekly"].isoweekday() == 7
    assert timedelta(0) < resets["weekly"] - before <= timedelta(days=7)
    assert resets["monthly"].day == 1
    assert resets["monthly"].month == before.month % 12 + 1
    pay(shop, 500)
    assert usage()["usage"] == {"daily": 5, "weekly": 5, "monthly": 5}
    pass_reset("daily")
    assert usage()["usage"]["daily"] == 0
    assert usage()["usage"]["monthly"] == 5
    pass_reset("weekly")
    assert usage()["usage"]["weekly"] == 0
    pass_reset("monthly")
    assert usage()["usage"] == {"daily": 0, "weekly": 0, "monthly": 0}


# Transactions


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


# Keys


@pytest.mark.parametrize("path", ["/balance", "/usage/", "/transactions", "/nowhere", "", "/"])
def test_everything_needs_a_key(shop: Merchant, purse: Purse, path: str) -> None:
    address = f"{shop.service.origin}/wallet{path}"
    with httpx.Client() as stranger:
        for headers in (
            {},
            {"X-API-Key": ""},
            {"X-API-Key": "wk_wrong"},
            {"X-API-Key": shop.secret_key},  # a merchant's
            {"Authorization": f"Bearer {purse.key}"},
        ):
            for method in ("GET", "POST", "DELETE"):
                response = stranger.request(method, address, headers=headers)
                assert error(response) == (401, "unauthorized")
                assert "ApiKey" in response.headers["WWW-Authenticate"]
                assert response.headers["Cache-Control"] == "no-store"


def test_a_key_counts_only_as_it_is(purse: Purse) -> None:
    for key in (purse.key[:-1], purse.key.swapcase(), f"Bearer {purse.key}", f"{purse.key},"):
        assert purse.http.get("/balance", headers={"X-API-Key": key}).status_code == 401
    twice = [("X-API-Key", purse.key), ("X-API-Key", purse.key)]
    response = httpx.get(f"{purse.service.origin}/wallet/balance", headers=twice)
    assert error(response) == (401, "unauthorized")


def test_a_revoked_key_is_refused_from_the_next_request(purse: Purse) -> None:
    assert purse.get("/balance").status_code == 200
    purse.service.execute(
        "UPDATE wallet_keys SET revoked_at = now() WHERE digest = sha256(convert_to($1, 'UTF8'))",
        purse.key,
    )
    assert error(purse.get("/balance")) == (401, "unauthorized")


def test_each_key_reads_its_own_wallet(service: Service, shop: Merchant, purse: Purse) -> None:
    other = service.merchant()
    theirs = Purse(service, other.control("wallet", {"balance": 500})["api_key"])
    shop.control("wallet", {"balance": 700})
    assert purse.data("/balance")[0]["ledger_balance"] == 7
    assert theirs.data("/balance")[0]["ledger_balance"] == 5
    account = purse.data("/balance")[0]["account_number"]
    assert theirs.data("/balance", account_number=account)[0]["account_number"] != account


def test_a_customer_of_the_operator(service: Service) -> None:
    made = service.laari("customer", "create", "Aishath", "--balance", "12345", "--json")
    assert made.returncode == 0, made.stderr
    customer = json.loads(made.stdout)
    purse = Purse(service, customer["api_key"])
    record = purse.data("/balance")[0]
    assert record["account_number"] == str(customer["account_number"])
    assert record["ledger_balance"] == Decimal("123.45")
    assert purse.data("/transactions")[0]["type"] == "topup"
    reset = datetime.fromisoformat(purse.data("/usage")["reset_at"]["daily"])
    assert timedelta(0) < reset - datetime.now(UTC) <= timedelta(days=1)


# Endpoints and methods


@pytest.mark.parametrize(
    "path",
    ["", "/", "/nowhere", "/balance/x", "/balance//", "//balance", "/Balance", "/usage.json"],
)
def test_unknown_endpoints(purse: Purse, path: str) -> None:
    address = f"{purse.service.origin}/wallet{path}"
    assert error(purse.http.get(address)) == (404, "not_found")
    assert error(purse.http.post(address)) == (404, "not_found")


@pytest.mark.parametrize("path", ["/balance", "/usage", "/transactions"])
def test_a_trailing_slash_and_a_body_make_no_difference(purse: Purse, path: str) -> None:
    plain = purse.data(path)
    assert purse.data(f"{path}/") == plain
    response = purse.http.request("GET", path, content=b"{nonsense")
    assert response.status_code == 200


@pytest.mark.parametrize("path", ["/balance", "/usage/", "/transactions?limit=0"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_only_get_is_allowed(purse: Purse, method: str, path: str) -> None:
    response = purse.http.request(method, path)
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET"
    assert response.headers["Cache-Control"] == "no-store"
    if method == "HEAD":
        assert response.content == b""
    else:
        assert error(response) == (405, "method_not_allowed")


def test_other_addresses_are_not_the_wallets(service: Service) -> None:
    assert httpx.get(f"{service.origin}/wallets").status_code == 404
    assert httpx.get(f"{service.origin}/walletbalance").status_code == 404


def test_every_answer_is_uncacheable(purse: Purse) -> None:
    for path in ("/balance", "/usage", "/transactions", "/transactions?limit=x", "/nowhere"):
        assert purse.get(path).headers["Cache-Control"] == "no-store"


def test_an_unexpected_error_has_the_wallets_shape(service: Service, purse: Purse) -> None:
    assert purse.get("/balance").status_code == 200
    service.execute("ALTER TABLE wallet_windows ADD CONSTRAINT broken CHECK (used < 2) NOT VALID")
    try:
        response = purse.get("/balance")
    finally:
        service.execute("ALTER TABLE wallet_windows DROP CONSTRAINT broken")
    assert error(response) == (500, "internal_error")
    assert response.headers["Cache-Control"] == "no-store"
    assert purse.get("/balance").status_code == 200


def test_https_is_required_before_the_key_is_looked_at(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = {
        "LAARI_PUBLIC_URL": "https://pay.example",
        "LAARI_TRUSTED_PROXIES": "127.0.0.0/8",
    }
    with serving(service.dsn, tmp_path_factory.mktemp("https"), **settings) as strict:
        shop = strict.merchant()
        shop.http.headers["X-Forwarded-Proto"] = "https"
        purse = Purse(strict, shop.control("wallet", {})["api_key"])
        for _ in range(LIMIT + 1):  # none of them counts
            response = purse.get("/balance")
            assert error(response) == (403, "invalid_request")
            assert response.headers["Cache-Control"] == "no-store"
        assert error(httpx.get(f"{strict.origin}/wallet/x")) == (403, "invalid_request")
        purse.http.headers["X-Forwarded-Proto"] = "https"
        assert purse.get("/balance").status_code == 200


# The rate window


def test_the_61st_request_of_a_window_is_refused(purse: Purse) -> None:
    """Whatever they ask for: errors count too."""
    kinds = [
        ("GET", "/balance", 200),
        ("GET", "/usage", 200),
        ("GET", "/transactions", 200),
        ("GET", "/transactions?limit=0", 400),
        ("POST", "/balance", 405),
        ("GET", "/nowhere", 404),
    ]
    for number in range(LIMIT):
        method, path, status = kinds[number % len(kinds)]
        assert purse.http.request(method, path).status_code == status
    for method, path, _ in kinds:
        response = purse.http.request(method, path)
        assert error(response) == (429, "rate_limited")
        assert response.headers["Cache-Control"] == "no-store"
        assert 1 <= int(response.headers["Retry-After"]) <= 60
    assert purse.http.get("/balance", headers={"X-API-Key": "wrong"}).status_code == 401


def test_a_window_ends_60_seconds_after_its_first_request(purse: Purse) -> None:
    for _ in range(LIMIT):
        assert purse.get("/nowhere").status_code == 404
    purse.age_window(40)
    assert int(purse.get("/balance").headers["Retry-After"]) in range(10, 21)
    purse.age_window(20)  # refused requests did not make it any longer
    for _ in range(LIMIT):
        assert purse.get("/nowhere").status_code == 404
    assert purse.get("/nowhere").status_code == 429


def test_windows_are_each_accounts_own_and_in_real_time(
    service: Service, shop: Merchant, purse: Purse
) -> None:
    for _ in range(LIMIT):
        purse.get("/nowhere")
    shop.advance(3_600)
    assert purse.get("/balance").status_code == 429
    other = service.merchant()
    assert Purse(service, other.control("wallet", {})["api_key"]).get("/balance").status_code == 200


@pytest.fixture(scope="module")
def four_processes(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(service.dsn, tmp_path_factory.mktemp("four"), workers=4) as four:
        yield four


def test_exactly_60_of_200_parallel_requests_pass_four_processes(four_processes: Service) -> None:
    """Two wallets at once, so that statements carry both."""
    keys = [four_processes.merchant().control("wallet", {})["api_key"] for _ in range(2)]

    async def ask_all() -> list[httpx.Response]:
        # A connection each, so that any of the processes may answer.
        limits = httpx.Limits(max_connections=400, max_keepalive_connections=0)
        async with httpx.AsyncClient(timeout=60, limits=limits) as client:
            address = f"{four_processes.origin}/wallet/balance"
            asked = (client.get(address, headers={"X-API-Key": keys[n % 2]}) for n in range(400))
            return await asyncio.gather(*asked)

    responses = asyncio.run(ask_all())
    for key in keys:
        statuses = Counter(
            r.status_code for r in responses if r.request.headers["X-API-Key"] == key
        )
        assert statuses == {200: LIMIT, 429: 200 - LIMIT}
    refused = [response for response in responses if response.status_code == 429]
    assert all(1 <= int(response.headers["Retry-After"]) <= 60 for response in refused)


def test_nothing_appears_behind_what_was_already_shown(four_processes: Service) -> None:
    """However the processes' commits fall, each look at the history only adds on top."""
    shop = four_processes.merchant()
    purse = Purse(four_processes, shop.control("wallet", {"balance": 2_000})["api_key"])
    ids = [shop.payment(amount=100)["id"] for _ in range(30)]  # money for twenty of them

    async def pay_all() -> list[list[str]]:
        limits = httpx.Limits(max_connections=40, max_keepalive_connections=0)
        headers = {"X-API-Key": shop.secret_key}
        address = f"{four_processes.origin}/merchant/sandbox/payments"
        async with httpx.AsyncClient(timeout=60, limits=limits, headers=headers) as client:
            paying = [asyncio.create_task(client.post(f"{address}/{id}/pay")) for id in ids]
            looks = []
            while len(looks) < 40 and not all(task.done() for task in paying):
                looks.append(await asyncio.to_thread(purse.data, "/transactions", limit=100))
            answers = Counter(response.status_code for response in await asyncio.gather(*paying))
        assert answers == {200: 20, 402: 10}
        looks.append(purse.data("/transactions", limit=100))
        return [[one["tid"] for one in look] for look in looks]

    looks = asyncio.run(pay_all())
    assert len(looks[-1]) == 32
    for look in looks:
        assert looks[-1][len(looks[-1]) - len(look) :] == look
    assert purse.data("/balance")[0]["ledger_balance"] == 0
