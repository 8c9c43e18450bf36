"""The wallet interface: 60 requests a minute, however many processes answer."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from tests.api.purses import LIMIT, Purse, error
from tests.serving import Merchant, Service, serving


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


@pytest.mark.ci
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


@pytest.mark.ci
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
