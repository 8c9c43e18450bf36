"""What depth costs: the first page of each listing beside one 100,000 rows further on."""

import http.client
import json
import time
from statistics import median
from typing import Any
from urllib.parse import urlencode

from bench.load import Target
from bench.report import Verdict

DEPTH = 100_000
WANTED = 1.2
FILTERS: dict[str, dict[str, str]] = {
    "all": {},
    "status=paid": {"status": "paid"},
    "status=expired": {"status": "expired"},
    "status=refunded": {"status": "refunded"},
    "label": {"terminal_label": "Till 0"},
    "label, status=paid": {"terminal_label": "Till 0", "status": "paid"},
    "label, status=expired": {"terminal_label": "Till 7", "status": "expired"},
    "dates": {"created_from": "2000-01-01", "created_to": "2100-01-01"},
    "status=paid, dates": {"status": "paid", "created_from": "2000-01-01"},
}


class Pages:
    """One keep-alive connection that asks for pages."""

    def __init__(self, target: Target) -> None:
        host = target.origin.removeprefix("http://")
        self._connection = http.client.HTTPConnection(host, timeout=60)
        self._headers = {"X-API-Key": target.secret_key}

    def page(self, query: dict[str, str]) -> dict[str, Any]:
        path = f"/merchant/payments?{urlencode(query)}"
        self._connection.request("GET", path, headers=self._headers)
        response = self._connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        return json.loads(body)  # type: ignore[no-any-return]

    def timed(self, query: dict[str, str]) -> float:
        start = time.perf_counter()
        self.page(query)
        return time.perf_counter() - start

    def deep_cursor(self, filters: dict[str, str], depth: int) -> tuple[str, int]:
        """A cursor that many rows in, or as deep as the listing allows a full page after it."""
        cursor, passed = "", 0
        while passed < depth:
            page = self.page({**filters, "limit": "100", "after": cursor})
            following = page["pagination"]["next_cursor"]
            if following is None:
                break
            cursor, passed = following, passed + len(page["data"])
        return cursor, passed


def measure(target: Target, samples: int) -> list[Verdict]:
    pages = Pages(target)
    found = []
    for name, filters in FILTERS.items():
        # Listings with fewer matches than that are measured at nine tenths of their length.
        cursor, passed = pages.deep_cursor(filters, DEPTH)
        if passed < DEPTH:
            cursor, passed = pages.deep_cursor(filters, passed * 9 // 10)
        first, deep = [], []
        for _ in range(samples):
            first.append(pages.timed(filters))
            deep.append(pages.timed({**filters, "after": cursor}))
        ratio = median(deep) / median(first)
        text = f"list by {name}: p50 {passed:,} rows on ÷ first page ({median(first) * 1e3:.2f} ms)"
        found.append(Verdict(text, round(ratio, 3), f"at most {WANTED:g}", ratio <= WANTED))
    return found
