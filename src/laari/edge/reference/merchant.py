"""The merchant interface in OpenAPI, made from the table of its operations and events."""

from collections.abc import Iterable
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple

from laari.edge.endpoint import Endpoint
from laari.edge.input.fields import NO_BODY, Schema
from laari.edge.input.warnings import WARNING_LENGTH, WARNING_NAME
from laari.edge.merchant.app import BASE_PATH, OPERATIONS
from laari.edge.merchant.envelope import API_VERSION
from laari.edge.merchant.events import ListedEvent
from laari.edge.merchant.oauth import TOKEN, TOKEN_ADDRESS
from laari.edge.merchant.operations import (
    ANY_READ_SCOPE,
    ANY_SCOPE,
    Operation,
    Public,
    Read,
    Write,
)
from laari.edge.reference.events import listed_event
from laari.edge.reference.operation import (
    operation,
    query_parameters,
    refusals,
    request_body,
    response,
    shown,
)
from laari.edge.reference.samples import SAMPLES
from laari.edge.reference.schemas import Schemas
from laari.edge.reference.token import token_operation
from laari.rules.idempotency import KEY_PATTERN
from laari.rules.merchants.scopes import READ_SCOPES, SCOPES
from laari.rules.refusals import RefusalCode
from laari.rules.shapes.envelopes import Data, ErrorBody, Page, Pagination, refusal_body


class Section(NamedTuple):
    """A heading of the reference, and the paths below it."""

    name: str
    prefixes: tuple[str, ...]
    description: str


SECTIONS = (
    Section(
        "Payments",
        ("/payments", "/public/qr"),
        "Hosted payments: a link and a QR image with which a customer pays.",
    ),
    Section(
        "Refunds and balance",
        ("/refunds", "/balance"),
        "Money that you returned, and money that you have.",
    ),
    Section(
        "Payouts",
        ("/payouts",),
        "Money on its way to your bank account, and the movements it consists of.",
    ),
    Section(
        "Payment requests",
        ("/payment-requests",),
        "Payments that you request from a customer by mobile number, email address or VPA.",
    ),
    Section(
        "Authorizations",
        ("/authorizations",),
        "A customer's permission to be charged later, within limits. You decide when to charge.",
    ),
    Section(
        "Events",
        ("/events",),
        "All events, newest first, with the delivery of each webhook: to reconcile, and to fetch "
        "events that did not arrive.",
    ),
    Section(
        "Access tokens",
        (TOKEN.path,),
        "Bearer tokens with the scopes of a client, by the client credentials grant.",
    ),
    Section(
        "Sandbox controls",
        ("/sandbox",),
        "They replace the customer and the clock in tests. Sandbox mode only: in live mode they "
        "return 404.",
    ),
)

HEADERS: dict[str, Schema] = {
    "Service-Version": {
        "description": "The API version used.",
        "schema": {"type": "string", "enum": [API_VERSION]},
    },
    "Idempotent-Replayed": {
        "description": "`true` if this is the saved response of an earlier request.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Retry-After": {
        "description": "Seconds to wait before trying again.",
        "schema": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 86400},
    },
    WARNING_NAME: {
        "description": "The unknown query parameters, which were ignored.",
        "schema": {"type": "string", "maxLength": WARNING_LENGTH},
    },
    "Allow": {
        "description": "The methods of this path.",
        "schema": {"type": "string"},
    },
    "WWW-Authenticate": {
        "description": "How to authenticate.",
        "schema": {"type": "string"},
    },
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
        "description": "The API version to use; default: the latest.",
        "schema": {"type": "string", "enum": [API_VERSION]},
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Makes it safe to repeat the request: for 24 hours the same key with the "
        "same body gets the saved response.",
        "schema": {"type": "string", "pattern": f"^{KEY_PATTERN}$"},
    },
    "ServiceSignature": {
        "name": "Service-Signature",
        "in": "header",
        "required": True,
        "description": "`t=<unix time>,v1=<hex>`: HMAC-SHA256, keyed with the merchant's secret "
        "key, of the time, a dot and the exact bytes of the body. Compare in constant time, and "
        "refuse a time that differs by more than 300 seconds.",
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
            "description": "A bearer token with the granted scopes, valid for 24 hours.",
            "flows": {
                "clientCredentials": {
                    "tokenUrl": f"{origin}{TOKEN_ADDRESS}",
                    "scopes": SCOPES,
                }
            },
        },
    }


