"""Hostile bytes through a proxy that shares its connections: nobody gets another's response."""

import json
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.cases import H, J, all_cases, send_case, sized
from tests.http.proxies import PROXIES, find, proxy
from tests.http.raw import exchange
from tests.serving import Merchant, Service, serving

ROUNDS = 2
VICTIMS = 3

pytestmark = pytest.mark.campaign


@pytest.fixture
def service(dsn: str, tmp_path: Path) -> Iterator[Service]:
    with serving(dsn, tmp_path, workers=2) as service:
        yield service


class Victim(threading.Thread):
    """Creates payments on connections of its own, and looks whether each response is its own."""

    def __init__(self, address: tuple[str, int], shop: Merchant) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._shop = shop
        self.stop = threading.Event()
        self.served = 0
        self.wrong: list[str] = []

    def run(self) -> None:
        while not self.stop.wait(0.002):
            reference = f"victim-{secrets.token_hex(8)}"
            payload = json.dumps({"reference": reference, "amount": 100}).encode()
            head = b"POST /merchant/payments HTTP/1.1\r\n" + H + J
            head += f"X-API-Key: {self._shop.secret_key}\r\nConnection: close\r\n".encode()
            try:
                answer = exchange(self._address, [sized(head, payload)], count=1)
            except AssertionError as error:
                self.wrong.append(str(error))
                continue
            found = [r.json()["data"]["reference"] for r in answer.responses if r.status == 201]
            if found == [reference]:
                self.served += 1
            else:
                self.wrong.append(f"{reference}: {answer}")


@pytest.mark.parametrize("name", PROXIES)
def test_nobody_gets_anothers_response(service: Service, name: str, tmp_path: Path) -> None:
    if find(name) is None:
        pytest.skip(f"{name} is not installed: apt-get install {PROXIES[name][0]}")
    shop, attacker = service.merchant(name="Victim"), service.merchant(name="Attacker")
    backend = service.origin.removeprefix("http://")
    with proxy(name, backend, tmp_path) as address:
        victims = [Victim(address, shop) for _ in range(VICTIMS)]
        for victim in victims:
            victim.start()
        surplus = []
        for _ in range(ROUNDS):
            for case in all_cases():
                if case.other_version:
                    continue
                answer = send_case(address, case, attacker.secret_key)
                if len(answer.responses) > case.most_responses:
                    surplus.append((case.name, answer.statuses))
        for victim in victims:
            victim.stop.set()
            victim.join()
    wrong = [each for victim in victims for each in victim.wrong]
    assert not wrong, wrong[:3]
    assert not surplus
    assert all(victim.served > 100 for victim in victims)
    created = service.execute("SELECT count(*) FROM payments WHERE reference LIKE 'victim-%'")
    assert created[0]["count"] == sum(victim.served for victim in victims)
