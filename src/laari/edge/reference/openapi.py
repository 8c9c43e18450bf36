"""The OpenAPI document, made from the tables that the interfaces run on."""

from laari import __version__
from laari.edge.input.fields import Schema
from laari.edge.merchant.envelope import API_VERSION
from laari.edge.reference import events, merchant, sandbox_signup, wallet
from laari.edge.reference.schemas import Schemas
from laari.rules.shapes.payments import AnyPayment

DESCRIPTION = f"""\
Payments in Maldivian rufiyaa, as Laari {__version__} serves them. To try an operation here, press
**Authorize** and paste a sandbox merchant's secret key as `X-API-Key`; `laari serve --demo` prints
one.

- Amounts are integer laari: `12500` is MVR 125.00. Only the wallet interface shows numbers in MVR.
- Times are RFC 3339 in +05:00. A time without an offset is read as +05:00.
- A resource or a list is in `data`; a list has `pagination` too. Ignore unknown fields: new ones
  may be added at any time.
- An error has a `code` for your program. Unknown query parameters are ignored, and the header
  `Laari-Warning` names them. An unknown path is 404 `not_found`, a wrong method
  405 `method_not_allowed`.
- Webhooks are sent to the URL in the merchant's settings. An event can arrive twice or out of
  order: recognise it by its `id`.
"""


def openapi_document(origin: str, *, signup: bool = False) -> Schema:
    """The whole document; `origin` is the public address, `signup` adds sandbox sign-up."""
    schemas = Schemas({AnyPayment: "Payment"})
    paths = merchant.paths(schemas) | wallet.paths(schemas)
    if signup:
        paths |= sandbox_signup.paths(schemas)
    webhooks = events.webhooks(schemas)
    tags = [{"name": each.name, "description": each.description} for each in merchant.SECTIONS]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Laari",
            "version": API_VERSION,
            "description": DESCRIPTION,
        },
        # One for all operations: many generators read no other.
        "servers": [{"url": origin}],
        "tags": [*tags, wallet.TAG],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": dict(sorted(schemas.named.items())),
            "parameters": merchant.PARAMETERS,
            "headers": merchant.HEADERS,
            "securitySchemes": merchant.security_schemes(origin) | wallet.SECURITY_SCHEMES,
        },
    }
