"""The generated classes of clients/php: one for each group of operations."""

import json
from collections.abc import Iterator
from pathlib import Path

from tools.clients.document import Field, Interface, Operation, Schema, without_null
from tools.clients.python_models import camel

SOURCE = Path(__file__).parents[2] / "clients" / "php" / "src"
NOTE = """<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

"""
TYPES = {"string": "string", "integer": "int", "number": "float", "boolean": "bool"}


def php_files(interface: Interface) -> dict[Path, str]:
    files = {"Resources": _resources(interface)}
    for group, operations in interface.groups.items():
        files[_class_name(group)] = _group(interface, group, operations)
    return {SOURCE / f"{name}.php": NOTE + "\n".join(lines) + "\n" for name, lines in files.items()}


def _class_name(group: str) -> str:
    return "".join(camel(part) for part in group.split("."))


def _lower(name: str) -> str:
    made = camel(name)
    return made[0].lower() + made[1:]


def _resources(interface: Interface) -> Iterator[str]:
    groups = [group for group in interface.groups if "." not in group]
    yield "/** Everything the interface offers, by resource. */"
    yield "abstract class Resources"
    yield "{"
    yield f"    protected const API_VERSION = '{interface.version}';"
    yield "    protected const OPERATIONS = ["
    for each in interface.operations:
        described = {
            "method": each.method,
            "path": each.path,
            "audience": each.audience,
            "keyed": each.keyed,
            "repeatable": each.place.repeatable,
            "binary": each.result == "bytes",
            "cursor": each.cursor,
        }
        shown = ", ".join(f"'{name}' => {_literal(value)}" for name, value in described.items())
        yield f"        '{each.name}' => [{shown}],"
    yield "    ];\n"
    yield from (f"    public readonly {_class_name(group)} ${_lower(group)};" for group in groups)
    yield "\n    public function __construct()\n    {"
    for group in groups:
        yield f"        $this->{_lower(group)} = new {_class_name(group)}($this);"
    yield "    }\n}"


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else json.dumps(value)


def _group(interface: Interface, group: str, operations: list[Operation]) -> Iterator[str]:
    inner = [name for name in interface.groups if name.startswith(f"{group}.")]
    yield f"final class {_class_name(group)}\n{{"
    for name in inner:
        yield f"    public readonly {_class_name(name)} ${_lower(name.partition('.')[2])};"
    yield "    public function __construct(private readonly Client $client)\n    {"
    for name in inner:
        own = _lower(name.partition(".")[2])
        yield f"        $this->{own} = new {_class_name(name)}($client);"
    yield "    }"
    for operation in operations:
        yield from _method(operation)
    yield "}"


def _method(operation: Operation) -> Iterator[str]:
    body = operation.body or ()
    fields = sorted([*operation.query, *body], key=lambda field: not field.required)
    arguments = [*(["string $id"] if operation.has_id else []), *map(_argument, fields)]
    if operation.keyed:
        arguments.append("?string $idempotencyKey = null")
    kind = {"bytes": "string", "pages": "Listing"}.get(operation.result, "array")
    yield "\n    /**"
    yield f"     * {operation.summary.rstrip('.')}."
    yield "     *"
    for each in fields:
        if each.description:
            yield f"     * @param {_type(each)} ${_lower(each.name)} {each.description}"
    if operation.result not in ("pages", "bytes"):
        yield "     * @return array<string, mixed>"
    yield "     */"
    yield f"    public function {_lower(operation.place.method)}("
    yield from (f"        {argument}," for argument in arguments)
    yield f"    ): {kind} {{"
    sent = [f"'{operation.name}'"]
    if operation.result == "pages" or operation.query:
        sent.append(f"query: {_array(operation.query)}")
    if operation.body is not None:
        sent.append(f"body: {_array(body)}")
    if operation.has_id:
        sent.append("id: $id")
    if operation.keyed:
        sent.append("idempotencyKey: $idempotencyKey")
    called = "listing" if operation.result == "pages" else "call"
    yield f"        return $this->client->{called}({', '.join(sent)});"
    yield "    }"


def _argument(field: Field) -> str:
    name = f"${_lower(field.name)}"
    return f"{_type(field)} {name}" if field.required else f"?{_type(field)} {name} = null"


def _type(field: Field) -> str:
    schema, _ = without_null(field.schema)
    if schema.get("enum") == ["true", "false"]:
        return "bool"
    return TYPES.get(schema.get("type", ""), "array")


def _array(fields: tuple[Field, ...]) -> str:
    pairs = [f"'{field.name}' => {_value(field)}" for field in fields]
    return f"[{', '.join(pairs)}]"


def _value(field: Field) -> str:
    """An empty array of PHP is a list in JSON, so an object is said to be one."""
    name = f"${_lower(field.name)}"
    schema: Schema = without_null(field.schema)[0]
    is_object = _type(field) == "array" and schema.get("type") != "array"
    return f"{name} === null ? null : (object) {name}" if is_object else name
