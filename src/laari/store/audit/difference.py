"""What the audit looks for, and what it found."""

from typing import Literal, NamedTuple

from msgspec import Struct


class Difference(Struct, frozen=True):
    kind: str
    id: str
    expected: str
    found: str
    message: str


MEMORY = "128MB"  # joins of whole tables are hashed in memory instead of on disk
# Payments and events are too large to be hashed, which the planner believes if there is little
# memory: it reads both in the order of the payments' ids, and nothing is kept.
IN_ORDER = "4MB"


class Check(NamedTuple):
    """A statement that returns the rows that differ, as (id, expected, found).

    Nothing here uses the service's own code: what an account number means, which transfers a
    payment makes and which events it has are said again. `scope` is `rows` where the statement says
    the same of a part of the rows that hang together, `all` where it needs every one, and `part`
    where it stands in for one that does. `queries` are put in front of it, after WITH; checks
    that have the same ones are made by one statement, so that what they stand on is read once.
    `memory` is for sorting and hashing.
    """

    kind: str
    message: str
    sql: str
    scope: Literal["rows", "all", "part"] = "rows"
    queries: str = ""
    memory: str = MEMORY


def _shown(prefix: str, column: str) -> str:
    """An id as the interfaces show it. `encode` takes a third of what `replace` on text does."""
    return f"'{prefix}_' || encode(uuid_send({column}), 'hex')"


def shown_payment(column: str) -> str:
    return _shown("pay", column)


def shown_authorization(column: str) -> str:
    return _shown("auth", column)


def shown_request(column: str) -> str:
    return _shown("prq", column)


def shown_event(column: str) -> str:
    return _shown("evt", column)


def unguarded(index: str) -> str:
    """Whether nothing rules out two of a kind any more: their unique index is gone."""
    return f"""NOT EXISTS (SELECT FROM pg_index
        WHERE indexrelid = to_regclass('public.{index}') AND indisunique AND indisvalid)"""
