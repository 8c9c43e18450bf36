"""The OpenAPI document is valid, whole, and agrees with what it is made from."""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from openapi_spec_validator import OpenAPIV31SpecValidator

import laari.rules
from laari.edge.input.cursors import Cursors
from laari.edge.input.fields import Body, choice, described, text
from laari.edge.merchant.app import OPERATIONS
from laari.edge.merchant.authorizations import CREATE_AUTHORIZATION
from laari.edge.merchant.authorizations import create as create_authorization
from laari.edge.merchant.operations import Public, Write
from laari.edge.merchant.sandbox import CLOCK_BODY, move_clock
from laari.edge.reference.merchant import codes_of
from laari.edge.reference.openapi import openapi_document
from laari.edge.wallet.app import ENDPOINTS
from laari.rules.events import EVENTS, SAMPLE_EVENT
from laari.rules.ids import new_tid
from laari.rules.merchants.scopes import SCOPES
from laari.rules.payments.payment_commands import PAYMENTS, REQUESTS
from laari.rules.refusals import CODES, Refusal

ORIGIN = "https://pay.example"
DOCUMENT = openapi_document(ORIGIN)

WITH_BODY = [each for each in OPERATIONS if isinstance(each, Write) and each.body.fields]


def described_as(operation: Any) -> dict[str, Any]:
    return DOCUMENT["paths"][f"/merchant{operation.path}"][operation.method.lower()]


def check(schema: dict[str, Any], value: Any) -> None:
    """The schema stands in the document's own tree, so that its references lead somewhere."""
    whole = {**schema, "components": DOCUMENT["components"]}
    Draft202012Validator(whole, format_checker=FormatChecker()).validate(value)


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from nodes(item)


def test_the_document_is_valid_openapi() -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_it_describes_the_operations_that_exist_and_no_others() -> None:
    shown = {
        (method.upper(), path): operation["operationId"]
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }
    # Not of the table: it goes its own way.
    assert shown.pop(("POST", "/merchant/oauth/token")) == "issue_token"
    merchant = {(each.method, f"/merchant{each.path}"): each.name for each in OPERATIONS}
    wallet = {("GET", f"/wallet{each.path}"): each.name for each in ENDPOINTS}
    assert shown == merchant | wallet


def test_one_server_reaches_every_operation() -> None:
    """Many generators know the document's first server only, and none of an operation's own."""
    assert [server["url"] for server in DOCUMENT["servers"]] == [ORIGIN]
    assert not any("servers" in node for node in nodes(DOCUMENT["paths"]))
    for endpoint in ENDPOINTS:
        operation = DOCUMENT["paths"][f"/wallet{endpoint.path}"]["get"]
        assert operation["security"] == [{"WalletKey": []}]
    flow = DOCUMENT["components"]["securitySchemes"]["OAuth2"]["flows"]["clientCredentials"]
    assert flow == {"tokenUrl": f"{ORIGIN}/merchant/oauth/token", "scopes": SCOPES}


def test_every_integer_and_number_says_how_wide_it_is() -> None:
    """Without a format, generated Go, Java and C# clients take 32 bits."""
    found = 0
    for node in nodes(DOCUMENT):
        kinds = node.get("type", ())
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if "integer" in kinds:
            assert node["format"] in ("int32", "int64"), node
            if node["format"] == "int32":
                assert node["maximum"] <= 2**31 - 1, node
            found += 1
        if "number" in kinds:
            assert node["format"] == "double", node
    assert found > 30


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ("HostedPayment", "amount"),
        ("HostedPayment", "fee"),
        ("AuthorizationPayment", "net_amount"),
        ("PaymentRequest", "amount"),
        ("AuthorizationUsage", "payment_count"),
        ("AuthorizationUsage", "total_paid"),
        ("AuthorizationLimits", "max_payments"),
        ("PeriodLimit", "amount"),
        ("SandboxWallet", "balance"),
        ("SandboxClock", "offset_seconds"),
        ("PaymentCreate", "amount"),
        ("ChargeCreate", "amount"),
        ("SandboxClockMove", "advance_seconds"),
    ],
)
def test_amounts_and_counts_have_64_bits(schema: str, name: str) -> None:
    shown = DOCUMENT["components"]["schemas"][schema]["properties"][name]
    assert shown["format"] == "int64"


def test_a_payment_of_either_kind_has_the_fields_of_both() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    payment, hosted = schemas["Payment"], schemas["HostedPayment"]
    assert payment["properties"] == hosted["properties"]
    assert set(hosted["required"]) - set(payment["required"]) == {
        "terminal_label",
        "payment_url",
        "qr_url",
        "return_url",
        "expires_at",
    }
    assert set(payment["required"]) == set(schemas["AuthorizationPayment"]["required"])


def test_no_name_is_one_that_a_generated_client_needs_itself() -> None:
    """Go makes NewX and NullableX for every X."""
    schemas = DOCUMENT["components"]["schemas"]
    assert not any(
        f"{prefix}{name}" in schemas for name in schemas for prefix in ("New", "Nullable")
    )


