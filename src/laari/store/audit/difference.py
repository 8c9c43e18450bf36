"""A check of the audit, and a difference that it found."""

from typing import Literal, NamedTuple

from msgspec import Struct


class Difference(Struct, frozen=True):
    kind: str
    id: str
    expected: str
    found: str
    message: str


MEMORY = "128MB"  # joins of whole tables are hashed in memory instead of on disk
# With little memory the planner does not hash payments and events, which are too large: it reads
# both in the order of the payments' ids and keeps nothing.
IN_ORDER = "4MB"


class Check(NamedTuple):
    """A statement that returns the rows that differ, as (id, expected, found).

    It uses none of the service's own code. `scope` is `rows` if it also holds for a part of the
    rows that belong together, `all` if it needs every row, and `part` if it replaces such a check.
    Checks with the same `queries` are one statement that reads them once.
    """

    kind: str
    message: str
    sql: str
    scope: Literal["rows", "all", "part"] = "rows"
    queries: str = ""
    memory: str = MEMORY


def shown(prefix: str, column: str) -> str:
    """An id as the interfaces show it. `encode` is three times as fast as `replace` on text."""
    return f"'{prefix}_' || encode(uuid_send({column}), 'hex')"


def unguarded(index: str) -> str:
    """Whether a unique index is gone, so that a row may be there twice."""
    return f"""NOT EXISTS (SELECT FROM pg_index
        WHERE indexrelid = to_regclass('public.{index}') AND indisunique AND indisvalid)"""
