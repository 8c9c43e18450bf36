"""The wallet interface in OpenAPI, made from the table of its endpoints."""

from __future__ import annotations

import json

from laari.edge.fields import Schema
from laari.edge.schemas import Schemas
from laari.edge.wallet.app import ENDPOINTS, WINDOW_REQUESTS, Endpoint
from laari.rules.refusals import CODES, refuse
from laari.rules.wallet_shapes import WalletErrorBody, wallet_refusal_body

JSON = "application/json"

TAG: Schema = {
    "name": "Wallet",
    "description": "A personal account reads its own wallet, with a key of its own. "
    f"{WINDOW_REQUESTS} requests a minute, over all three endpoints; errors count too.",
}

SECURITY_SCHEMES: dict[str, Schema] = {
    "WalletKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "A personal account's key, for the wallet interface only.",
    }
}

_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After"}


def paths(origin: str, schemas: Schemas) -> dict[str, Schema]:
    servers = [{"url": f"{origin}/wallet", "description": "Wallet interface"}]
    return {
        endpoint.path: {"get": {**_operation(endpoint, schemas), "servers": servers}}
        for endpoint in ENDPOINTS
    }


def codes_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Every refusal of the endpoint, in the order of the checks."""
    return (
        "https_required",
        "unauthorized",
        "rate_limited",
        *endpoint.refusals,
        "internal_error",
    )


def _operation(endpoint: Endpoint, schemas: Schemas) -> Schema:
    answer = schemas.wrapped(
        endpoint.envelope, endpoint.shape, success={"type": "boolean", "const": True}
    )
    responses: dict[str, Schema] = {
        "200": {"description": "OK", "content": {JSON: {"schema": answer}}}
    }
    for code in codes_of(endpoint):
        responses[str(CODES[code].status)] = _refusal(code, schemas)
    return {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "tags": [TAG["name"]],
        "parameters": [_parameter(*each) for each in endpoint.parameters.items()],
        "responses": responses,
        "security": [{"WalletKey": []}],
    }


def _parameter(name: str, schema: Schema) -> Schema:
    described = dict(schema)
    return {
        "name": name,
        "in": "query",
        "description": described.pop("description"),
        "schema": described,
    }


def _refusal(code: str, schemas: Schemas) -> Schema:
    refusal = refuse(code)
    name = _HEADERS.get(refusal.status)
    example = {
        "summary": refusal.public_code,
        "value": json.loads(wallet_refusal_body(refusal)),
    }
    return {
        "description": f"- `{refusal.public_code}`: {refusal.message}",
        "headers": {name: {"$ref": f"#/components/headers/{name}"}} if name else {},
        "content": {
            JSON: {
                "schema": schemas.of(WalletErrorBody),
                "examples": {refusal.public_code: example},
            }
        },
    }
