"""Events in OpenAPI: the webhooks, and the events of `GET /events`."""

from typing import get_args

from laari.edge.input.fields import Schema
from laari.edge.merchant.events import ListedEvent
from laari.edge.reference.operation import JSON
from laari.edge.reference.schemas import Schemas
from laari.rules.events import EVENTS, SAMPLE_EVENT, EventBody, EventKind, SampleData
from laari.rules.shapes.payments import AnyPayment


def webhooks(schemas: Schemas) -> dict[str, Schema]:
    return {name: {"post": _webhook(name, kind, schemas)} for name, kind in EVENTS.items()}


def _webhook(name: str, kind: EventKind, schemas: Schemas) -> Schema:
    body = schemas.wrapped(EventBody, kind.shape, type={"type": "string", "const": name})
    return {
        "operationId": f"on_{name.replace('.', '_')}",
        "summary": kind.meaning,
        "parameters": [{"$ref": "#/components/parameters/ServiceSignature"}],
        "requestBody": {"required": True, "content": {JSON: {"schema": body}}},
        "responses": {
            "2XX": {"description": "Received. Any other response is retried at most twice."}
        },
        "security": [],
    }


def listed_event(schemas: Schemas) -> Schema:
    """Any event of `GET /events`; each variant has another resource, as generators need it."""
    types: dict[object, list[str]] = {}
    for name, kind in EVENTS.items():
        shape = AnyPayment if kind.shape in get_args(AnyPayment) else kind.shape
        types.setdefault(shape, []).append(name)
    types[SampleData] = [SAMPLE_EVENT]
    mapping: dict[str, str] = {}
    variants = []
    for shape, names in types.items():
        kinds = {"type": "string", "enum": names}
        variant = schemas.keep(
            f"{schemas.name(shape).removesuffix('Data')}Event",
            schemas.wrapped(ListedEvent, shape, type=kinds),
        )
        variants.append(variant)
        mapping.update((each, variant["$ref"]) for each in names)
    union = {
        "oneOf": variants,
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
    return schemas.keep("Event", union)
