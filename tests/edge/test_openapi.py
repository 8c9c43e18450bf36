"""The OpenAPI document is valid, whole, and agrees with what it is made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator

import laari.rules
from laari.edge.fields import Body, choice, described, text
from laari.edge.merchant.app import OPERATIONS
from laari.edge.merchant.openapi import codes_of
from laari.edge.openapi import openapi_document
from laari.edge.wallet.app import ENDPOINTS
from laari.rules.refusals import CODES, Refusal
from laari.rules.scopes import SCOPES
from laari.rules.shapes import EVENTS

ORIGIN = "https://pay.example"
DOCUMENT = openapi_document(ORIGIN)

WITH_BODY = [operation for operation in OPERATIONS if operation.body is not None]


def described_as(operation: Any) -> dict[str, Any]:
    return DOCUMENT["paths"][operation.path][operation.method.lower()]


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
    assert shown.pop(("POST", "/oauth/token")) == "issue_token"  # not of the table: its own way
    merchant = {(each.method, each.path): each.name for each in OPERATIONS}
    wallet = {("GET", each.path): each.name for each in ENDPOINTS}
    assert shown == merchant | wallet


def test_addresses_are_the_services_own() -> None:
    assert [server["url"] for server in DOCUMENT["servers"]] == [f"{ORIGIN}/merchant"]
    for endpoint in ENDPOINTS:
        operation = DOCUMENT["paths"][endpoint.path]["get"]
        assert [server["url"] for server in operation["servers"]] == [f"{ORIGIN}/wallet"]
        assert operation["security"] == [{"WalletKey": []}]
    flow = DOCUMENT["components"]["securitySchemes"]["OAuth2"]["flows"]["clientCredentials"]
    assert flow == {"tokenUrl": f"{ORIGIN}/merchant/oauth/token", "scopes": SCOPES}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_each_operation_names_its_scope(operation: Any) -> None:
    assert operation.scope in {None, "any", "any :read", *SCOPES}
    security = described_as(operation)["security"]
    if operation.scope is None:
        assert security == []
    else:
        ways = {
            "any": [[]],
            "any :read": [["payments:read"], ["payment_requests:read"], ["authorizations:read"]],
        }
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
    check(media["schema"], media["example"])
    assert not isinstance(operation.body.read(media["example"]), Refusal)


def test_examples_fit_their_schemas() -> None:
    checked = 0
    for node in nodes(DOCUMENT):
        if isinstance(node.get("examples"), list):  # of a schema
            for example in node["examples"]:
                check(node, example)
                checked += 1
        elif "schema" in node and "examples" in node:  # of a media type, by name
            for example in node["examples"].values():
                check(node["schema"], example["value"])
                checked += 1
    assert checked > 100


def test_every_event_that_the_rules_emit_is_described() -> None:
    sources = Path(laari.rules.__file__).parent.glob("*.py")
    names = re.compile(r'emit\w*\([^")]*"([a-z_]+\.[a-z_]+)"')
    emitted = {name for source in sources for name in names.findall(source.read_text())}
    assert "payment.created" in emitted
    assert emitted <= set(EVENTS)
    assert set(DOCUMENT["webhooks"]) == set(EVENTS)


def test_an_events_type_is_the_webhooks_name() -> None:
    for name, webhook in DOCUMENT["webhooks"].items():
        schema = webhook["post"]["requestBody"]["content"]["application/json"]["schema"]
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
        described(text("a", 5, required=True), "Required."),
        choice("b", ("one", "two")),
        text("c", 5, pattern=re.compile(r"[A-Z0-9\-]+"), charset="capitals"),
    )
    assert isinstance(body.read(value), Refusal) is not fits
    assert Draft202012Validator(body.schema()).is_valid(value) is fits
