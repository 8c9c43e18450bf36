"""The wallet interface as its caller sees it."""

import json
from decimal import Decimal
from typing import Any

import httpx

from laari.store.reads.people.wallet_keys import key_digest
from tests.serving import Merchant, Service

LIMIT = 60  # requests in a window


class Purse:
    """The wallet interface with one personal key."""

    def __init__(self, service: Service, key: str) -> None:
        self.service = service
        self.key = key
        self.digest = key_digest(service.master_key, key)  # as the database has it
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
            "AND k.digest = $1",
            self.digest,
            seconds,
        )


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
