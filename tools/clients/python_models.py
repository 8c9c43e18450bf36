"""The generated models and parameters of clients/python.

Annotations are written as Python 3.9 evaluates them, so that `typing.get_type_hints` works on the
models there too.
"""

import textwrap
from collections.abc import Iterator

from tools.clients.document import (
    SECRET_FIELDS,
    Field,
    GeneratorError,
    Interface,
    Schema,
    Shape,
    fields_of,
    ref_name,
    without_null,
)

NOTE = "Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients."

# One resource is read as a special case of another, so that a function can take either.
BASES = {"HostedPayment": "Payment", "AuthorizationPayment": "Payment"}
READERS = {"string": "text", "integer": "integer", "number": "decimal", "boolean": "flag"}
WIDTH = 100  # of a line
TYPES = {"string": "str", "integer": "int", "number": "Decimal", "boolean": "bool"}


def head(title: str, *imports: str) -> Iterator[str]:
    yield f'"""{title}\n\n{NOTE}\n"""\n'
    yield "from __future__ import annotations\n"
    yield from imports
    yield ""


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


# Models


def models(interface: Interface) -> Iterator[str]:
    yield from head(
        "What the service returns. Fields that this version does not know are kept apart.",
        "from dataclasses import dataclass, field",
        "from datetime import datetime",
        "from decimal import Decimal",
        "from typing import Any, Dict, List, Literal, Optional, Union",
        "from laari_client._reading import "
        "Fields, UnknownEvent, decimal, event_type, flag, integer, listed, moment, text, texts",
    )
    shapes = {shape.name: shape for shape in interface.shapes}
    kinds: dict[str, list[str]] = {}
    for union in interface.shapes:
        for value, name in union.variants.items():
            kinds.setdefault(name, []).append(value)
    for shape in sorted(
        interface.shapes, key=lambda each: (each.name in BASES, bool(each.variants))
    ):
        if shape.variants:
            yield from _union(shape)
        else:
            yield from _model(shape, shapes.get(BASES.get(shape.name, "")), kinds.get(shape.name))
    for base in sorted(set(BASES.values())):
        yield from _choice(shapes[base], [shapes[n] for n, its in BASES.items() if its == base])
    names = sorted([*shapes, "UnknownEvent"])
    yield f"__all__ = {names!r}"


def _model(shape: Shape, base: Shape | None, kinds: list[str] | None) -> Iterator[str]:
    """`kinds` are the types of an event: they tell a type checker what `data` is."""
    yield "@dataclass(frozen=True)"
    yield f"class {shape.name}({base.name}):" if base else f"class {shape.name}:"
    yield from _docstring(shape.description or f"A resource: {shape.name}.")
    inherited = {field.name: _model_type(field) for field in base.fields} if base else {}
    for each in shape.fields:
        kind = _model_type(each)
        if kinds and each.name == "type":
            kind = f"Literal[{', '.join(map(repr, kinds))}]"
        if inherited.get(each.name) == kind:
            continue
        if each.description:
            yield from (f"    # {line}" for line in textwrap.wrap(each.description, WIDTH - 6))
        shown = " = field(repr=False)" if each.name in SECRET_FIELDS else ""
        yield f"    {each.name}: {kind}{shown}"
    if base is None:
        kept = "field(default_factory=dict, repr=False, compare=False)"
        yield f"    unknown_fields: Dict[str, Any] = {kept}"
    yield "\n    @classmethod"
    yield f"    def from_json(cls, value: Any) -> {shape.name}:"
    yield '        """Reads it from parsed JSON."""'
    yield f'        fields = Fields("{shape.name}", value)'
    yield "        return cls("
    read = {each.name for each in shape.fields}
    for each in base.fields if base else shape.fields:
        own = next((field for field in shape.fields if field.name == each.name), each)
        if each.name not in read:
            yield f"            {each.name}=None,"
            continue
        _, nullable = without_null(own.schema)
        take = "maybe" if nullable or not own.required else "take"
        reader = "event_type" if kinds and each.name == "type" else _reader(own.schema)
        yield f'            {each.name}=fields.{take}("{each.name}", {reader}),'
    yield "            unknown_fields=fields.rest(),\n        )\n\n"


def _docstring(text: str) -> Iterator[str]:
    lines = textwrap.wrap(f'"""{text}"""', WIDTH - 4)
    yield from (f"    {line}" for line in lines)
    yield ""


