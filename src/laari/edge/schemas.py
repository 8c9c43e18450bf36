"""The shapes of responses and events as JSON Schema, named once and referred to from everywhere."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from laari.edge.fields import Schema

_REFERENCE = "#/components/schemas/{name}"


class Schemas:
    """Collects the named schemas of the shapes it is asked for."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def of(self, shape: Any) -> Schema:
        """A reference to the shape's schema; a union of shapes is any of theirs."""
        # One by one, because msgspec takes no union of structs: it could not tell which to read.
        references = [self._keep(member) for member in get_args(shape) or (shape,)]
        return references[0] if len(references) == 1 else {"anyOf": references}

    def wrapped(self, envelope: type[msgspec.Struct], shape: Any, **members: Schema) -> Schema:
        """The envelope around the shape, which stands in `data` or is each item there."""
        (_,), found = _components(envelope)
        schema = found.pop(envelope.__name__)
        self.named |= found
        data = schema["properties"]["data"]
        inner = {**data, "items": self.of(shape)} if "type" in data else self.of(shape)
        return {
            "type": "object",
            "properties": {**schema["properties"], **members, "data": inner},
            "required": schema["required"],
        }

    def _keep(self, shape: Any) -> Schema:
        (reference,), found = _components(shape)
        self.named |= found
        return reference


def _components(shape: Any) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    references, found = msgspec.json.schema_components([shape], ref_template=_REFERENCE)
    return references, {name: _plain(schema) for name, schema in found.items()}


def _plain(schema: Any) -> Any:
    """The schema as people write it: the type of enums said, `x or null` without a detour."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: _plain(value) for name, value in schema.items()}
    if "enum" in schema and all(isinstance(value, str) for value in schema["enum"]):
        schema["type"] = "string"
    match schema.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}] if "enum" not in rest:
            del schema["anyOf"]
            return {**rest, **schema, "type": [kind, "null"]}
    return schema
