"""The merchants of the campaign, each with an authorization to charge and a customer's money."""

import secrets
from dataclasses import dataclass
from typing import Any

import aiohttp

from campaigns.cluster.service import ServiceNode

BALANCE = 10_000_000_000  # laari: more than all charges of a campaign


@dataclass(frozen=True)
class Merchant:
    id: str
    secret_key: str
    authorization_id: str


async def make_merchant(service: ServiceNode, webhook_url: str, name: str) -> Merchant:
    made = await service.laari("merchant", "create", name, "--webhook-url", webhook_url)
    headers = {"X-API-Key": made["secret_key"]}
    async with aiohttp.ClientSession(headers=headers) as http:

        async def post(path: str, body: Any = None) -> dict[str, Any]:
            async with http.post(f"{service.origin}/merchant{path}", json=body) as response:
                answer = await response.json()
                if response.status >= 300:
                    raise RuntimeError(f"{path}: {response.status} {answer}")
                return dict(answer["data"])

        await post("/sandbox/wallet", {"balance": BALANCE, "tier": "business"})
        body = {"reference": f"auth-{secrets.token_hex(4)}", "title": "Charges of the campaign"}
        authorization = await post("/authorizations", body)
        await post(f"/sandbox/authorizations/{authorization['id']}/approve")
    return Merchant(made["merchant_id"], made["secret_key"], authorization["id"])
