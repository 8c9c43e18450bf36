"""The generated modules of clients/typescript: types, errors, operations and methods."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.clients.document import (
    MAX_SAFE_INTEGER,
    WIDE_SCHEMAS,
    Field,
    Interface,
    Operation,
    Schema,
    Shape,
    fields_of,
    ref_name,
    without_null,
)
from tools.clients.python_client import SERVER_ERROR, STATUS_ERRORS, error_class
from tools.clients.python_models import camel

SOURCE = Path(__file__).parents[2] / "clients" / "typescript" / "src"
NOTE = """// Made from the OpenAPI document by `make clients`; changes belong there or in
// tools/clients.
"""
# Counts in shapes whose amounts are wide.
NARROW_FIELDS = {"max_payments", "payment_count", "payments"}
TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
WIDE = "number | bigint"


def typescript_files(interface: Interface) -> dict[Path, str]:
    modules = {"codes.ts": _codes(interface), "generated.ts": _resources(interface)}
    return {SOURCE / name: NOTE + "\n".join(lines) + "\n" for name, lines in modules.items()}


def _comment(text: str) -> str:
    return f"/** {text.replace('*/', '* /')} */"


def _codes(interface: Interface) -> Iterator[str]:
    """The part that the connection needs: apart, so that it does not import its own users."""
    bases = sorted({"APIError", SERVER_ERROR, *STATUS_ERRORS.values()})
    yield f'import {{ {", ".join(bases)} }} from "./errors.js";'
    yield ""
    yield f'export const API_VERSION = "{interface.version}";'
    yield ""
    yield from _errors(interface)


def _resources(interface: Interface) -> Iterator[str]:
    yield 'import type { CallOptions, Connection, KeyedOptions, Operation } from "./connection.js";'
    yield 'import { Listing } from "./listing.js";'
    yield ""
    yield "/** The values there are now; others may come. */"
    yield "export type Open<T extends string> = T | (string & Record<never, never>);"
    yield ""
    variants = {name for shape in interface.shapes for name in shape.variants.values()}
    for shape in interface.shapes:
        yield from _type(shape, closed=shape.name in variants)
    for operation in interface.operations:
        yield from _parameters(operation)
    yield from _operations(interface)
    yield from _classes(interface)


# Types


def _type(shape: Shape, *, closed: bool) -> Iterator[str]:
    if shape.description:
        yield _comment(shape.description)
    if shape.variants:
        members = " | ".join(dict.fromkeys(shape.variants.values()))
        yield f"export type {shape.name} = {members};\n"
        return
    yield f"export interface {shape.name} {{"
    wide = shape.name in WIDE_SCHEMAS
    for each in shape.fields:
        # What tells the members of a union apart has to be exact.
        exact = closed and each.name == "type"
        yield from _member(each, wide=wide and each.name not in NARROW_FIELDS, exact=exact)
    yield "}\n"


def _member(field: Field, *, wide: bool, exact: bool) -> Iterator[str]:
    schema, nullable = without_null(field.schema)
    kind = _value_type(schema, wide=wide, exact=exact)
    if field.description:
        yield f"  {_comment(field.description)}"
    yield f"  {field.name}{'' if field.required else '?'}: {kind}{' | null' if nullable else ''};"


def _value_type(schema: Schema, *, wide: bool, exact: bool) -> str:
    if "$ref" in schema:
        return ref_name(schema)
    if "enum" in schema:
        values = " | ".join(json.dumps(each) for each in schema["enum"])
        return values if exact else f"Open<{values}>"
    if schema["type"] == "object":
        return "Record<string, string>"
    if schema["type"] == "array":
        return f"{_value_type(schema['items'], wide=wide, exact=exact)}[]"
    return WIDE if wide and schema["type"] == "integer" else TYPES[schema["type"]]


# Parameters


def _parameters_name(operation: Operation) -> str:
    return f"{camel(operation.name)}Params"


def _parameters(operation: Operation) -> Iterator[str]:
    fields = [*operation.query, *(operation.body or ())]
    if fields:
        yield f"export interface {_parameters_name(operation)} {{"
        yield from _sent(fields, "  ")
        yield "}\n"


def _sent(fields: Iterable[Field], indent: str) -> Iterator[str]:
    for each in fields:
        schema, nullable = without_null(each.schema)
        if each.description:
            yield f"{indent}{_comment(each.description)}"
        optional = "" if each.required else "?"
        null = " | null" if nullable else ""
        inner = fields_of(schema)
        if inner:
            yield f"{indent}{each.name}{optional}: {{"
            yield from _sent(inner, f"{indent}  ")
            yield f"{indent}}}{null};"
        else:
            yield f"{indent}{each.name}{optional}: {_sent_type(schema)}{null};"


def _sent_type(schema: Schema) -> str:
    if schema.get("enum") == ["true", "false"]:
        return "boolean"
    if schema.get("format") == "date-time":
        return "string | Date"
    wide = schema.get("maximum", 0) > MAX_SAFE_INTEGER
    return _value_type(schema, wide=wide, exact=True)


# Errors


def _errors(interface: Interface) -> Iterator[str]:
    codes = interface.codes | interface.token_codes
    bases = {SERVER_ERROR, *STATUS_ERRORS.values()}
    for code, status in codes.items():
        name = error_class(code)
        if name not in bases:
            base = STATUS_ERRORS.get(status, SERVER_ERROR if status >= 500 else "APIError")
            yield f"/** `{code}`, HTTP {status} */\nexport class {name} extends {base} {{}}"
    yield "\nconst BY_CODE = new Map<string, typeof APIError>(["
    yield from (f'  ["{code}", {error_class(code)}],' for code in codes)
    yield "]);\nconst BY_STATUS = new Map<number, typeof APIError>(["
    yield from (f"  [{status}, {name}]," for status, name in STATUS_ERRORS.items())
    yield "]);\n"
    yield "/** The class of a code; of a code that is new, that of its status. */"
    yield "export function errorClass(code: string, status: number): typeof APIError {"
    yield f"  const other = status >= 500 ? {SERVER_ERROR} : (BY_STATUS.get(status) ?? APIError);"
    yield "  return BY_CODE.get(code) ?? other;\n}"


# Operations and methods


def _operations(interface: Interface) -> Iterator[str]:
    yield "const OPERATIONS = {"
    for each in interface.operations:
        fields: dict[str, object] = {
            "name": each.name,
            "method": each.method,
            "path": each.path,
            "audience": each.audience,
            "keyed": each.keyed,
            "repeatable": each.place.repeatable,
            "binary": each.result == "bytes",
            "cursor": each.cursor,
        }
        shown = ", ".join(f"{name}: {json.dumps(value)}" for name, value in fields.items())
        yield f"  {each.name}: {{ {shown} }},"
    yield "} as const;\n"
    # The one use of the type: each line above is an operation.
    yield "export const operations: Readonly<Record<keyof typeof OPERATIONS, Operation>> ="
    yield "  OPERATIONS;\n"


def _lower(name: str) -> str:
    made = camel(name)
    return made[0].lower() + made[1:]


def _class_name(group: str) -> str:
    return "".join(camel(part) for part in group.split("."))


def _classes(interface: Interface) -> Iterator[str]:
    groups = interface.groups
    nested = sorted(name for name in groups if "." in name)
    for group in sorted(groups, key=lambda name: name not in nested):
        inner = [name for name in nested if name.startswith(f"{group}.")]
        yield f"export class {_class_name(group)} {{"
        yield "  readonly #connection: Connection;"
        for name in inner:
            yield f"  readonly {_lower(name.partition('.')[2])}: {_class_name(name)};"
        yield "\n  constructor(connection: Connection) {"
        yield "    this.#connection = connection;"
        for name in inner:
            own = _lower(name.partition(".")[2])
            yield f"    this.{own} = new {_class_name(name)}(connection);"
        yield "  }"
        for operation in groups[group]:
            yield from _method(operation)
        yield "}\n"
    outer = [group for group in groups if group not in nested]
    yield "/** Everything the interface offers, by what it is about. */\nexport class Resources {"
    for group in outer:
        yield f"  readonly {_lower(group)}: {_class_name(group)};"
    yield "\n  constructor(connection: Connection) {"
    for group in outer:
        yield f"    this.{_lower(group)} = new {_class_name(group)}(connection);"
    yield "  }\n}"


def _method(operation: Operation) -> Iterator[str]:
    fields = [*operation.query, *(operation.body or ())]
    arguments = ["id: string"] if operation.has_id else []
    if fields:
        optional = "" if any(each.required for each in fields) else " = {}"
        arguments.append(f"params: {_parameters_name(operation)}{optional}")
    arguments.append(f"options: {'KeyedOptions' if operation.keyed else 'CallOptions'} = {{}}")
    kind = {
        "bytes": "Promise<Uint8Array>",
        "one": f"Promise<{operation.answers}>",
        "list": f"Promise<{operation.answers}[]>",
        "pages": f"Listing<{operation.answers}>",
    }[operation.result]
    sent = ["options"]
    if operation.has_id:
        sent.append("id")
    if operation.query:
        sent.append("query: params")
    if operation.body is not None:
        sent.append("body: params")
    call = f"operations.{operation.name}, {{ {', '.join(sent)} }}"
    yield f"\n  {_comment(operation.summary.rstrip('.') + '.')}"
    yield f"  {_lower(operation.place.method)}({', '.join(arguments)}): {kind} {{"
    if operation.result == "pages":
        yield f"    return new Listing(this.#connection, {call});"
    else:
        yield f"    return this.#connection.run({call});"
    yield "  }"
