"""The values that people give to an operation, as text: from a form or from the command line."""

from dataclasses import dataclass
from typing import Literal, Protocol

from laari.rules.terms import MAX_REASON

MAX_DIGITS = 18  # of an account number


class FieldError(Exception):
    """The text is no such value. The message continues a sentence: "must be …"."""


class Kind(Protocol):
    def read(self, written: str) -> object:
        """The value that a text names; raises `FieldError`."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    longest: int

    def read(self, written: str) -> str:
        text = written.strip()
        if not 1 <= len(text) <= self.longest or not text.isprintable():
            raise FieldError(f"must be 1 to {self.longest} printable characters, not blank.")
        return text


@dataclass(frozen=True, slots=True)
class Account:
    """The number of a wallet."""

    def read(self, written: str) -> int:
        digits = written.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS):
            raise FieldError("must be an account number, which has only digits.")
        return int(digits)


@dataclass(frozen=True, slots=True)
class Flag:
    """Given or not."""

    def read(self, written: str) -> bool:
        return written == "on"


@dataclass(frozen=True, slots=True)
class Field:
    """One value. `about` explains it in the help of the command.

    On the command line it is an option, or an argument if it is `positional`.
    """

    name: str
    kind: Kind
    about: str = ""
    required: Literal["always", "on pages", "never"] = "always"
    positional: bool = False

    def read(self, written: str | None, *, on_page: bool) -> object:
        """The value of a text; a missing or empty one is None or False, if that is allowed."""
        if isinstance(self.kind, Flag):
            return self.kind.read(written or "")
        is_required = self.required == "always" or (on_page and self.required == "on pages")
        if not written and not is_required:
            return None
        return self.kind.read(written or "")


def reason(required: Literal["always", "on pages"] = "on pages") -> Field:
    return Field("reason", Text(MAX_REASON), "Only operators see it.", required)


def flag(name: str, about: str) -> Field:
    return Field(name, Flag(), about, "never")
