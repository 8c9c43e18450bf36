"""The merchant interface in OpenAPI, made from the table of its operations and events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import NamedTuple

from laari.edge.input.fields import NO_BODY, Field, Schema
from laari.edge.input.warnings import WARNING_LENGTH, WARNING_NAME
from laari.edge.merchant.app import BASE_PATH, OPERATIONS
from laari.edge.merchant.envelope import API_VERSION
from laari.edge.merchant.events import ListedEvent
from laari.edge.merchant.oauth import TOKEN_PATH
from laari.edge.merchant.operations import (
    ANY_READ_SCOPE,
    ANY_SCOPE,
    Operation,
    Public,
    Read,
    Write,
)
from laari.edge.reference.events import listed_event
from laari.edge.reference.samples import SAMPLES
from laari.edge.reference.schemas import Schemas
from laari.edge.reference.token import token_operation
from laari.rules.idempotency import KEY_PATTERN
from laari.rules.refusals import CODES, RefusalCode, refuse
from laari.rules.scopes import READ_SCOPES, SCOPES
from laari.rules.shapes.envelopes import Data, ErrorBody, Page, Pagination, refusal_body, to_json

JSON = "application/json"


class Section(NamedTuple):
    """A heading of the reference, and the paths that stand under it."""

    name: str
    prefixes: tuple[str, ...]
    description: str


SECTIONS = (
    Section(
        "Payments",
        ("/payments", "/public/qr"),
        "Hosted payments: a link and a QR image that a customer pays on.",
    ),
    Section(
        "Payment requests",
        ("/payment-requests",),
        "Payments asked of a customer by mobile number, email address or VPA.",
    ),
    Section(
        "Authorizations",
        ("/authorizations",),
        "A customer's permission to be charged later, within limits. You decide when to charge.",
    ),
    Section(
        "Events",
        ("/events",),
        "What happened, newest first, with what became of each webhook: to reconcile, and to fetch "
        "what did not arrive.",
    ),
    Section(
        "Access tokens",
        (TOKEN_PATH,),
        "Bearer tokens for the scopes that a client has, by the client credentials grant.",
    ),
    Section(
        "Sandbox controls",
        ("/sandbox",),
        "They stand in for the customer and the clock. In sandbox mode only; live mode knows "
        "nothing of them (404).",
    ),
)

HEADERS: dict[str, Schema] = {
    "Service-Version": {
        "description": "The API version used.",
        "schema": {"type": "string", "enum": [API_VERSION]},
    },
    "Idempotent-Replayed": {
        "description": "`true` where this is the saved response of an earlier request.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Retry-After": {
        "description": "Seconds to wait before trying again.",
        "schema": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 86400},
    },
    WARNING_NAME: {
        "description": "Names query parameters that are not known here and were ignored.",
        "schema": {"type": "string", "maxLength": WARNING_LENGTH},
    },
    "Allow": {
        "description": "The methods that this path has.",
        "schema": {"type": "string"},
    },
    "WWW-Authenticate": {
        "description": "How to authenticate.",
        "schema": {"type": "string"},
    },
}

HEADERS_OF = {
    401: ["WWW-Authenticate"],
    405: ["Allow"],
    429: ["Retry-After"],
    503: ["Retry-After"],
}
BINARY: Schema = {"type": "string", "format": "binary"}  # as generators know it
LAST_PAGE = Pagination(20, has_more=False, next_cursor=None)

PARAMETERS: dict[str, Schema] = {
    "Id": {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "The id, exactly as it was returned.",
        "schema": {"type": "string", "minLength": 1},
    },
    "ServiceVersion": {
        "name": "Service-Version",
        "in": "header",
        "description": "The API version to use; the latest where it is left out.",
        "schema": {"type": "string", "enum": [API_VERSION]},
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Makes it safe to send the request again: for 24 hours the same key with "
        "the same body gets the saved response.",
        "schema": {"type": "string", "pattern": f"^{KEY_PATTERN}$"},
    },
    "ServiceSignature": {
        "name": "Service-Signature",
        "in": "header",
        "required": True,
        "description": "`t=<unix time>,v1=<hex>`: HMAC-SHA256, keyed with the merchant's secret "
        "key, of the time, a dot and the exact bytes of the body. Compare in constant time and "
        "refuse times more than 300 seconds off.",
        "schema": {"type": "string", "pattern": "^t=[0-9]+,v1=[0-9a-f]{64}$"},
    },
}


def security_schemes(origin: str) -> dict[str, Schema]:
    return {
        "ApiKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-Key",
            "description": "The merchant's secret key. Grants every scope.",
        },
        "Basic": {
            "type": "http",
            "scheme": "basic",
            "description": "Merchant id and secret key. Grants every scope.",
        },
        "OAuth2": {
            "type": "oauth2",
            "description": "A bearer token with the scopes it was given; it lives for 24 hours.",
            "flows": {
                "clientCredentials": {
                    "tokenUrl": f"{origin}{BASE_PATH}{TOKEN_PATH}",
                    "scopes": SCOPES,
                }
            },
        },
    }


def paths(schemas: Schemas) -> dict[str, Schema]:
    described: dict[str, Schema] = {}
    for operation in OPERATIONS:
        methods = described.setdefault(BASE_PATH + operation.path, {})
        methods[operation.method.lower()] = _operation(operation, schemas)
    described[BASE_PATH + TOKEN_PATH] = {"post": token_operation(schemas)}
    return described


def _operation(operation: Operation, schemas: Schemas) -> Schema:
    section = next(each for each in SECTIONS if operation.path.startswith(each.prefixes))
    described: Schema = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": _description(operation),
        "tags": [section.name],
        "parameters": _parameters(operation),
        "responses": _responses(operation, schemas),
        "security": _security(scope_of(operation)),
    }
    body = operation.body if isinstance(operation, Write) else NO_BODY
    if body.fields:
        content: Schema = {
            "schema": schemas.keep(body.name, body.schema()),
            "examples": {name: {"value": each} for name, each in body.examples.items()},
        }
        described["requestBody"] = {"required": True, "content": {JSON: content}}
    return described


def scope_of(operation: Operation) -> str | None:
    return None if isinstance(operation, Public) else operation.scope


def is_keyed(operation: Operation) -> bool:
    return isinstance(operation, Write) and operation.is_keyed


def _description(operation: Operation) -> str:
    scope = scope_of(operation)
    if scope is None:
        needed = "Needs no credentials."
    elif scope == ANY_SCOPE:
        needed = "Needs a credential with any scope."
    elif scope == ANY_READ_SCOPE:
        needed = "Needs a credential with any scope to read."
    else:
        needed = f"Needs the scope `{scope}`."
    return f"{operation.description}\n\n{needed}".lstrip()


def _security(scope: str | None) -> list[dict[str, list[str]]]:
    """One of these; an empty list asks for nothing."""
    if scope is None:
        return []
    if scope == ANY_READ_SCOPE:
        return [{"ApiKey": []}, {"Basic": []}, *({"OAuth2": [read]} for read in READ_SCOPES)]
    return [{"ApiKey": []}, {"Basic": []}, {"OAuth2": [] if scope == ANY_SCOPE else [scope]}]


def _parameters(operation: Operation) -> list[Schema]:
    parameters = [_parameter("Id")] if "{id}" in operation.path else []
    if isinstance(operation, Read):
        parameters += map(_query_parameter, operation.query.fields.values())
    if is_keyed(operation):
        parameters.append(_parameter("IdempotencyKey"))
    return [*parameters, _parameter("ServiceVersion")]


def _parameter(name: str) -> Schema:
    return {"$ref": f"#/components/parameters/{name}"}


def _query_parameter(field: Field) -> Schema:
    schema = dict(field.schema)
    shown: Schema = {
        "name": field.name,
        "in": "query",
        "description": schema.pop("description", ""),
    }
    if field.required:
        shown["required"] = True
    return {**shown, "schema": schema}


def _responses(operation: Operation, schemas: Schemas) -> dict[str, Schema]:
    status, keyed = _status(operation), is_keyed(operation)
    responses = {str(status): _success(operation, schemas)}
    by_status: dict[int, list[RefusalCode]] = {}
    for code in codes_of(operation):
        by_status.setdefault(CODES[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = _refusals(status, codes, keyed=keyed, schemas=schemas)
    return responses


def _status(operation: Operation) -> int:
    return operation.status if isinstance(operation, Write) else 200


def _success(operation: Operation, schemas: Schemas) -> Schema:
    described: Schema = {
        "description": HTTPStatus(_status(operation)).phrase,
        "headers": _headers(keyed=is_keyed(operation)),
    }
    if isinstance(operation, Public):
        return {**described, "content": {operation.media_type: {"schema": BINARY}}}
    described["headers"] = _headers(WARNING_NAME, keyed=is_keyed(operation))
    sample = SAMPLES[operation.name]
    is_list = isinstance(operation, Read) and operation.is_list
    # Of a list, the sample is one too.
    envelope = Page(sample, LAST_PAGE) if isinstance(sample, list) else Data(sample)
    if operation.shape is ListedEvent:
        event = schemas.around(type(envelope), listed_event(schemas))
        schema = schemas.keep("EventPage" if is_list else "EventResponse", event)
    else:
        schema = schemas.enveloped(type(envelope), operation.shape)
    content = {"schema": schema, "example": json.loads(to_json(envelope))}
    return {**described, "content": {JSON: content}}


def _refusals(status: int, codes: list[RefusalCode], *, keyed: bool, schemas: Schemas) -> Schema:
    more = HEADERS_OF.get(status, ())
    examples = {}
    lines = []
    for code in codes:
        refusal = refuse(code)
        body = json.loads(refusal_body(refusal))
        examples[refusal.public_code] = {"summary": refusal.public_code, "value": body}
        lines.append(f"- `{refusal.public_code}`: {refusal.message}")
    return {
        "description": "\n".join(lines),
        # A replay brings back what was refused for good; nothing passing is saved.
        "headers": _headers(*more, keyed=keyed and status not in (401, 403, 405, 429, 500, 503)),
        "content": {JSON: {"schema": schemas.of(ErrorBody), "examples": examples}},
    }


def _headers(*names: str, keyed: bool) -> dict[str, Schema]:
    shown = ["Service-Version", *(["Idempotent-Replayed"] if keyed else []), *names]
    return {name: {"$ref": f"#/components/headers/{name}"} for name in shown}


def codes_of(operation: Operation) -> Iterable[RefusalCode]:
    """Every refusal of the operation, each once, in the order of the checks."""
    codes: list[RefusalCode] = ["method_not_allowed", "https_required", "unsupported_api_version"]
    if not isinstance(operation, Public):
        codes += ["unauthorized", "rate_limited", "insufficient_scope"]
    if isinstance(operation, Read) and operation.query.fields:
        codes += ["invalid_request"]
    if is_keyed(operation):
        codes += ["invalid_idempotency_key"]
    if isinstance(operation, Write) and operation.body.fields:
        codes += ["request_too_large", "invalid_request", "invalid_json"]
    if is_keyed(operation):
        codes += ["idempotency_in_progress", "idempotency_conflict", "idempotency_unavailable"]
    codes += operation.refusals
    codes += ["service_unavailable", "internal_error"]
    return dict.fromkeys(codes)
