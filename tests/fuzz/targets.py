"""What generated requests aim at: things that exist, in every state, and credentials that work."""

import base64
from random import Random
from typing import Any

from laari.rules.merchants.scopes import SCOPES
from tests.serving import Merchant

RENEWED_AFTER = 400  # uses: requests cancel, reject and charge what they are given
WALLET_REQUESTS = 50  # of the sixty that a wallet has in a minute


class Targets:
    """Ids by the collection they belong to. What was used up is made anew now and then."""

    def __init__(self, shop: Merchant) -> None:
        self.shop = shop
        self.random = Random(0)
        self.wallet_key = shop.control("wallet", {})["api_key"]
        self.client = shop.client()
        self.tokens = [shop.token(), shop.token("payments:read"), shop.token("")]
        self.tokens += [shop.token(scope) for scope in ("payments:create", "authorizations:charge")]
        self._used = self._wallet_uses = 0
        self._ids: dict[str, list[str]] = {}

    def any_id(self, collection: str) -> str | None:
        if self._used % RENEWED_AFTER == 0:
            self._renew()
        self._used += 1
        known = self._ids.get(collection)
        return self.random.choice(known) if known else None

    def _renew(self) -> None:
        shop = self.shop
        shop.control("clock", {"reset": True})
        shop.control("wallet", {"balance": 10**12, "tier": "business"})
        payments = [shop.payment() for _ in range(6)]
        shop.control(f"payments/{payments[0]['id']}/pay")
        shop.control(f"payments/{payments[1]['id']}/reserve")
        requests = [shop.request() for _ in range(6)]
        shop.control(f"payment-requests/{requests[0]['id']}/pay")
        shop.control(f"payment-requests/{requests[1]['id']}/reserve")
        limits = {"per_payment": 10**9, "period": {"interval": "day", "amount": 10**12}}
        given = [shop.approved(limits=limits) for _ in range(4)]
        given += [shop.authorization(), shop.authorization(type="one_time")]
        charged = shop.charge(given[0], 100).json()["data"]
        events = shop.get("/events", limit=20).json()["data"]
        found: dict[str, list[dict[str, Any]]] = {
            "payments": [*payments, charged],
            "payment-requests": requests,
            "authorizations": given,
            "events": events,
            "qr": [*payments, {"id": payments[3]["qr_url"].rpartition("/")[2]}],
        }
        self._ids = {name: [one["id"] for one in rows] for name, rows in found.items()}

    def merchant_credentials(self) -> dict[str, str]:
        """A key most often; a token with all, some or no scopes; Basic."""
        kind = self.random.randrange(10)
        if kind < 6:
            return {"X-API-Key": self.shop.secret_key}
        if kind < 7:
            pair = f"{self.shop.id}:{self.shop.secret_key}".encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        return {"Authorization": f"Bearer {self.random.choice(self.tokens)}"}

    def wallet_credentials(self) -> dict[str, str]:
        self._wallet_uses += 1
        if self._wallet_uses % WALLET_REQUESTS == 0:
            self.shop.service.execute("TRUNCATE wallet_windows")
        return {"X-API-Key": self.wallet_key}

    def token_request(self) -> dict[str, str]:
        client, secret = self.client
        form = {"client_id": client, "client_secret": secret, "grant_type": "client_credentials"}
        if self.random.randrange(2):
            form["scope"] = self.random.choice([*SCOPES])
        return form
