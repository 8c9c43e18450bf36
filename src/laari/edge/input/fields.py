"""The fields of requests: one definition reads a field and describes it in OpenAPI."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from laari.edge.input.strict_json import LongInteger
from laari.edge.input.web_address import is_web_address
from laari.http.messages import Parameters
from laari.rules.calendar import LAST_SHOWN, read_timestamp
from laari.rules.refusals import Refusal, RefusalCode, invalid, refuse

T = TypeVar("T")

LONGEST_COMPARED = 60  # the time grows with the square of the length
_CLOSE = 0.7  # of 1: `amout` and `returnUrl` are close, `currency` is close to nothing

Schema: TypeAlias = dict[str, Any]  # of JSON Schema, nested to any depth
# Reads a value that is present and not null: the result is the value, None for nothing, or a
# refusal. The second argument is the name for messages.
Reader: TypeAlias = Callable[[object, str], object]


@dataclass(frozen=True)
class Field:
    name: str
    read: Reader
    schema: Schema
    required: bool = False
    null_allowed: bool = True  # for optional fields; null then means the same as omitting it
    group: Mapping[str, bool] | None = None  # the arguments of a group, and if it always has them

    @property
    def arguments(self) -> Mapping[str, bool]:
        return {self.name: self.required} if self.group is None else self.group


def described(field: Field, meaning: str) -> Field:
    """The field with a text for the reference, before the text of its kind."""
    own = field.schema.get("description", "")
    return replace(field, schema={**field.schema, "description": f"{meaning} {own}".rstrip()})


def check_fields(make: Callable[..., T], fields: tuple[Field, ...]) -> None:
    """Raises TypeError unless `make` takes every field, and needs none that may be left out."""
    signature = inspect.signature(make)
    arguments = {name: always for field in fields for name, always in field.arguments.items()}
    signature.bind_partial(**arguments)
    signature.bind(**{name: True for name, always in arguments.items() if always})


class Body(Generic[T]):
    """The fields of an operation and the function that takes them; other fields are refused.

    `rule` is JSON Schema for the reference, about fields that depend on each other.
    """

    def __init__(
        self,
        make: Callable[..., T],
        *fields: Field,
        name: str = "",
        examples: Mapping[str, Schema] | None = None,
        rule: Schema | None = None,
    ) -> None:
        check_fields(make, fields)
        self._make = make
        self.fields = fields
        self.name = name
        self.examples = examples or {}
        self._rule = rule or {}
        self._known = frozenset(field.name for field in fields)

    def read(self, source: Mapping[str, object], prefix: str = "") -> T | Refusal:
        for name in source:
            if name not in self._known:
                return self._unknown(name, prefix)
        values: dict[str, object] = {}
        for field in self.fields:
            path = prefix + field.name
            if field.name not in source:
                if field.required:
                    return invalid(path, f"{path} is required.")
                continue
            value = source[field.name]
            if value is None and not field.required and field.null_allowed:
                continue
            value = field.read(value, path)
            if isinstance(value, Refusal):
                return value
            if isinstance(value, dict):  # of a group
                values |= value
            elif value is not None:
                values[field.name] = value
        return self._make(**values)

    def _unknown(self, name: str, prefix: str) -> Refusal:
        path, near = prefix + _shown(name), nearest(name, self._known)
        if near is not None:
            hint = f"Did you mean {prefix}{near}?"
        else:
            hint = f"Supported: {', '.join(prefix + field.name for field in self.fields)}."
        return invalid(path, f"{path} is not supported. {hint}")

    def schema(self) -> Schema:
        properties = {}
        for field in self.fields:
            schema = dict(field.schema)
            if not field.required and field.null_allowed and isinstance(schema.get("type"), str):
                schema["type"] = [schema["type"], "null"]
                if "enum" in schema:
                    schema["enum"] = [*schema["enum"], None]
            properties[field.name] = schema
        shown: Schema = {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
        }
        if required := [field.name for field in self.fields if field.required]:
            shown["required"] = required
        return shown | self._rule


class Query(Generic[T]):
    """The parameters of an operation; others are ignored. An array is refused with `code`."""

    def __init__(
        self, make: Callable[..., T], *fields: Field, code: RefusalCode = "invalid_request"
    ) -> None:
        check_fields(make, fields)
        self._make = make
        self._code = code
        self.fields = {field.name: field for field in fields}
        self._required = [field.name for field in fields if field.required]

    def read(self, given: Parameters) -> T | Refusal:
        values: dict[str, object] = {}
        for name, value in given:
            base, bracket, _ = name.partition("[")
            field = self.fields.get(base)
            if field is None:
                continue
            if bracket or base in values:
                message = f"{base} must be given once, not as an array."
                return refuse(self._code, message, field=base)
            checked = values[base] = field.read(value, base)
            if isinstance(checked, Refusal):
                return checked
        values = {name: value for name, value in values.items() if value is not None}
        for name in self._required:
            if name not in values:
                return invalid(name, f"{name} is required.")
        return self._make(**values)


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that a misspelt one was probably meant to be."""
    if len(name) > LONGEST_COMPARED:
        return None
    return next(iter(get_close_matches(name.lower(), known, 1, _CLOSE)), None)


