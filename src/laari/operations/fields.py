"""The values that people give to an operation, as text: from a form or from the command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from laari.rules.calendar import read_timestamp
from laari.rules.day_ranges import read_day
from laari.rules.ids import read_id
from laari.rules.limits.texts import MAX_REASON
from laari.rules.money import BASIS_POINTS, MAX_MONEY, read_rufiyaa, rufiyaa
from laari.rules.people.contacts import read_email

MAX_DIGITS = 18  # of an account number, an amount in laari and a number


class FieldError(Exception):
    """The text is not a valid value. The message continues a sentence: "must be …"."""


class Kind(Protocol):
    def read(self, written: str, *, on_page: bool) -> object:
        """The value that a text names; raises `FieldError`."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    longest: int

    def read(self, written: str, *, on_page: bool) -> str:
        text = written.strip()
        if not 1 <= len(text) <= self.longest or not text.isprintable():
            raise FieldError(f"must be 1 to {self.longest} printable characters, not blank.")
        return text


@dataclass(frozen=True, slots=True)
class Lines:
    """A text with line breaks."""

    longest: int

    def read(self, written: str, *, on_page: bool) -> str:
        text = written.replace("\r\n", "\n").strip()
        if not 1 <= len(text) <= self.longest or not text.replace("\n", " ").isprintable():
            raise FieldError(f"must be 1 to {self.longest} printable characters, not blank.")
        return text


@dataclass(frozen=True, slots=True)
class Account:
    """The number of a wallet."""

    def read(self, written: str, *, on_page: bool) -> int:
        digits = written.strip()
        if not _is_digits(digits):
            raise FieldError("must be an account number, which has only digits.")
        return int(digits)


@dataclass(frozen=True, slots=True)
class Number:
    lowest: int
    highest: int

    def read(self, written: str, *, on_page: bool) -> int:
        sign, digits = written[:1], written[1:] if written[:1] in ("+", "-") else written
        number = int(digits) if _is_digits(digits) else None
        if number is not None and sign == "-":
            number = -number
        if number is None or not self.lowest <= number <= self.highest:
            raise FieldError(f"must be a whole number from {self.lowest} to {self.highest}.")
        return number


@dataclass(frozen=True, slots=True)
class Amount:
    """In laari for programs on the command line, in rufiyaa for people on a page."""

    lowest: int
    highest: int

    def read(self, written: str, *, on_page: bool) -> int:
        if not on_page:
            return Number(self.lowest, self.highest).read(written, on_page=False)
        laari = read_rufiyaa(written)
        if laari is None:
            raise FieldError("must be in rufiyaa, such as 125.50.")
        if not self.lowest <= laari <= self.highest:
            bounds = f"MVR {rufiyaa(self.lowest)} to MVR {rufiyaa(self.highest)}"
            raise FieldError(f"must be from {bounds}.")
        return laari


@dataclass(frozen=True, slots=True)
class BasisPoints:
    """Hundredths of a percent for programs, a percentage for people on a page."""

    def read(self, written: str, *, on_page: bool) -> int:
        if not on_page:
            return Number(0, BASIS_POINTS).read(written, on_page=False)
        hundredths = read_rufiyaa(written)  # written in the same way
        if hundredths is None or not 0 <= hundredths <= BASIS_POINTS:
            raise FieldError("must be from 0 to 100, such as 1.5.")
        return hundredths


