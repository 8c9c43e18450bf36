"""The database goes away or goes silent: every interface says so in time, and works on after."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.serving import Merchant, Service, serving
from tests.silence import Proxy, proxy_to

LONGEST_SECONDS = 10.0  # of any request, whatever happens to the database
BACK_SECONDS = 3.0  # from when it is back


class Shop(NamedTuple):
    """A service on a database that can be taken away, and one request of each kind."""

    service: Service
    proxy: Proxy
    merchant: Merchant
    client: tuple[str, str]
    api_key: str

    def requests(self) -> dict[str, Callable[[], httpx.Response]]:
        origin = self.service.origin
        payment = self.merchant.payment()
        token = f"{origin}/merchant/oauth/token"
        grant = {"grant_type": "client_credentials"}
        wallet = {"X-API-Key": self.api_key}
        new = {"reference": f"ref-{time.monotonic_ns()}", "amount": 12500}
        return {
            "read": lambda: self.merchant.get(f"/payments/{payment['id']}"),
            "list": lambda: self.merchant.get("/payments"),
            "create": lambda: self.merchant.post("/payments", new),
            "pay": lambda: self.merchant.post(f"/sandbox/payments/{payment['id']}/pay"),
            "token": lambda: httpx.post(token, data=grant, auth=self.client, timeout=30),
            "wallet": lambda: httpx.get(f"{origin}/wallet/balance", headers=wallet, timeout=30),
            "page": lambda: httpx.get(payment["payment_url"], timeout=30),
        }

    def ask(self, requests: dict[str, Callable[[], httpx.Response]]) -> dict[str, httpx.Response]:
        """All at once, each answered in time."""

        def timed(request: Callable[[], httpx.Response]) -> httpx.Response:
            began = time.monotonic()
            response = request()
            assert time.monotonic() - began < LONGEST_SECONDS
            return response

        with ThreadPoolExecutor(len(requests)) as threads:
            return dict(zip(requests, threads.map(timed, requests.values()), strict=True))

    def operations(self, path: str) -> httpx.Response:
        return httpx.get(f"{self.service.origin}{path}", timeout=30)

    def metrics(self) -> httpx.Response:
        return httpx.get(self.service.metrics_url, timeout=30)


@pytest.fixture
def shop(dsn: str, tmp_path: Path) -> Iterator[Shop]:
    with proxy_to(dsn) as proxy, serving(proxy.dsn, tmp_path) as service:
        merchant = service.merchant()
        api_key = merchant.control("wallet", {})["api_key"]
        yield Shop(service, proxy, merchant, merchant.client(), api_key)


def statuses(answers: dict[str, httpx.Response]) -> dict[str, int]:
    return {name: answer.status_code for name, answer in answers.items()}


WELL = {
    "read": 200,
    "list": 200,
    "create": 201,
    "pay": 200,
    "token": 200,
    "wallet": 200,
    "page": 200,
}


def assert_back(shop: Shop) -> None:
    began = time.monotonic()
    while shop.operations("/readyz").status_code != 200:
        assert time.monotonic() - began < BACK_SECONDS
        time.sleep(0.05)
    assert statuses(shop.ask(shop.requests())) == WELL


@pytest.mark.parametrize("how", ["refuse", "silence"])
def test_a_database_that_is_away(shop: Shop, how: str) -> None:
    assert statuses(shop.ask(shop.requests())) == WELL
    requests = shop.requests()
    getattr(shop.proxy, how)()
    time.sleep(1.2)  # else a commit may be on its way: there, 500 is the honest answer
    for _ in range(2):
        answers = shop.ask(requests)
        assert statuses(answers) == dict.fromkeys(WELL, 503)
        assert {answer.headers["retry-after"] for answer in answers.values()} == {"1"}
        for name in ("read", "list", "create", "pay"):
            assert answers[name].json()["error"]["code"] == "service_unavailable"
        assert answers["token"].json()["error"] == "temporarily_unavailable"
        assert answers["wallet"].json()["success"] is False
        assert "Nothing was done" in answers["page"].text
    assert shop.operations("/healthz").status_code == 200
    assert shop.operations("/readyz").status_code == 503
    metrics = shop.metrics()
    assert metrics.status_code == 200
    assert "\nlaari_database_up 0\n" in metrics.text
    assert "laari_webhooks_waiting" not in metrics.text
    shop.proxy.heal()
    assert_back(shop)
    assert "\nlaari_database_up 1\n" in shop.metrics().text


def test_connections_that_go_silent_while_new_ones_work(shop: Shop) -> None:
    assert statuses(shop.ask(shop.requests())) == WELL
    requests = shop.requests()
    time.sleep(1.2)
    shop.proxy.silence_open()
    began = time.monotonic()
    assert statuses(shop.ask(requests)) == WELL
    assert time.monotonic() - began < 8
    began = time.monotonic()
    assert statuses(shop.ask(shop.requests())) == WELL
    assert time.monotonic() - began < 2


@pytest.mark.usefixtures("in_earnest")
def test_a_command_beside_it_says_so_in_one_line(shop: Shop) -> None:
    shop.proxy.silence()
    ended = shop.service.laari("merchant", "list")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "laari: the database does not answer within 2 seconds\n"
    shop.proxy.heal()
    shop.proxy.refuse()
    ended = shop.service.laari("merchant", "list")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)


FULL_DISK = """
CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$
"""


def test_a_full_disk_is_not_now_and_nothing_was_begun(dsn: str, tmp_path: Path) -> None:
    with serving(dsn, tmp_path) as service:
        merchant = service.merchant(email="owner@shop.example", password="correct horse battery")
        service.execute(FULL_DISK)
        for table in ("payments", "sessions"):
            service.execute(
                f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} EXECUTE FUNCTION no_space()"
            )
        body = {"reference": "r1", "amount": 100}
        refused = merchant.post("/payments", body, Idempotency_Key="k1")
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "service_unavailable"
        assert "Retry-After" in refused.headers
        assert log_in(service).status_code == 503
        for table in ("payments", "sessions"):
            service.execute(f"DROP TRIGGER full_disk ON {table}")
        made = merchant.post("/payments", body, Idempotency_Key="k1")
        assert (made.status_code, made.headers.get("Idempotent-Replayed")) == (201, None)
        assert log_in(service).status_code == 303
    log = (tmp_path / "serve.log").read_text()
    assert "not begun: the database has no room left on its disk" in log


def log_in(service: Service) -> httpx.Response:
    with httpx.Client(base_url=service.origin, timeout=30) as browser:
        page = browser.get("/dashboard/login").text
        token = page.split('name="form_token" value="')[1].split('"')[0]
        login = {"identity": "owner@shop.example", "password": "correct horse battery"}
        return browser.post("/dashboard/login", data={**login, "form_token": token})
