"""Sign-up for the sandbox in OpenAPI; only services that let merchants sign up show it."""

from __future__ import annotations

import json

from laari.edge.input.fields import Schema
from laari.edge.reference.schemas import Schemas
from laari.edge.signup import BODY, OPERATION, PATH, SandboxCustomer, SandboxMerchant
from laari.rules.refusals import CODES, RefusalCode, refuse
from laari.rules.shapes.envelopes import ErrorBody, refusal_body, to_json

JSON = "application/json"
TAG = "Sandbox controls"
REFUSALS: tuple[RefusalCode, ...] = (
    "method_not_allowed",
    "https_required",
    "request_too_large",
    "invalid_request",
    "invalid_json",
    "rate_limited",
    "service_unavailable",
    "internal_error",
)
_HEADERS = {405: "Allow", 429: "Retry-After", 503: "Retry-After"}
_SAMPLE = SandboxMerchant(
    merchant_id="mer_k3v6q2d7x4m5n8p2r9tz",
    name="Bodu Boat",
    mode="sandbox",
    active=True,
    webhook_url="https://shop.example.com/hook",
    webhooks=True,
    fee_bps=0,
    fee_fixed=0,
    created_at="2027-07-01T09:30:00+05:00",
    secret_key="sk_…",  # noqa: S106  # nobody's
    webhook_secret="sk_…",  # noqa: S106
    customer=SandboxCustomer(
        "1000000042", "wk_…", "sandbox", "sandbox@laari.test", 10_000_000, "verified"
    ),
)


def paths(schemas: Schemas) -> dict[str, Schema]:
    return {PATH: {"post": _operation(schemas)}}


def _operation(schemas: Schemas) -> Schema:
    response = {"schema": schemas.of(SandboxMerchant), "example": json.loads(to_json(_SAMPLE))}
    responses: dict[str, Schema] = {
        "201": {"description": "Created", "content": {JSON: response}},
    }
    by_status: dict[int, list[RefusalCode]] = {}
    for code in REFUSALS:
        by_status.setdefault(CODES[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = _refused(status, codes, schemas)
    return {
        "operationId": OPERATION,
        "summary": "Make a merchant for the sandbox",
        "description": "Needs no credentials. The merchant has no live mode. Its secrets are shown "
        "only now; without a body it is made as it comes.",
        "tags": [TAG],
        "parameters": [],
        "requestBody": {
            "required": False,
            "content": {
                JSON: {
                    "schema": schemas.keep(BODY.name, BODY.schema()),
                    "examples": {name: {"value": each} for name, each in BODY.examples.items()},
                }
            },
        },
        "responses": responses,
        "security": [],
    }


def _refused(status: int, codes: list[RefusalCode], schemas: Schemas) -> Schema:
    refusals = [refuse(code) for code in codes]
    header = _HEADERS.get(status)
    return {
        "description": "\n".join(f"- `{each.public_code}`: {each.message}" for each in refusals),
        "headers": {header: {"$ref": f"#/components/headers/{header}"}} if header else {},
        "content": {
            JSON: {
                "schema": schemas.of(ErrorBody),
                "examples": {
                    each.public_code: {
                        "summary": each.public_code,
                        "value": json.loads(refusal_body(each)),
                    }
                    for each in refusals
                },
            }
        },
    }
