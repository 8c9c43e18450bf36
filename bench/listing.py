"""What depth costs: the first page of a listing beside one 100,000 rows further on."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

from bench.fill import fill
from bench.service import Service, running
from laari.store.embedded import embedded_server

PAYMENTS = 1_000_000
DEPTH = 100_000
SAMPLES = 200
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


class Client:
    """One keep-alive connection that asks for pages."""

    def __init__(self, service: Service, secret_key: str) -> None:
        host = service.origin.removeprefix("http://")
        self._connection = http.client.HTTPConnection(host, timeout=60)
        self._headers = {"X-API-Key": secret_key}

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


def run(directory: Path, payments: int = PAYMENTS, depth: int = DEPTH) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    with embedded_server(directory) as dsn, running(directory) as service:
        merchant = service.laari("merchant", "create", "Bench")
        start = time.monotonic()
        fill(dsn, merchant["merchant_id"], payments)
        filled = time.monotonic() - start
        client = Client(service, merchant["secret_key"])
        for name, filters in FILTERS.items():
            # Listings with fewer matches than that are measured at nine tenths of their length.
            cursor, passed = client.deep_cursor(filters, depth)
            if passed < depth:
                cursor, passed = client.deep_cursor(filters, passed * 9 // 10)
            first, deep = [], []
            for _ in range(SAMPLES):
                first.append(client.timed(filters))
                deep.append(client.timed({**filters, "after": cursor}))
            rows[name] = {
                "depth": passed,
                "first_ms": round(median(first) * 1000, 2),
                "deep_ms": round(median(deep) * 1000, 2),
                "ratio": round(median(deep) / median(first), 2),
            }
    return {
        "payments": payments,
        "fill_seconds": round(filled, 1),
        "filters": rows,
        "ratio": max(row["ratio"] for row in rows.values()),
        "wanted": "at most 1.2",
    }
