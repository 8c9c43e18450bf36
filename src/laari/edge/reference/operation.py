"""The parts of an OpenAPI operation that all interfaces share."""

import json
from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct

from laari.edge.endpoint import Endpoint
from laari.edge.input.fields import Body, Field, Query, Schema
from laari.edge.reference.schemas import Schemas
from laari.rules.refusals import CODES, Refusal, RefusalCode, refuse
from laari.rules.shapes.envelopes import to_json

V = TypeVar("V")  # of a query or body that was read

JSON = "application/json"
HEADERS_OF = {401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After", 503: "Retry-After"}


def operation(endpoint: Endpoint, tag: str, security: list[Schema], **parts: object) -> Schema:
    """`parts` are its parameters, body and responses; None is left out."""
    described = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "description": endpoint.description or None,
        "tags": [tag],
        **parts,
        "security": security,
    }
    return {name: part for name, part in described.items() if part is not None}


def query_parameters(query: Query[V]) -> list[Schema]:
    return [_query_parameter(field) for field in query.fields.values()]


def _query_parameter(field: Field) -> Schema:
    schema = dict(field.schema)
    shown: Schema = {
        "name": field.name,
        "in": "query",
        "description": schema.pop("description", ""),
    }
    return {**shown, **({"required": True} if field.required else {}), "schema": schema}


def request_body(body: Body[V], schemas: Schemas, *, required: bool = True) -> Schema:
    content: Schema = {
        "schema": schemas.keep(body.name, body.schema()),
        "examples": {name: {"value": each} for name, each in body.examples.items()},
    }
    return {"required": required, "content": {JSON: content}}


def response(description: str, content: Schema, *headers: str) -> Schema:
    return {
        "description": description,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
        "content": content,
    }


def shown(schema: Schema, sample: Struct) -> Schema:
    return {JSON: {"schema": schema, "example": json.loads(to_json(sample))}}


def refusals(
    codes: Iterable[RefusalCode],
    schema: Schema,
    body: Callable[[Refusal], bytes],
    more_headers: Callable[[int], Iterable[str]] = lambda status: (),
) -> dict[str, Schema]:
    """A response for each status, with an example of each code."""
    by_status: dict[int, list[Refusal]] = {}
    for code in codes:
        by_status.setdefault(CODES[code].status, []).append(refuse(code))
    responses = {}
    for status, refused in sorted(by_status.items()):
        examples = {
            each.public_code: {"summary": each.public_code, "value": json.loads(body(each))}
            for each in refused
        }
        responses[str(status)] = response(
            "\n".join(f"- `{each.public_code}`: {each.message}" for each in refused),
            {JSON: {"schema": schema, "examples": examples}},
            *more_headers(status),
            *refusal_headers(status),
        )
    return responses


def refusal_headers(status: int) -> tuple[str, ...]:
    return (HEADERS_OF[status],) if status in HEADERS_OF else ()
