"""An operation: a permission, a subject, fields and the command that they make."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeAlias, TypeGuard, TypeVar

from asyncpg import Connection

from laari.operations.fields import Field
from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.people.permissions import Permission
from laari.rules.records.second_person import PendingMovement
from laari.settings import Settings
from laari.store.bank_statements import Ask, Submit

S = TypeVar("S")

Shape: TypeAlias = Mapping[str, object]
Shapes: TypeAlias = Shape | list[Shape]


class Context(NamedTuple):
    """Who acts, and how a face reads and decides."""

    actor: Actor
    ask: Ask
    submit: Submit
    settings: Settings
    now: datetime


@dataclass(frozen=True, slots=True)
class Subject(Generic[S]):
    """The object of operations, such as a customer.

    `find` looks it up by the values of its fields, and `missing` says that there is none. `shape`
    is what programs read of it.
    """

    name: str
    about: str  # how a person writes it
    fields: tuple[Field, ...]
    find: Callable[..., Awaitable[S | None]]  # gets a connection, and the fields by their names
    missing: str  # with the names of fields in braces
    shape: Callable[[S], Shape] | None = None

    async def look_up(self, ask: Ask, given: Mapping[str, object]) -> S | str:
        """The subject, or the text that there is none."""
        named: Callable[[Connection], Awaitable[S | None]]
        named = lambda connection: self.find(connection, **given)  # noqa: E731  # to give it a type
        found = await ask(named)
        return self.missing.format(**given) if found is None else found


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Another sentence after some results."""

    applies: Callable[..., bool]  # gets the result
    done: str


@dataclass(frozen=True, slots=True)
class Operation(Generic[S]):
    """One action of the operator. `name` is the group and the command, such as `customer.freeze`.

    `run` gets the context, the subject if there is one, and the fields by their names. Its result
    is a refusal, a movement that waits, or something else; a list has several of them. `done` is
    the sentence after the action on a page, `about` the help of the command. A program reads
    the `shape` of the result, or the subject after the action.
    """

    name: str
    needs: Permission
    fields: tuple[Field, ...]
    run: Callable[..., Awaitable[object]]
    done: str
    about: str
    subject: Subject[S] | None = None
    shape: Callable[..., Awaitable[Shapes]] | None = None  # gets `ask`, the subject and the result
    otherwise: Otherwise | None = None
    logs_in: bool = False  # on the command line, if the rule of the second person is on
    typed: str = ""  # the words of the command, if they are not those of the name

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]

    @property
    def verb(self) -> str:
        return self.name.partition(".")[2]

    @property
    def words(self) -> str:
        """The words of the command behind `laari`."""
        return self.typed or f"{self.group} {self.verb}"

    async def act(self, context: Context, subject: S | None, given: Mapping[str, object]) -> object:
        about = [] if self.subject is None else [subject]
        return await self.run(context, *about, **given)

    @property
    def texts(self) -> dict[str, str]:
        """The sentences after the action, by the names that addresses have."""
        texts = {self.name: self.done}
        if self.otherwise is not None:
            texts[f"{self.name}.otherwise"] = self.otherwise.done
        return texts

    def text_after(self, result: object) -> str:
        """The name of the sentence after this result."""
        is_other = self.otherwise is not None and self.otherwise.applies(result)
        return f"{self.name}.otherwise" if is_other else self.name


def waits(result: object) -> TypeGuard[PendingMovement]:
    """Whether the result is a movement that a second person has to confirm."""
    return isinstance(result, PendingMovement) and result.status == "waiting"


AnyOperation: TypeAlias = Operation[Any]


def command(make: Callable[..., Command[object]]) -> Callable[..., Awaitable[object]]:
    """The `run` of an operation that is one command, made of the actor, subject and fields."""

    async def run(context: Context, *about: object, **given: object) -> object:
        return await context.submit(make(context.actor, *about, **given))

    return run


def plain(shape: Callable[..., Shape]) -> Callable[..., Awaitable[Shape]]:
    """The `shape` of an operation that needs only the result."""

    async def shaped(ask: Ask, subject: object, result: object) -> Shape:
        return shape(result)

    return shaped