def _shown(name: str) -> str:
    """A field name of any length, short enough for an error."""
    return name if len(name) <= 60 else name[:60] + "…"


# Characters that take no room: Unicode's Default_Ignorable_Code_Point.
_INVISIBLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
)
_BEYOND_16_BITS = r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
_BLANK = re.compile(rf"[\s{_INVISIBLE}{_BEYOND_16_BITS}]*+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def text_of(value: object, name: str) -> str | Refusal:
    if not isinstance(value, str):
        return invalid(name, f"{name} must be a string.")
    if "\0" in value:
        return invalid(name, f"{name} must not contain NUL.")
    if not value.isascii() and _SURROGATE.search(value):  # in a query: bytes that are no UTF-8
        return invalid(name, f"{name} is not valid UTF-8.")
    return value


def trim(text: str) -> str:
    """The text without the whitespace around it; empty if nothing in it can be seen."""
    trimmed = text.strip()
    # Of ASCII, `strip` has removed all that is blank: nearly every text needs no other look.
    return "" if not trimmed.isascii() and _BLANK.fullmatch(trimmed) else trimmed


def text(
    name: str,
    longest: int,
    *,
    required: bool = False,
    pattern: re.Pattern[str] | None = None,
    charset: str = "",
) -> Field:
    """Trimmed text of limited length; a blank optional text is the same as none."""

    def read(value: object, path: str) -> str | Refusal | None:
        checked = text_of(value, path)
        if isinstance(checked, Refusal):
            return checked
        trimmed = trim(checked)
        if not trimmed:
            return invalid(path, f"{path} must not be blank.") if required else None
        if len(trimmed) > longest:
            return invalid(path, f"{path} must be at most {longest} characters.")
        if pattern is not None and not pattern.fullmatch(trimmed):
            return invalid(path, f"{path} may contain only {charset}.")
        return trimmed

    schema: Schema = {"type": "string", "maxLength": longest}
    if required:
        schema |= {"minLength": 1, "pattern": rf"[^\s{_INVISIBLE}]"}  # not blank
    if pattern is not None:
        schema["pattern"] = f"^({pattern.pattern})?$"
        schema["description"] = f"May contain only {charset}."
    return Field(name, read, schema, required)


def integer(name: str, low: int, high: int, *, required: bool = False) -> Field:
    def read(value: object, path: str) -> int | Refusal:
        # bool is an int in Python but not in JSON.
        if type(value) is int and low <= value <= high:
            return value
        if type(value) in (int, LongInteger):
            return invalid(path, f"{path} must be between {low} and {high}.")
        return invalid(path, f"{path} must be an integer.")

    schema = {"type": "integer", "format": "int64", "minimum": low, "maximum": high}
    return Field(name, read, schema, required)


def amount(name: str, low: int, high: int, *, required: bool = False) -> Field:
    """Money: an integer of laari. The refusal explains how to write rufiyaa."""
    whole = integer(name, low, high, required=required)

    def read(value: object, path: str) -> object:
        refusal = whole.read(value, path)
        if not isinstance(refusal, Refusal):
            return refusal
        wrong = refusal.message.removesuffix(".")
        return invalid(path, f"{wrong}, in laari: 12550 is MVR 125.50.")

    return replace(whole, read=read)


def boolean(name: str) -> Field:
    def read(value: object, path: str) -> bool | Refusal:
        return value if isinstance(value, bool) else invalid(path, f"{path} must be true or false.")

    return Field(name, read, {"type": "boolean"})


def choice(name: str, values: tuple[str, ...], *, required: bool = False) -> Field:
    def read(value: object, path: str) -> str | Refusal:
        if isinstance(value, str) and value in values:
            return value
        return invalid(path, f"{path} must be one of: {', '.join(values)}.")

    return Field(name, read, {"type": "string", "enum": list(values)}, required)


def timestamp(name: str) -> Field:
    """A deadline in whole seconds, as it will be shown."""

    def read(value: object, path: str) -> object:
        moment = read_timestamp(value.strip()) if isinstance(value, str) else None
        if moment is None:
            return invalid(path, f"{path} must be an RFC 3339 date or timestamp.")
        if moment > LAST_SHOWN:
            return invalid(path, f"{path} must be before the year 10000.")
        return moment.replace(microsecond=0)

    schema = {
        "type": "string",
        "format": "date-time",
        "description": "RFC 3339; the default offset is +05:00.",
    }
    return Field(name, read, schema)


def web_address(name: str, longest: int, *, count_bytes: bool = True) -> Field:
    """An absolute http or https URL without credentials; only trimmed."""

    def read(value: object, path: str) -> str | Refusal | None:
        checked = text_of(value, path)
        if isinstance(checked, Refusal):
            return checked
        trimmed = trim(checked)
        if not trimmed:
            return None
        if (len(trimmed.encode()) if count_bytes else len(trimmed)) > longest:
            unit = "bytes" if count_bytes else "characters"
            return invalid(path, f"{path} must be at most {longest} {unit}.")
        if not is_web_address(trimmed):
            return invalid(
                path, f"{path} must be an absolute http or https URL without credentials."
            )
        return trimmed

    schema = {
        "type": "string",
        "format": "uri",
        "maxLength": longest,
        "description": "An absolute http or https URL without credentials.",
    }
    return Field(name, read, schema)


def text_map(name: str, *, entries: int, longest_key: int, longest_value: int) -> Field:
    """An object of strings, untrimmed; returned as its JSON text, keys in the order sent."""

    def read(value: object, path: str) -> str | Refusal:
        if not isinstance(value, dict):
            return invalid(path, f"{path} must be an object of strings.")
        if len(value) > entries:
            return invalid(path, f"{path} must have at most {entries} entries.")
        for key, held in value.items():
            if not 1 <= len(key) <= longest_key or "\0" in key:
                return invalid(path, f"{path} keys must have 1 to {longest_key} characters.")
            checked = text_of(held, f"{path}.{key}")
            if isinstance(checked, Refusal):
                return checked
            if len(checked) > longest_value:
                return invalid(
                    f"{path}.{key}", f"{path} values must be at most {longest_value} characters."
                )
        return msgspec.json.encode(value).decode()

    schema = {
        "type": "object",
        "maxProperties": entries,
        "propertyNames": {"minLength": 1, "maxLength": longest_key},
        "additionalProperties": {"type": "string", "maxLength": longest_value},
    }
    return Field(name, read, schema, null_allowed=False)


def group(
    name: str,
    *fields: Field,
    prefix: str = "",
    required: bool = False,
    rule: Schema | None = None,
) -> Field:
    """An object: its fields become arguments of the whole body, with the prefix."""
    body = Body(lambda **held: held, *fields, rule=rule)
    arguments = {
        prefix + held: required and always
        for field in fields
        for held, always in field.arguments.items()
    }

    def read(value: object, path: str) -> object:
        if not isinstance(value, dict):
            return invalid(path, f"{path} must be an object.")
        held = body.read(value, f"{path}.")
        if isinstance(held, Refusal):
            return held
        return {prefix + name: each for name, each in held.items()}

    return Field(name, read, body.schema(), required, group=arguments)


NO_BODY: Body[None] = Body(lambda: None)  # of an operation that reads none
NO_QUERY: Query[None] = Query(lambda: None)
