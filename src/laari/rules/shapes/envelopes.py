"""The envelopes of the merchant interface: around resources, and for errors."""

from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from laari.rules.refusals import Refusal
from laari.rules.shapes.fields import NextCursor

T = TypeVar("T")

to_json = msgspec.json.Encoder().encode


class ErrorDetail(Struct, frozen=True, omit_defaults=True):
    code: Annotated[
        str, Meta(description="For programs; stays the same.", examples=["invalid_request"])
    ]
    message: Annotated[
        str, Meta(description="For people; may change.", examples=["amount is required."])
    ]
    field: Annotated[
        str | None,
        Meta(
            description="The field of the request that caused the error, if any.",
            examples=["amount"],
        ),
    ] = None


class ErrorBody(Struct, frozen=True):
    """The merchant interface's error envelope."""

    error: ErrorDetail


def refusal_body(refusal: Refusal) -> bytes:
    return to_json(ErrorBody(ErrorDetail(refusal.public_code, refusal.message, refusal.field)))


class Data(Struct, Generic[T], frozen=True):
    """One resource, wrapped."""

    data: T


class Pagination(Struct, frozen=True):
    limit: Annotated[int, Meta(examples=[20])]
    has_more: Annotated[bool, Meta(examples=[False])]
    next_cursor: NextCursor


class Page(Struct, Generic[T], frozen=True):
    """One page of a listing."""

    data: list[T]
    pagination: Pagination
