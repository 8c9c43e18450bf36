"""The token endpoint in OpenAPI: a form for a body, and errors in a shape of their own."""

from __future__ import annotations

from laari.edge.input.fields import Schema
from laari.edge.merchant.oauth import (
    LONGEST_CREDENTIAL,
    TOKEN_ERRORS,
    TOKEN_OPERATION,
    TokenError,
    TokenResponse,
)
from laari.edge.reference.schemas import Schemas

JSON = "application/json"
_HEADERS = {401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After", 503: "Retry-After"}

_FORM: Schema = {
    "type": "object",
    "properties": {
        "grant_type": {"type": "string", "enum": ["client_credentials"]},
        "client_id": {"type": "string", "maxLength": LONGEST_CREDENTIAL},
        "client_secret": {"type": "string", "maxLength": LONGEST_CREDENTIAL},
        "scope": {
            "type": "string",
            "description": "Space-separated; all that the client has where it is left out.",
            "examples": ["payments:create payments:read"],
        },
    },
    "required": ["grant_type"],
}


def token_operation(schemas: Schemas) -> Schema:
    granted = TokenResponse("at_…", "Bearer", 86400, "payments:create payments:read")
    responses: dict[str, Schema] = {
        "200": {
            "description": "OK",
            "content": {
                JSON: {
                    "schema": schemas.of(TokenResponse),
                    "example": {name: getattr(granted, name) for name in granted.__struct_fields__},
                }
            },
        }
    }
    for status, codes in TOKEN_ERRORS.items():
        name = _HEADERS.get(status)
        responses[str(status)] = {
            "description": ", ".join(f"`{code}`" for code in codes),
            "headers": {name: {"$ref": f"#/components/headers/{name}"}} if name else {},
            "content": {JSON: {"schema": schemas.of(TokenError)}},
        }
    return {
        "operationId": TOKEN_OPERATION,
        "summary": "Get an access token",
        "description": "Send the client's id and secret with HTTP Basic or in the form.",
        "tags": ["Access tokens"],
        "requestBody": {
            "required": True,
            "content": {
                "application/x-www-form-urlencoded": {"schema": schemas.keep("TokenForm", _FORM)}
            },
        },
        "responses": responses,
        "security": [],
    }
