"""How soon the checkout page begins to arrive, one visitor at a time, and how large it is."""

import http.client
import json
import re
import secrets
import time
from statistics import median
from urllib.parse import urlsplit

from bench.load import Target
from bench.report import Verdict

SAMPLES = 500
WARM_UP = 50
WANTED_MS = 20
WANTED_KB = 60


def measure(target: Target) -> list[Verdict]:
    connection = http.client.HTTPConnection(urlsplit(target.origin).netloc, timeout=30)
    path = _new_page(connection, target.secret_key)
    waits = [_first_byte_ms(connection, path) for _ in range(WARM_UP + SAMPLES)][WARM_UP:]
    wait, size = median(waits), _all_bytes(connection, path) / 1000
    return [
        Verdict(
            "checkout page: ms to its first byte, p50",
            round(wait, 2),
            f"at most {WANTED_MS}",
            wait <= WANTED_MS,
        ),
        Verdict(
            "checkout page: KB with all it loads",
            round(size, 1),
            f"at most {WANTED_KB}",
            size <= WANTED_KB,
        ),
    ]


def _new_page(connection: http.client.HTTPConnection, secret_key: str) -> str:
    body = {"reference": secrets.token_hex(16), "amount": 12500, "title": "Two coffees"}
    headers = {"X-API-Key": secret_key, "Content-Type": "application/json"}
    connection.request("POST", "/merchant/payments", json.dumps(body), headers)
    url: str = json.loads(connection.getresponse().read())["data"]["payment_url"]
    return urlsplit(url).path


def _first_byte_ms(connection: http.client.HTTPConnection, path: str) -> float:
    start = time.perf_counter()
    connection.request("GET", path)
    response = connection.getresponse()
    waited = time.perf_counter() - start
    response.read()
    return waited * 1000


def _all_bytes(connection: http.client.HTTPConnection, path: str) -> int:
    """The page and everything it names, QR code and both fonts included."""

    def fetch(address: str, encoding: str = "gzip") -> bytes:
        connection.request("GET", address, headers={"Accept-Encoding": encoding})
        return connection.getresponse().read()

    page = fetch(path)
    named = set(re.findall(r'(?:src|href)="(/(?:static|merchant)/[^"]+)"', page.decode()))
    style = fetch(next(name for name in named if name.endswith(".css")), "identity")
    named |= set(re.findall(r'url\("(/static/[^"]+)"\)', style.decode()))
    return len(page) + sum(len(fetch(name)) for name in named)
