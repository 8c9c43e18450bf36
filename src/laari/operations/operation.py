"""An operation: a permission, a subject, fields and the command that they make."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from asyncpg import Connection

from laari.operations.fields import Field
from laari.rules.command import Command
from laari.rules.people.permissions import Permission

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Subject(Generic[S]):
    """The object of operations, such as a customer.

    `find` looks it up as a person writes it on the command line. `shape` is what programs read.
    """

    name: str
    about: str  # how a person writes it
    find: Callable[[Connection, str], Awaitable[S | None]]
    missing: str
    shape: Callable[[S], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Operation(Generic[S]):
    """One action of the operator. `name` is the group and the command, such as `customer.freeze`.

    `command` gets the actor, the subject if there is one, and the fields by their names. `done` is
    the sentence after the action on a page, `about` the help of the command. A program reads the
    subject after the action, or the `shape` of the command's result.
    """

    name: str
    needs: Permission
    fields: tuple[Field, ...]
    command: Callable[..., Command[object]]
    done: str
    about: str
    subject: Subject[S] | None = None
    shape: Callable[..., Mapping[str, object]] | None = None  # gets the result

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]

    @property
    def verb(self) -> str:
        return self.name.partition(".")[2]


AnyOperation: TypeAlias = Operation[Any]
