"""The wallet interface in OpenAPI, made from the table of its endpoints."""

from laari.edge.input.fields import Schema
from laari.edge.input.warnings import WARNING_NAME
from laari.edge.reference.operation import operation, query_parameters, refusals, response, shown
from laari.edge.reference.schemas import Schemas
from laari.edge.wallet.app import BASE_PATH, ENDPOINTS, WalletRead
from laari.rules.limits.keys_and_rates import WALLET_WINDOW_REQUESTS
from laari.rules.refusals import RefusalCode
from laari.rules.shapes.fields import TID_EXAMPLE
from laari.rules.shapes.wallet import (
    CURRENCY,
    Remaining,
    ResetAt,
    Spent,
    TierLimits,
    Usage,
    WalletBalance,
    WalletData,
    WalletErrorBody,
    WalletList,
    WalletPage,
    WalletPagination,
    WalletTransaction,
    mvr,
    wallet_refusal_body,
)

TAG: Schema = {
    "name": "Wallet",
    "description": "A personal account reads its own wallet with its API key. "
    f"The limit is {WALLET_WINDOW_REQUESTS} requests a minute over all "
    "three endpoints, with errors.",
}

SECURITY_SCHEMES: dict[str, Schema] = {
    "WalletKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "A personal account's key, for the wallet interface only.",
    }
}

_SAMPLES = {
    "wallet_balance": WalletList(
        success=True,
        data=[WalletBalance("100000000017", CURRENCY, mvr(125_050), mvr(125_050), mvr(0))],
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


def codes_of(endpoint: WalletRead) -> tuple[RefusalCode, ...]:
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


def _operation(endpoint: WalletRead, schemas: Schemas) -> Schema:
    schema = schemas.enveloped(
        endpoint.envelope, endpoint.shape, success={"type": "boolean", "const": True}
    )
    found = response("OK", shown(schema, _SAMPLES[endpoint.name]), WARNING_NAME)
    refused = refusals(codes_of(endpoint), schemas.of(WalletErrorBody), wallet_refusal_body)
    return operation(
        endpoint,
        TAG["name"],
        security=[{"WalletKey": []}],
        parameters=query_parameters(endpoint.query),
        responses={"200": found, **refused},
    )