def _union(shape: Shape) -> Iterator[str]:
    members = sorted(set(shape.variants.values()))
    yield f"{shape.name} = Union[{', '.join(members)}, UnknownEvent]\n"
    yield f"_{shape.name.upper()}_TYPES: Dict[str, Any] = {{"
    for value, name in shape.variants.items():
        yield f'    "{value}": {name}.from_json,'
    yield "}\n\n"
    yield f"def read_{shape.name.lower()}(value: Any) -> {shape.name}:"
    yield '    """One of them by its `type`; of a type that is new, an `UnknownEvent`."""'
    yield f'    kind = Fields("{shape.name}", value).take("type", text)'
    yield f"    read = _{shape.name.upper()}_TYPES.get(kind, UnknownEvent.from_json)"
    yield f"    event: {shape.name} = read(value)\n    return event\n\n"


def _choice(base: Shape, cases: list[Shape]) -> Iterator[str]:
    """A resource that has several shapes is read as the one whose fields are there."""
    yield f"def {read_function(base.name)}(value: Any) -> {base.name}:"
    yield '    """As the shape that it has."""'
    yield "    names = set(value) if isinstance(value, dict) else set()"
    *special, plain = sorted(cases, key=lambda each: -len(each.fields))
    common = {field.name for field in plain.fields if field.required}
    for case in special:
        own = sorted({field.name for field in case.fields if field.required} - common)
        yield f"    if {{{', '.join(repr(name) for name in own)}}} <= names:"
        yield f"        return {case.name}.from_json(value)"
    yield f"    return {plain.name}.from_json(value)\n\n"


def read_function(name: str) -> str:
    """What reads a resource of this name."""
    if name == "Event" or name in BASES.values():
        return f"read_{name.lower()}"
    return f"{name}.from_json"


def _model_type(field: Field) -> str:
    schema, nullable = without_null(field.schema)
    kind = _value_type(schema)
    return f"Optional[{kind}]" if nullable or not field.required else kind


def _value_type(schema: Schema) -> str:
    if "$ref" in schema:
        return ref_name(schema)
    if schema.get("format") == "date-time":
        return "datetime"
    if schema["type"] == "object":
        return "Dict[str, str]"
    if schema["type"] == "array":
        return f"List[{_value_type(schema['items'])}]"
    return TYPES[schema["type"]]


def _reader(schema: Schema) -> str:
    schema, _ = without_null(schema)
    if "$ref" in schema:
        return read_function(ref_name(schema))
    if schema.get("format") == "date-time":
        return "moment"
    if schema["type"] == "object":
        if schema.get("additionalProperties") != {"type": "string"}:
            raise GeneratorError(f"an object without a name: {schema}")
        return "texts"
    if schema["type"] == "array":
        return f"listed({_reader(schema['items'])})"
    return READERS[schema["type"]]


# Parameters


def params(interface: Interface) -> Iterator[str]:
    yield from head(
        "Objects inside of what is sent.",
        "from datetime import datetime",
        "from typing import Literal, Optional, TypedDict, Union",
    )
    yield "# RFC 3339; a datetime needs a time zone."
    yield "Moment = Union[datetime, str]\n"
    for lines in _param_classes(interface).values():
        yield from lines
    yield f"__all__ = {param_names(interface)!r}"


def param_names(interface: Interface) -> list[str]:
    return sorted([*_param_classes(interface), "Moment"])


def _param_classes(interface: Interface) -> dict[str, list[str]]:
    written: dict[str, list[str]] = {}
    for operation in interface.operations:
        for each in operation.body or ():
            _collect_params(each, written)
    return written


def _collect_params(field: Field, written: dict[str, list[str]]) -> None:
    schema, _ = without_null(field.schema)
    inner = fields_of(schema)
    if not inner:
        return
    for each in inner:
        _collect_params(each, written)
    wanted = {each.required for each in inner}
    if len(wanted) != 1:
        raise GeneratorError(f"{field.name}: some members are required and some are not")
    total = "" if wanted == {True} else ", total=False"
    lines = [f"class {_params_name(field)}(TypedDict{total}):"]
    for each in inner:
        _, nullable = without_null(each.schema)
        kind = param_type(each)
        lines.append(f"    {each.name}: {f'Optional[{kind}]' if nullable else kind}")
    lines += ["", ""]
    known = written.setdefault(_params_name(field), lines)
    if known != lines:
        raise GeneratorError(f"two kinds of {field.name} have one name")


def _params_name(field: Field) -> str:
    return f"{camel(field.name)}Params"


def param_type(field: Field) -> str:
    schema, _ = without_null(field.schema)
    if schema.get("enum") == ["true", "false"]:
        return "bool"
    if "enum" in schema:
        return f"Literal[{', '.join(repr(each) for each in schema['enum'])}]"
    if schema.get("format") == "date-time":
        return "Moment"
    if schema["type"] == "object":
        return _params_name(field) if "properties" in schema else "Mapping[str, str]"
    return TYPES[schema["type"]]
