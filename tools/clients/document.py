"""The OpenAPI document as the client packages need it: operations, shapes and error codes.

One table here has what the document does not say: where a client offers an operation, and
whether a request whose outcome is unknown may be sent again. An operation that is missing from
the table stops the generator, so that nobody forgets to decide.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Schema: TypeAlias = dict[str, Any]
Audience: TypeAlias = Literal["merchant", "wallet", "public"]
Result: TypeAlias = Literal["one", "list", "pages", "bytes"]

MAX_SAFE_INTEGER = 2**53 - 1  # beyond it JavaScript's numbers are not exact
JSON = "application/json"
METHODS = ("get", "post", "put", "patch", "delete")


class Place(NamedTuple):
    """Where a client has an operation: `client.<group>.<method>()`.

    `repeatable` says that the same request sent twice has the effect and the answer of one: by its
    method, its Idempotency-Key, its reference, or because it sets what it sets.
    """

    group: str
    method: str
    repeatable: bool


PLACES = {
    "create_payment": Place("payments", "create", repeatable=True),
    "list_payments": Place("payments", "list", repeatable=True),
    "get_payment": Place("payments", "get", repeatable=True),
    "cancel_payment": Place("payments", "cancel", repeatable=True),
    "refund_payment": Place("payments", "refund", repeatable=True),
    "list_payment_refunds": Place("payments", "refunds", repeatable=True),
    "get_refund": Place("refunds", "get", repeatable=True),
    "get_balance": Place("balance", "get", repeatable=True),
    "list_payouts": Place("payouts", "list", repeatable=True),
    "get_payout": Place("payouts", "get", repeatable=True),
    "list_payout_movements": Place("payouts", "movements", repeatable=True),
    "get_qr": Place("payments", "qr", repeatable=True),
    "create_payment_request": Place("payment_requests", "create", repeatable=True),
    "list_payment_requests": Place("payment_requests", "list", repeatable=True),
    "get_payment_request": Place("payment_requests", "get", repeatable=True),
    "cancel_payment_request": Place("payment_requests", "cancel", repeatable=True),
    "create_authorization": Place("authorizations", "create", repeatable=True),
    "list_authorizations": Place("authorizations", "list", repeatable=True),
    "get_authorization": Place("authorizations", "get", repeatable=True),
    "charge_authorization": Place("authorizations", "charge", repeatable=True),
    "preview_charge": Place("authorizations", "preview_charge", repeatable=True),
    "list_authorization_payments": Place("authorizations", "payments", repeatable=True),
    "cancel_authorization": Place("authorizations", "cancel", repeatable=True),
    "list_events": Place("events", "list", repeatable=True),
    "get_event": Place("events", "get", repeatable=True),
    "wallet_balance": Place("wallet", "balance", repeatable=True),
    "wallet_usage": Place("wallet", "usage", repeatable=True),
    "wallet_transactions": Place("wallet", "transactions", repeatable=True),
    # A second one is refused, or moves the clock twice.
    "sandbox_pay_payment": Place("sandbox.payments", "pay", repeatable=False),
    "sandbox_reject_payment": Place("sandbox.payments", "reject", repeatable=False),
    "sandbox_reserve_payment": Place("sandbox.payments", "reserve", repeatable=False),
    "sandbox_release_payment": Place("sandbox.payments", "release", repeatable=False),
    "sandbox_pay_payment_request": Place("sandbox.payment_requests", "pay", repeatable=False),
    "sandbox_reject_payment_request": Place("sandbox.payment_requests", "reject", repeatable=False),
    "sandbox_reserve_payment_request": Place(
        "sandbox.payment_requests", "reserve", repeatable=False
    ),
    "sandbox_release_payment_request": Place(
        "sandbox.payment_requests", "release", repeatable=False
    ),
    "sandbox_approve_authorization": Place("sandbox.authorizations", "approve", repeatable=False),
    "sandbox_reject_authorization": Place("sandbox.authorizations", "reject", repeatable=False),
    "sandbox_suspend_authorization": Place("sandbox.authorizations", "suspend", repeatable=False),
    "sandbox_resume_authorization": Place("sandbox.authorizations", "resume", repeatable=False),
    "sandbox_create_payout": Place("sandbox.payouts", "create", repeatable=False),
    "sandbox_settle_payout": Place("sandbox.payouts", "settle", repeatable=False),
    "sandbox_return_payout": Place("sandbox.payouts", "send_back", repeatable=False),
    "sandbox_move_clock": Place("sandbox", "move_clock", repeatable=False),
    "sandbox_set_wallet": Place("sandbox", "set_wallet", repeatable=True),
}
TOKEN_OPERATION = "issue_token"  # noqa: S105  # the clients' own; nobody calls it by hand

# Schemas that only wrap others; the clients unwrap them.
ENVELOPES = ("Response", "Page")
INTERNAL = {
    "ErrorBody",
    "ErrorDetail",
    "WalletErrorBody",
    "WalletErrorDetail",
    "TokenError",
    "TokenForm",
    "TokenResponse",
    "Pagination",
    "WalletPagination",
}
# Integers of these can be beyond what a JavaScript number holds exactly.
WIDE_SCHEMAS = {
    "AuthorizationLimits",
    "AuthorizationUsage",
    "PeriodLimit",
    "RemainingLimits",
    "SandboxWallet",
}
SECRET_FIELDS = {"api_key"}  # never shown in a representation


class GeneratorError(Exception):
    """The document has something that the generator has no word for."""


@dataclass(frozen=True)
class Field:
    name: str
    schema: Schema
    required: bool
    description: str = ""


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    path: str  # from the service's address on, with {id}
    audience: Audience
    place: Place
    keyed: bool
    result: Result
    answers: str  # the schema's name; "" for bytes
    summary: str
    query: tuple[Field, ...]
    body: tuple[Field, ...] | None
    cursor: str  # the parameter that takes the next page's cursor; "" where there is no list

    @property
    def has_id(self) -> bool:
        return "{id}" in self.path


@dataclass(frozen=True)
class Shape:
    """A resource: an object, or with `variants` one of several by its `type`."""

    name: str
    description: str
    fields: tuple[Field, ...]
    variants: dict[str, str]


@dataclass(frozen=True)
class Interface:
    version: str
    operations: tuple[Operation, ...]
    shapes: tuple[Shape, ...]
    codes: dict[str, int]  # error code: the HTTP status it mostly comes with
    token_codes: dict[str, int]

    @property
    def groups(self) -> dict[str, list[Operation]]:
        found: dict[str, list[Operation]] = {}
        for operation in self.operations:
            found.setdefault(operation.place.group, []).append(operation)
        return found


def read_interface(document: Schema) -> Interface:
    operations, codes, token_codes = [], dict[str, int](), dict[str, int]()
    for path, method, described in _described(document):
        if described["operationId"] == TOKEN_OPERATION:
            token_codes |= _codes(described)
            continue
        operations.append(_operation(document, path, method, described))
        for code, status in _codes(described).items():
            codes.setdefault(code, status)
    unused = PLACES.keys() - {operation.name for operation in operations}
    if unused:
        raise GeneratorError(f"the document has no operation {', '.join(sorted(unused))}")
    return Interface(
        document["info"]["version"],
        tuple(operations),
        tuple(_shapes(document)),
        dict(sorted(codes.items())),
        {code: status for code, status in sorted(token_codes.items()) if code not in codes},
    )


def _described(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield path, method.upper(), methods[method]


def _operation(document: Schema, path: str, method: str, described: Schema) -> Operation:
    name = described["operationId"]
    place = PLACES.get(name)
    if place is None:
        raise GeneratorError(f"{name} ({method} {path}) has no place in the clients: see PLACES")
    parameters = [resolved(document, each) for each in described.get("parameters", ())]
    result, answers = _result(document, described)
    paged = result == "pages"
    query = [_query_field(each) for each in parameters if each["in"] == "query"]
    cursors = [field.name for field in query if field.name in ("after", "before")]
    if paged != (len(cursors) == 1):
        raise GeneratorError(f"{name}: a list has one cursor, anything else has none")
    return Operation(
        name=name,
        method=method,
        path=path,
        audience=_audience(described),
        place=place,
        keyed=any(each["name"] == "Idempotency-Key" for each in parameters),
        result=result,
        answers=answers,
        summary=described["summary"],
        query=tuple(field for field in query if field.name not in cursors),
        body=_body(document, described),
        cursor=cursors[0] if paged else "",
    )


def _audience(described: Schema) -> Audience:
    schemes = {name for each in described["security"] for name in each}
    if not schemes:
        return "public"
    if schemes == {"WalletKey"}:
        return "wallet"
    if schemes == {"ApiKey", "Basic", "OAuth2"}:
        return "merchant"
    raise GeneratorError(f"{described['operationId']}: credentials {sorted(schemes)} are new")


def _query_field(parameter: Schema) -> Field:
    return Field(
        parameter["name"],
        parameter["schema"],
        parameter.get("required", False),
        parameter.get("description", ""),
    )


def _body(document: Schema, described: Schema) -> tuple[Field, ...] | None:
    if "requestBody" not in described:
        return None
    schema = resolved(document, described["requestBody"]["content"][JSON]["schema"])
    return fields_of(schema)


def _result(document: Schema, described: Schema) -> tuple[Result, str]:
    (success,) = (each for status, each in described["responses"].items() if status < "300")
    ((media_type, content),) = success["content"].items()
    if media_type != JSON:
        return "bytes", ""
    envelope = resolved(document, content["schema"])["properties"]
    data = envelope["data"]
    if data.get("type") == "array":
        return ("pages" if "pagination" in envelope else "list"), ref_name(data["items"])
    return "one", ref_name(data)


def _codes(described: Schema) -> dict[str, int]:
    found: dict[str, int] = {}
    for status, response in described["responses"].items():
        if status < "300":
            continue
        examples = response["content"][JSON].get("examples")
        if examples is None:  # the token endpoint only names them
            codes = re.findall(r"`([a-z_]+)`", response["description"])
        else:
            codes = [each["value"]["error"]["code"] for each in examples.values()]
        for code in codes:
            found.setdefault(code, int(status))
    return found


def _shapes(document: Schema) -> Iterator[Shape]:
    requests = {
        ref_name(described["requestBody"]["content"][JSON]["schema"])
        for _, _, described in _described(document)
        if JSON in described.get("requestBody", {}).get("content", {})
    }
    for name, schema in document["components"]["schemas"].items():
        if name in INTERNAL | requests or name.endswith(ENVELOPES):
            continue
        variants = {}
        if "discriminator" in schema:
            mapping = schema["discriminator"]["mapping"]
            variants = {value: path.rpartition("/")[2] for value, path in mapping.items()}
        yield Shape(name, schema.get("description", ""), fields_of(schema), variants)


def fields_of(schema: Schema) -> tuple[Field, ...]:
    required = schema.get("required", ())
    return tuple(
        Field(name, each, name in required, each.get("description", ""))
        for name, each in schema.get("properties", {}).items()
    )


def resolved(document: Schema, schema: Schema) -> Schema:
    while "$ref" in schema:
        found: Schema = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def ref_name(schema: Schema) -> str:
    name: str = schema["$ref"].rpartition("/")[2]
    return name


def without_null(schema: Schema) -> tuple[Schema, bool]:
    """The schema of the value itself, and whether null may stand there instead."""
    if "anyOf" in schema:
        others = [each for each in schema["anyOf"] if each.get("type") != "null"]
        if len(others) != 1:
            raise GeneratorError(f"a choice of {len(others)} schemas has no type here")
        return others[0], len(others) < len(schema["anyOf"])
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return schema, False
    (kind,) = (each for each in kinds if each != "null")
    bare = {**schema, "type": kind}
    if "enum" in bare:
        bare["enum"] = [each for each in bare["enum"] if each is not None]
    return bare, "null" in kinds