NO_LIMIT = "none"


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a tier, or that it has none; None means that the value was omitted."""

    def read(self, written: str, *, on_page: bool) -> int | str:
        if written.strip() == NO_LIMIT:
            return NO_LIMIT
        try:
            return Amount(0, MAX_MONEY).read(written, on_page=on_page)
        except FieldError as error:
            raise FieldError(f"{str(error).rstrip('.')}, or '{NO_LIMIT}'.") from None


@dataclass(frozen=True, slots=True)
class Id:
    """An id with a prefix; `of` says whose it is, such as "a movement's id"."""

    prefix: str
    of: str

    def read(self, written: str, *, on_page: bool) -> object:
        found = read_id(self.prefix, written.strip())
        if found is None:
            raise FieldError(f"must be {self.of}: {self.prefix} and 32 hexadecimal digits.")
        return found


@dataclass(frozen=True, slots=True)
class Day:
    def read(self, written: str, *, on_page: bool) -> object:
        found = read_day(written)
        if found is None:
            raise FieldError("must be a day such as 2027-07-01.")
        return found


@dataclass(frozen=True, slots=True)
class Moment:
    def read(self, written: str, *, on_page: bool) -> object:
        found = read_timestamp(written.strip())
        if found is None:
            raise FieldError("must be a day or a time such as 2027-07-01T00:00:00+05:00.")
        return found


@dataclass(frozen=True, slots=True)
class Choice:
    values: tuple[str, ...]

    def read(self, written: str, *, on_page: bool) -> str:
        if written not in self.values:
            raise FieldError(f"must be {' or '.join(self.values)}.")
        return written


@dataclass(frozen=True, slots=True)
class Flag:
    """Given or not."""

    def read(self, written: str, *, on_page: bool) -> bool:
        return written == "on"


@dataclass(frozen=True, slots=True)
class Switch:
    """On or off; on the command line it may be omitted, which changes nothing.

    `off` is the name of the option that turns it off. Without one, the option says on or off.
    """

    off: str = ""

    def read(self, written: str, *, on_page: bool) -> bool:
        return written == "on"


@dataclass(frozen=True, slots=True)
class Removable:
    """A text that an empty one removes; on the command line it may also be left as it is."""

    def read(self, written: str, *, on_page: bool) -> str:
        return written.strip()


@dataclass(frozen=True, slots=True)
class Email:
    def read(self, written: str, *, on_page: bool) -> str:
        address = read_email(written)
        if address is None or not address.isprintable():
            raise FieldError("must be an email address.")
        return address


@dataclass(frozen=True, slots=True)
class Seen:
    """A count that the page showed. A form that is sent twice acts once: the count has changed."""

    def read(self, written: str, *, on_page: bool) -> int:
        return int(written) if _is_digits(written) else -1  # which never matches


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


@dataclass(frozen=True, slots=True)
class Field:
    """One value. `about` explains it in the help of the command.

    On the command line it is an option, or an argument if it is `positional`, named
    `typed` if the name differs there. A value `of_page` is in the form and never typed.
    Refusals on a page call it `label`, or else by its name.
    """

    name: str
    kind: Kind
    about: str = ""
    required: Literal["always", "on pages", "never"] = "always"
    positional: bool = False
    typed: str = ""
    default: str | None = None
    of_page: bool = False
    label: str = ""

    @property
    def typed_name(self) -> str:
        return self.typed or self.name

    @property
    def words(self) -> str:
        return self.label or self.name.replace("_", " ")

    def read(self, written: str | None, *, on_page: bool) -> object:
        """The value of a text; a missing or blank one is None or False, if that is allowed."""
        if isinstance(self.kind, Flag | Switch | Removable):
            return self.kind.read(written or "", on_page=on_page)
        written = (written or "").strip() or self.default
        is_required = self.required == "always" or (on_page and self.required == "on pages")
        if not written and not is_required:
            return None
        return self.kind.read(written or "", on_page=on_page)


def read_form(fields: tuple[Field, ...], form: Mapping[str, str]) -> dict[str, object]:
    """The values of a form; raises `FieldError` with a whole sentence."""
    given: dict[str, object] = {}
    for field in fields:
        try:
            given[field.name] = field.read(form.get(field.name), on_page=True)
        except FieldError as error:
            raise FieldError(f"The {field.words} {error}") from None
    return given


def reason(
    required: Literal["always", "on pages"] = "on pages", about: str = "Only operators see it."
) -> Field:
    return Field("reason", Text(MAX_REASON), about, required)


def flag(name: str, about: str) -> Field:
    return Field(name, Flag(), about, "never")


def seen(name: str) -> Field:
    return Field(name, Seen(), of_page=True)


# The person's movements that the page showed (laari.rules.banking.second_person).
MOVED = Field("moved", Seen(), required="never", of_page=True)
