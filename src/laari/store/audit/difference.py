"""What the audit looks for, and what it found."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct


class Difference(Struct, frozen=True):
    kind: str
    id: str
    expected: str
    found: str
    message: str


class Check(NamedTuple):
    """A statement that returns the rows that differ, as (id, expected, found).

    Nothing here uses the service's own code: what an account number means, which transfers a
    payment makes and which events it has are said again. `scope` is `rows` where the statement says
    the same of a part of the rows that hang together, `all` where it needs every one, and `part`
    where it stands in for one that does.
    """

    kind: str
    message: str
    sql: str
    scope: Literal["rows", "all", "part"] = "rows"


def shown_payment(column: str) -> str:
    return f"'pay_' || replace({column}::text, '-', '')"


def shown_authorization(column: str) -> str:
    return f"'auth_' || replace({column}::text, '-', '')"


def shown_request(column: str) -> str:
    return f"'prq_' || replace({column}::text, '-', '')"


def shown_event(column: str) -> str:
    return f"'evt_' || replace({column}::text, '-', '')"