def test_names_are_given_and_not_left_to_generators() -> None:
    """An inline body or envelope would get a name that changes with the generator."""
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            bodies = [operation["requestBody"]] if "requestBody" in operation else []
            for body in [*bodies, *operation["responses"].values()]:
                for media_type, media in body.get("content", {}).items():
                    assert media_type == "image/png" or "$ref" in media["schema"], path


CLOCK = {
    True: [
        {"advance_seconds": 5},
        {"advance_seconds": 0, "reset": False},
        {"advance_seconds": 5, "reset": None},
        {"reset": True},
        {"reset": True, "advance_seconds": None},
    ],
    False: [
        {},
        {"advance_seconds": 5, "reset": True},
        {"advance_seconds": None},
        {"reset": False},
        {"reset": None},
        {"advance_seconds": 5, "rest": True},
    ],
}
PERIOD = {
    True: [
        {},
        {"interval": "month"},
        {"interval": "month", "amount": 5},
        {"interval": "month", "amount": None},
        {"interval": None, "amount": None},
        None,
    ],
    False: [{"amount": 5}, {"interval": None, "amount": 5}, {"interval": "hour", "amount": 5}],
}


@pytest.mark.parametrize(
    ("body", "fits"), [(body, fits) for fits, bodies in CLOCK.items() for body in bodies], ids=str
)
def test_the_clock_is_moved_or_reset(body: dict[str, Any], fits: bool) -> None:
    schema = {**DOCUMENT["components"]["schemas"]["SandboxClockMove"]}
    assert Draft202012Validator(schema).is_valid(body) is fits
    read = CLOCK_BODY.read(body)
    taken = not isinstance(read, Refusal) and not isinstance(move_clock(Mock(), read), Refusal)
    assert taken is fits


@pytest.mark.parametrize(
    ("period", "fits"), [(each, fits) for fits, all in PERIOD.items() for each in all], ids=str
)
def test_an_amount_needs_its_interval(period: dict[str, Any] | None, fits: bool) -> None:
    body = {"reference": "r", "title": "t", "limits": {"period": period}}
    schema = {**DOCUMENT["components"]["schemas"]["AuthorizationCreate"]}
    assert Draft202012Validator(schema).is_valid(body) is fits
    read = CREATE_AUTHORIZATION.read(body)
    taken = not isinstance(read, Refusal) and not isinstance(
        create_authorization(Mock(), read), Refusal
    )
    assert taken is fits


@pytest.mark.parametrize(
    ("type", "max_payments", "fits"),
    [
        ("one_time", 1, True),
        ("one_time", None, True),
        ("one_time", 2, False),
        ("recurring", 2, True),
        (None, 2, True),
    ],
)
def test_one_time_is_once(type: str | None, max_payments: int | None, fits: bool) -> None:
    limits = {"max_payments": max_payments}
    body = {"reference": "r", "title": "t", "type": type, "limits": limits}
    schema = {**DOCUMENT["components"]["schemas"]["AuthorizationCreate"]}
    assert Draft202012Validator(schema).is_valid(body) is fits


def test_dates_and_cursors_have_formats() -> None:
    listing = {
        each["name"]: each
        for each in described_as(operation_named("list_payments"))["parameters"]
        if "name" in each
    }
    for name in ("created_from", "created_to"):
        assert listing[name]["schema"]["format"] == "date-time"
    schemas = DOCUMENT["components"]["schemas"]
    key = Cursors(b"k" * 32).make("payments", 1, datetime.now(UTC), UUID(int=7))
    check(schemas["Pagination"]["properties"]["next_cursor"], key)
    check(listing["after"]["schema"], key)
    with pytest.raises(ValidationError):
        check(schemas["Pagination"]["properties"]["next_cursor"], "page 2")
    before = DOCUMENT["paths"]["/wallet/transactions"]["get"]["parameters"][1]
    check(before["schema"], new_tid(datetime.now(UTC), os.urandom))
    with pytest.raises(ValidationError):
        check(before["schema"], "page 2")


def operation_named(name: str) -> Any:
    return next(each for each in OPERATIONS if each.name == name)


def test_an_events_data_is_typed_by_its_type() -> None:
    event = DOCUMENT["components"]["schemas"]["Event"]
    assert event["discriminator"]["propertyName"] == "type"
    mapping = event["discriminator"]["mapping"]
    assert set(mapping) == {*EVENTS, SAMPLE_EVENT}
    assert {each["$ref"] for each in event["oneOf"]} == set(mapping.values())
    for name, reference in mapping.items():
        variant = DOCUMENT["components"]["schemas"][reference.rpartition("/")[2]]
        assert name in variant["properties"]["type"]["enum"]
        assert "$ref" in variant["properties"]["data"]
    for name, shape in {
        "payment.created": "Payment",
        "payment.paid": "Payment",
        "payment_request.paid": "PaymentRequest",
        "authorization.revoked": "Authorization",
        "webhook.test": "SampleData",
    }.items():
        variant = DOCUMENT["components"]["schemas"][mapping[name].rpartition("/")[2]]
        assert variant["properties"]["data"]["$ref"].endswith(f"/{shape}")


