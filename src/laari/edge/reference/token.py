"""The token endpoint in OpenAPI: its body is a form, and its errors have another shape."""

from laari.edge.input.fields import Schema
from laari.edge.merchant.oauth import (
    LONGEST_CREDENTIAL,
    TOKEN,
    TOKEN_ERRORS,
    TokenError,
    TokenResponse,
)
from laari.edge.reference.operation import JSON, operation, refusal_headers, response, shown
from laari.edge.reference.schemas import Schemas

_FORM: Schema = {
    "type": "object",
    "properties": {
        "grant_type": {"type": "string", "enum": ["client_credentials"]},
        "client_id": {"type": "string", "maxLength": LONGEST_CREDENTIAL},
        "client_secret": {"type": "string", "maxLength": LONGEST_CREDENTIAL},
        "scope": {
            "type": "string",
            "description": "Separated by spaces; default: all scopes of the client.",
            "examples": ["payments:create payments:read"],
        },
    },
    "required": ["grant_type"],
}


def token_operation(schemas: Schemas, tag: str) -> Schema:
    granted = TokenResponse("at_…", "Bearer", 86400, "payments:create payments:read")
    error = {JSON: {"schema": schemas.of(TokenError)}}
    form = {"schema": schemas.keep("TokenForm", _FORM)}
    refused = {
        str(status): response(
            ", ".join(f"`{code}`" for code in codes), error, *refusal_headers(status)
        )
        for status, codes in TOKEN_ERRORS.items()
    }
    return operation(
        TOKEN,
        tag,
        security=[],
        requestBody={"required": True, "content": {"application/x-www-form-urlencoded": form}},
        responses={"200": response("OK", shown(schemas.of(TokenResponse), granted)), **refused},
    )
