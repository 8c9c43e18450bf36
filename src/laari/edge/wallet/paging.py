"""Which part of the history is asked for."""

import re
from typing import NamedTuple

from laari.edge.input.fields import Field, Query
from laari.rules.ids import TID_PATTERN, is_tid
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.fields import TID_EXAMPLE

DEFAULT_LIMIT = 10

_LIMIT = re.compile(r"[1-9][0-9]?|100", re.ASCII)


class Paging(NamedTuple):
    limit: int = DEFAULT_LIMIT
    before: str | None = None  # the last transaction of the page before


def _read_limit(value: object, name: str) -> int | Refusal:
    if _LIMIT.fullmatch(str(value)):
        return int(str(value))
    return refuse("invalid_pagination", "limit must be a whole number from 1 to 100.")


def _read_before(value: object, name: str) -> object:
    return value if is_tid(str(value)) else unknown_cursor()


def unknown_cursor() -> Refusal:
    return refuse("invalid_pagination", "before is not a cursor of this wallet.")


PAGING = Query(
    Paging,
    Field(
        "limit",
        _read_limit,
        {
            "type": "integer",
            "format": "int32",
            "minimum": 1,
            "maximum": 100,
            "default": DEFAULT_LIMIT,
            "description": "The number of transactions on a page.",
        },
    ),
    Field(
        "before",
        _read_before,
        {
            "type": "string",
            "pattern": f"^{TID_PATTERN}$",
            "examples": [TID_EXAMPLE],
            "description": "The `next_cursor` of the previous page.",
        },
    ),
    code="invalid_pagination",
)