def paths(schemas: Schemas) -> dict[str, Schema]:
    described: dict[str, Schema] = {}
    for each in OPERATIONS:
        methods = described.setdefault(BASE_PATH + each.path, {})
        methods[each.method.lower()] = _operation(each, schemas)
    described[TOKEN_ADDRESS] = {"post": token_operation(schemas, _tag(TOKEN))}
    return described


def _tag(endpoint: Endpoint) -> str:
    return next(each.name for each in SECTIONS if endpoint.path.startswith(each.prefixes))


def _operation(each: Operation, schemas: Schemas) -> Schema:
    body = each.body if isinstance(each, Write) else NO_BODY
    return operation(
        replace(each, description=_description(each)),
        _tag(each),
        _security(scope_of(each)),
        parameters=_parameters(each),
        requestBody=request_body(body, schemas) if body.fields else None,
        responses=_responses(each, schemas),
    )


def scope_of(operation: Operation) -> str | None:
    return None if isinstance(operation, Public) else operation.scope


def is_keyed(operation: Operation) -> bool:
    return isinstance(operation, Write) and operation.is_keyed


def _description(operation: Operation) -> str:
    scope = scope_of(operation)
    needed = {
        None: "no credentials",
        ANY_SCOPE: "a credential with any scope",
        ANY_READ_SCOPE: "a credential with any scope to read",
    }.get(scope, f"the scope `{scope}`")
    return f"{operation.description}\n\nNeeds {needed}.".lstrip()


def _security(scope: str | None) -> list[dict[str, list[str]]]:
    """One of these is needed; an empty list means none."""
    if scope is None:
        return []
    if scope == ANY_READ_SCOPE:
        return [{"ApiKey": []}, {"Basic": []}, *({"OAuth2": [read]} for read in READ_SCOPES)]
    return [{"ApiKey": []}, {"Basic": []}, {"OAuth2": [] if scope == ANY_SCOPE else [scope]}]


def _parameters(operation: Operation) -> list[Schema]:
    parameters = [_parameter("Id")] if "{id}" in operation.path else []
    if isinstance(operation, Read):
        parameters += query_parameters(operation.query)
    if is_keyed(operation):
        parameters.append(_parameter("IdempotencyKey"))
    return [*parameters, _parameter("ServiceVersion")]


def _parameter(name: str) -> Schema:
    return {"$ref": f"#/components/parameters/{name}"}


def _responses(operation: Operation, schemas: Schemas) -> dict[str, Schema]:
    status = operation.status if isinstance(operation, Write) else 200
    keyed = is_keyed(operation)
    names = [] if isinstance(operation, Public) else [WARNING_NAME]
    content = _content(operation, schemas)
    found = response(HTTPStatus(status).phrase, content, *_headers(keyed=keyed), *names)

    def headers(status: int) -> tuple[str, ...]:
        # Only final refusals are saved and replayed.
        return _headers(keyed=keyed and status not in (401, 403, 405, 429, 500, 503))

    refused = refusals(codes_of(operation), schemas.of(ErrorBody), refusal_body, headers)
    return {str(status): found, **refused}


def _content(operation: Operation, schemas: Schemas) -> Schema:
    if isinstance(operation, Public):
        return {operation.media_type: {"schema": BINARY}}
    sample = SAMPLES[operation.name]
    is_list = isinstance(operation, Read) and operation.is_list
    envelope = Page(sample, LAST_PAGE) if isinstance(sample, list) else Data(sample)
    if operation.shape is ListedEvent:
        event = schemas.around(type(envelope), listed_event(schemas))
        schema = schemas.keep("EventPage" if is_list else "EventResponse", event)
    else:
        schema = schemas.enveloped(type(envelope), operation.shape)
    return shown(schema, envelope)


def _headers(*, keyed: bool) -> tuple[str, ...]:
    return ("Service-Version", "Idempotent-Replayed") if keyed else ("Service-Version",)


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
