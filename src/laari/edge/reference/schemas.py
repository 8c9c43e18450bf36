"""The shapes of responses and events as JSON Schema, named once and referred to from everywhere."""

from collections.abc import Mapping
from typing import get_args

import msgspec

from laari.edge.input.fields import Schema

_REFERENCE = "#/components/schemas/{name}"


class Schemas:
    """Collects the named schemas of shapes; `unions` has the names of unions.

    Generators would make up long names, and each of them others.
    """

    def __init__(self, unions: Mapping[object, str]) -> None:
        self.named: dict[str, Schema] = {}
        self._unions = unions

    def of(self, shape: object) -> Schema:
        """A reference to the shape's schema."""
        return self._of_union(shape) if get_args(shape) else self._of_struct(shape)

    def _of_union(self, union: object) -> Schema:
        """One schema with the fields of all; a field that is not in every shape is optional.

        With `anyOf`, generated clients take the first member that fits and lose fields.
        """
        # One by one, because msgspec takes no union of structs.
        names = [self._of_struct(member)["$ref"].rpartition("/")[2] for member in get_args(union)]
        members = [self.named[name] for name in names]
        fields: dict[str, Schema] = {}
        for member in members:
            for name, schema in member["properties"].items():
                assert fields.setdefault(name, schema) == schema, f"{name} differs in {union}"
        required = [name for name in fields if all(name in each["required"] for each in members)]
        described = " ".join(f"{name}: {self.named[name]['description']}" for name in names)
        merged = {
            "title": self.name(union),
            "description": described,
            "type": "object",
            "properties": fields,
            "required": required,
        }
        return self.keep(self.name(union), merged)

    def name(self, shape: object) -> str:
        return shape.__name__ if isinstance(shape, type) else self._unions[shape]

    def keep(self, name: str, schema: Schema) -> Schema:
        """Names the schema, and refers to it."""
        assert self.named.setdefault(name, schema) == schema, f"two schemas are called {name}"
        return {"$ref": _REFERENCE.format(name=name)}

    def enveloped(self, envelope: type[msgspec.Struct], shape: object, **members: Schema) -> Schema:
        """A reference to the envelope around the shape, named after both."""
        suffix = "Page" if "pagination" in envelope.__struct_fields__ else "Response"
        return self.keep(f"{self.name(shape)}{suffix}", self.wrapped(envelope, shape, **members))

    def wrapped(self, envelope: type[msgspec.Struct], shape: object, **members: Schema) -> Schema:
        """The envelope around the shape, which is its `data` or each item of it."""
        return self.around(envelope, self.of(shape), **members)

    def around(self, envelope: type[msgspec.Struct], inner: Schema, **members: Schema) -> Schema:
        """The envelope around a schema."""
        (_,), found = _components(envelope)
        schema = found.pop(envelope.__name__)
        self.named |= found
        data = schema["properties"]["data"]
        if "type" in data:  # a list of them
            inner = {**data, "items": inner}
        return {
            "type": "object",
            "properties": {**schema["properties"], **members, "data": inner},
            "required": schema["required"],
        }

    def _of_struct(self, shape: object) -> Schema:
        (reference,), found = _components(shape)
        self.named |= found
        return reference


def _components(shape: object) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    references, found = msgspec.json.schema_components([shape], ref_template=_REFERENCE)
    return references, {name: _plain_schema(schema) for name, schema in found.items()}


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _plain_schema(value) if isinstance(value, dict) else value


def _plain_schema(schema: Schema) -> Schema:
    """Adds the type of enums, writes `x or null` without `anyOf`, and makes integers 64 bits.

    Without a format, clients in Go, Java and C# use 32 bits.
    """
    schema = {name: _plain(value) for name, value in schema.items()}
    if "enum" in schema and all(isinstance(value, str) for value in schema["enum"]):
        schema["type"] = "string"
    match schema.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}] if "enum" not in rest:
            del schema["anyOf"]
            own = {str(name): value for name, value in rest.items()}
            return own | schema | {"type": [kind, "null"]}
    if schema.get("type") == "integer":
        schema.setdefault("format", "int64")
    return schema
