"""What an operation of the merchant interface is: the table that routes, checks and documents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from laari.edge.backend import Backend
from laari.edge.fields import Body
from laari.edge.http import Reply, Request
from laari.edge.merchant.lists import Query
from laari.rules import ids
from laari.rules.command import Command
from laari.rules.records import Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.scopes import READ_SCOPES

ANY_SCOPE = "any"
ANY_READ_SCOPE = "any :read"
NO_SUCH_ID = UUID(int=0)  # never minted: looked for, it is not found


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a merchant in its current mode, and what the credential lets it do."""

    tenant: Tenant
    scopes: frozenset[str] | None  # None is every scope

    def may(self, scope: str) -> bool:
        if self.scopes is None:
            return True
        if scope == ANY_READ_SCOPE:
            return not self.scopes.isdisjoint(READ_SCOPES)
        return bool(self.scopes) if scope == ANY_SCOPE else scope in self.scopes

    def lacks(self, scope: str) -> Refusal:
        """Why a call that needs this scope is refused."""
        needed = f"the scope {scope}"
        if scope == ANY_SCOPE:
            needed = "one scope at least"
        elif scope == ANY_READ_SCOPE:
            needed = f"one of the scopes {', '.join(READ_SCOPES)}"
        return refuse("insufficient_scope", f"This needs {needed}.")


@dataclass(slots=True)
class Call:
    """One authenticated request on its way through an operation."""

    backend: Backend
    request: Request
    caller: Caller
    path_id: str

    def id(self, prefix: str) -> UUID:
        """The id in the path; one that is not of ours is an id that nothing has."""
        return ids.read_id(prefix, self.path_id) or NO_SUCH_ID


@dataclass(frozen=True)
class Operation:
    """One method on one path.

    Either `command` makes what the spine decides and `shape` shows its outcome, or `answer` reads.
    `scope` None means public: no credentials asked.
    """

    method: str
    path: str
    name: str
    summary: str
    scope: str | None
    status: int = 200
    command: Callable[[Call, dict[str, Any]], Command[Any] | Refusal] | None = None
    shape: Callable[[Any, Backend], Any] | None = None
    answer: Callable[[Call, dict[str, Any]], Awaitable[Reply | Refusal]] | None = None
    body: Body | None = None
    query: Query | None = None
    watch: Callable[[Call, Any], None] | None = None  # sees what the spine decided
    keyed: bool = False  # takes an Idempotency-Key
    sandbox_only: bool = False
    answers: Any = None  # type of the resource in `data`, or of each one of a list
    is_list: bool = False
    refusals: tuple[str, ...] = ()  # beyond those that follow from the above
    media_type: str = "application/json"  # of what it answers
    description: str = ""