def test_every_answer_has_an_example_that_agrees_with_itself() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            (status,) = (each for each in operation["responses"] if each.startswith("2"))
            media = operation["responses"][status]["content"]
            if "application/json" in media:
                example = media["application/json"]["example"]
                check(media["application/json"]["schema"], example)
                for node in nodes(example):
                    if {"fee", "net_amount", "paid_at"} <= set(node):
                        unpaid = node["status"] in ("pending", "rejected", "expired", "cancelled")
                        parts = ("fee", "net_amount", "paid_at", "payment_reference")
                        assert {node[part] is None for part in parts} == {unpaid}, path


def test_what_is_created_is_shown_pending() -> None:
    for name in ("create_payment", "create_payment_request", "create_authorization"):
        answer = described_as(operation_named(name))["responses"]["201"]
        example = answer["content"]["application/json"]["example"]
        assert example["data"]["status"] == "pending", name


def test_405_names_the_methods_and_404_what_is_not_there() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            wrong = operation["responses"]["405"]
            assert "Allow" in wrong["headers"], path
            if "{id}" in path or "/sandbox/" in path:
                assert "404" in operation["responses"], path
            assert "503" in operation["responses"], path


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_each_operation_names_its_scope(operation: Any) -> None:
    security = described_as(operation)["security"]
    if isinstance(operation, Public):
        assert security == []
    else:
        ways = {
            "any": [[]],
            "any :read": [
                ["payments:read"],
                ["payment_requests:read"],
                ["authorizations:read"],
                ["payouts:read"],
            ],
        }
        assert operation.scope in {*ways, *SCOPES}
        scopes = ways.get(operation.scope, [[operation.scope]])
        assert security == [{"ApiKey": []}, {"Basic": []}, *({"OAuth2": way} for way in scopes)]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_each_code_is_told_under_its_status(operation: Any) -> None:
    responses = described_as(operation)["responses"]
    for code in codes_of(operation):
        status, message, shown_as = CODES[code]
        response = responses[str(status)]
        assert f"`{shown_as or code}`: {message}" in response["description"]
        assert (shown_as or code) in response["content"]["application/json"]["examples"]


@pytest.mark.parametrize("operation", WITH_BODY, ids=lambda each: each.name)
def test_the_example_of_a_body_is_one_that_is_taken(operation: Any) -> None:
    media = described_as(operation)["requestBody"]["content"]["application/json"]
    examples = [each["value"] for each in media.get("examples", {}).values()]
    for example in examples or [media["example"]]:
        check(media["schema"], example)
        assert not isinstance(operation.body.read(example), Refusal)


def test_examples_fit_their_schemas() -> None:
    checked = 0
    for node in nodes(DOCUMENT):
        if isinstance(node.get("examples"), list):  # of a schema
            for example in node["examples"]:
                check(node, example)
                checked += 1
        elif "schema" in node and "example" in node:  # of a media type
            check(node["schema"], node["example"])
            checked += 1
        if "schema" in node and "examples" in node:  # of a media type, by name
            for example in node["examples"].values():
                check(node["schema"], example["value"])
                checked += 1
    assert checked > 100


def test_every_event_that_the_rules_emit_is_described() -> None:
    sources = Path(laari.rules.__file__).parent.rglob("*.py")
    names = re.compile(r'(?:emit\w*|announce)\([^")]*"([a-z_]+\.[a-z_]+)"')
    emitted = {name for source in sources for name in names.findall(source.read_text())}
    emitted |= {*PAYMENTS.events.values(), *REQUESTS.events.values()}
    assert "payment.created" in emitted
    assert emitted <= set(EVENTS)
    assert set(DOCUMENT["webhooks"]) == set(EVENTS)


def test_an_events_type_is_the_webhooks_name() -> None:
    for name, webhook in DOCUMENT["webhooks"].items():
        schema = webhook["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert "$ref" in schema["properties"]["data"]
        assert schema["properties"]["type"]["const"] == name


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"a": "x", "b": "one", "c": "A-1"}, True),
        ({"a": "x", "b": None, "c": None}, True),
        ({"a": "x", "c": ""}, True),
        ({"a": " "}, False),
        ({"a": None}, False),
        ({"a": "x", "b": "three"}, False),
        ({"a": "x", "c": "A#1"}, False),
        ({"a": "x", "d": 1}, False),
        ({}, False),
    ],
)
def test_a_bodys_schema_takes_what_the_body_takes(value: dict[str, Any], fits: bool) -> None:
    body = Body(
        lambda a, b=None, c=None: (a, b, c),
        described(text("a", 5, required=True), "Required."),
        choice("b", ("one", "two")),
        text("c", 5, pattern=re.compile(r"[A-Z0-9\-]+"), charset="capitals"),
    )
    assert isinstance(body.read(value), Refusal) is not fits
    assert Draft202012Validator(body.schema()).is_valid(value) is fits
