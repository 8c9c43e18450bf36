"""The wallet interface in OpenAPI, made from the table of its endpoints."""

from __future__ import annotations

import json

from laari.edge.input.fields import Schema
from laari.edge.input.warnings import WARNING_NAME
from laari.edge.reference.schemas import Schemas
from laari.edge.wallet.app import BASE_PATH, ENDPOINTS, WINDOW_REQUESTS, Endpoint
from laari.rules.refusals import CODES, RefusalCode, refuse
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.fields import TID_EXAMPLE
from laari.rules.shapes.wallet import (
    CURRENCY,
    Balance,
    Remaining,
    ResetAt,
    Spent,
    TierLimits,
    Usage,
    WalletData,
    WalletErrorBody,
    WalletList,
    WalletPage,
    WalletPagination,
    WalletTransaction,
    mvr,
    wallet_refusal_body,
)

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

_HEADERS = {401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After", 503: "Retry-After"}
_SAMPLES = {
    "wallet_balance": WalletList(
        success=True,
        data=[Balance("100000000017", CURRENCY, mvr(125_050), mvr(125_050), mvr(0))],
    ),
    "wallet_usage": WalletData(
        success=True,
        data=Usage(
            tier="basic",
            limits=TierLimits(mvr(500_000), mvr(1_000_000), mvr(3_000_000), mvr(5_000_000)),
            usage=Spent(mvr(12_550), mvr(12_550), mvr(40_000)),
            remaining=Remaining(mvr(987_450), mvr(2_987_450), mvr(4_960_000)),
            reset_at=ResetAt(
                "2027-07-02T00:00:00+05:00",
                "2027-07-04T00:00:00+05:00",
                "2027-08-01T00:00:00+05:00",
            ),
        ),
    ),
    "wallet_transactions": WalletPage(
        success=True,
        data=[
            WalletTransaction(
                tid=TID_EXAMPLE,
                time="2027-07-01T09:42:10+05:00",
                type="payment",
                name="Seagull Café",
                details="Two tickets to Villingili",
                amount=mvr(-12_500),
                status="success",
            )
        ],
        pagination=WalletPagination(10, has_more=True, next_cursor=TID_EXAMPLE),
    ),
}


def paths(schemas: Schemas) -> dict[str, Schema]:
    return {
        BASE_PATH + endpoint.path: {"get": _operation(endpoint, schemas)} for endpoint in ENDPOINTS
    }


def codes_of(endpoint: Endpoint) -> tuple[RefusalCode, ...]:
    """Every refusal of the endpoint, in the order of the checks."""
    return (
        "https_required",
        "unauthorized",
        "rate_limited",
        "method_not_allowed",
        *endpoint.refusals,
        "service_unavailable",
        "internal_error",
    )


def _operation(endpoint: Endpoint, schemas: Schemas) -> Schema:
    response = schemas.enveloped(
        endpoint.envelope, endpoint.shape, success={"type": "boolean", "const": True}
    )
    responses: dict[str, Schema] = {
        "200": {
            "description": "OK",
            "headers": {WARNING_NAME: {"$ref": f"#/components/headers/{WARNING_NAME}"}},
            "content": {
                JSON: {
                    "schema": response,
                    "example": json.loads(to_json(_SAMPLES[endpoint.name])),
                }
            },
        }
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


def _refusal(code: RefusalCode, schemas: Schemas) -> Schema:
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
