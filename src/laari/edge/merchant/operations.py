"""Operations of the merchant interface: the table for routes and the reference.

`app.py` has the order of the checks.

The dashboard runs the same operations, so they know nothing of HTTP requests.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar
from uuid import UUID

from msgspec import Struct

from laari.edge.backend import Backend
from laari.edge.endpoint import Endpoint
from laari.edge.input.fields import Body, Query
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.merchants.scopes import READ_SCOPES
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, refuse

B = TypeVar("B")  # the fields of a body
Q = TypeVar("Q")  # the parameters of a query
T = TypeVar("T")  # what a command makes or finds

ANY_SCOPE = "any"
ANY_READ_SCOPE = "any :read"
NO_SUCH_ID = UUID(int=0)  # never minted: looked for, it is not found


class Caller(Struct, frozen=True):
    """A merchant in its current mode, the scopes of its credential, and who used it."""

    tenant: Tenant
    scopes: frozenset[str] | None  # None is every scope
    name_actor: Callable[[], Actor]  # few operations need the actor, with the client's address

    @property
    def actor(self) -> Actor:
        return self.name_actor()

    def may(self, scope: str) -> bool:
        if self.scopes is None:
            return True
        if scope == ANY_READ_SCOPE:
            return not self.scopes.isdisjoint(READ_SCOPES)
        return bool(self.scopes) if scope == ANY_SCOPE else scope in self.scopes

    def lacks(self, scope: str) -> Refusal:
        needed = f"the scope {scope}"
        if scope == ANY_SCOPE:
            needed = "at least one scope"
        elif scope == ANY_READ_SCOPE:
            needed = f"one of the scopes {', '.join(READ_SCOPES)}"
        return refuse("insufficient_scope", f"This needs {needed}.")


class Context(Struct, frozen=True):
    """The caller of an operation, and the id in its path as it was written."""

    backend: Backend
    caller: Caller
    written_id: str = ""

    @property
    def tenant(self) -> Tenant:
        return self.caller.tenant

    def id(self, prefix: str) -> UUID:
        """The id; if it is not valid, an id that nothing has."""
        return ids.read_id(prefix, self.written_id) or NO_SUCH_ID


@dataclass(frozen=True, kw_only=True)
class Public(Endpoint):
    """A link that anybody may open; it reads no credentials and no body."""

    get: Callable[[Backend, str], Awaitable[Reply | Refusal]]
    media_type: str


@dataclass(frozen=True, kw_only=True)
class Read(Endpoint, Generic[Q]):
    """Shows one resource, or a list of them; `shape` is the type of each."""

    scope: str
    query: Query[Q]
    get: Callable[[Context, Q], Awaitable[Reply | Refusal]]
    shape: object  # a class, or a union of classes
    is_list: bool = False


@dataclass(frozen=True, kw_only=True)
class Write(Endpoint, Generic[B, T]):
    """The spine decides its command, and the outcome is shown.

    An operation with `resource_id` takes an Idempotency-Key: it is the id for the saved response.
    """

    method: str = "POST"
    scope: str
    body: Body[B]
    command: Callable[[Context, B], Command[T] | Refusal]
    show: Callable[[T, Backend], Struct]
    shape: object
    status: int = 200
    resource_id: Callable[[T], UUID] | None = None
    observe: Callable[[Context, T | Refusal], None] | None = None  # gets the outcome
    sandbox_only: bool = False

    @property
    def is_keyed(self) -> bool:
        return self.resource_id is not None

    def exists_for(self, tenant: Tenant) -> bool:
        """Live mode has no sandbox controls."""
        return not self.sandbox_only or tenant.mode == "sandbox"

    def prepare(self, context: Context, source: Mapping[str, object]) -> Command[T] | Refusal:
        """The command for the spine, or a refusal of the fields."""
        if not self.exists_for(context.tenant):
            return refuse("not_found")
        fields = self.body.read(source)
        return fields if isinstance(fields, Refusal) else self.command(context, fields)

    async def run(self, context: Context, source: Mapping[str, object]) -> T | Refusal:
        """Decides it, without an idempotency key."""
        command = self.prepare(context, source)
        if isinstance(command, Refusal):
            return command
        outcome = await context.backend.spine.submit(command)
        if self.observe is not None:
            self.observe(context, outcome)
        return outcome


Operation: TypeAlias = Public | Read[Any] | Write[Any, Any]
