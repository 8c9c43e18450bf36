"""Sign-up for the sandbox in OpenAPI."""

from laari.edge.input.fields import Schema
from laari.edge.reference.operation import operation, refusals, request_body, response, shown
from laari.edge.reference.schemas import Schemas
from laari.edge.sandbox_signup import BODY, ENDPOINT, SandboxCustomer, SandboxMerchant
from laari.rules.shapes.envelopes import ErrorBody, refusal_body

TAG = "Sandbox controls"
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
        account_number="1000000042",
        api_key="wk_…",
        vpa="sandbox",
        email="sandbox@laari.test",
        balance=10_000_000,
        tier="verified",
    ),
)


def paths(schemas: Schemas) -> dict[str, Schema]:
    made = response("Created", shown(schemas.of(SandboxMerchant), _SAMPLE))
    refused = refusals(ENDPOINT.refusals, schemas.of(ErrorBody), refusal_body)
    described = operation(
        ENDPOINT,
        TAG,
        security=[],
        parameters=[],
        requestBody=request_body(BODY, schemas, required=False),
        responses={"201": made, **refused},
    )
    return {ENDPOINT.path: {"post": described}}
