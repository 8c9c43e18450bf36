"""Which part of the history is asked for."""

import re
from typing import NamedTuple

from laari.edge.input.fields import Schema
from laari.http.messages import Parameters
from laari.rules.ids import TID_PATTERN, is_tid
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.fields import TID_EXAMPLE

DEFAULT_LIMIT = 10

_LIMIT = re.compile(r"[1-9][0-9]?|100", re.ASCII)

# What the parameters may hold, for the reference.
PARAMETERS: dict[str, Schema] = {
    "limit": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 100,
        "default": DEFAULT_LIMIT,
        "description": "How many transactions a page holds.",
    },
    "before": {
        "type": "string",
        "pattern": f"^{TID_PATTERN}$",
        "examples": [TID_EXAMPLE],
        "description": "The `next_cursor` of the page before.",
    },
}


class Paging(NamedTuple):
    limit: int = DEFAULT_LIMIT
    before: str | None = None  # the last transaction of the page before


def read_paging(parameters: Parameters) -> Paging | Refusal:
    """Reads `limit` and `before`; others are ignored, arrays of these two refused."""
    given: dict[str, str] = {}
    for name, value in parameters:
        base, bracket, _ = name.partition("[")
        if base not in PARAMETERS:
            continue
        if bracket or base in given:
            return refuse("invalid_pagination", f"{base} must be given once, not as an array.")
        given[base] = value
    limit, before = given.get("limit"), given.get("before")
    if limit is not None and not _LIMIT.fullmatch(limit):
        return refuse("invalid_pagination", "limit must be a whole number from 1 to 100.")
    if before is not None and not is_tid(before):
        return refuse("invalid_pagination", "before is no cursor of this wallet.")
    return Paging(DEFAULT_LIMIT if limit is None else int(limit), before)
