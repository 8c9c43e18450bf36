"""Reading JSON into models: strict about what is needed, indifferent to what is new."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Callable, Dict, List, NoReturn, Optional, Set, TypeVar

from laari_client._errors import InvalidResponseError

T = TypeVar("T")

# Python 3.9 reads no `Z`, and fractions of three or six digits only.
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:([Zz])|([+-]\d\d:\d\d))", re.ASCII
)


def parse_json(content: bytes) -> Any:
    """Numbers are exact: integers of any size, and decimals. ValueError if it is no JSON."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number of JSON")

    try:
        return json.loads(content.decode(), parse_float=Decimal, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


class Fields:
    """The members of one object, each read once."""

    def __init__(self, name: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise _unreadable(f"{name} is not an object")
        self._name = name
        self._value: Dict[str, Any] = value
        self._read: Set[str] = set()

    def take(self, name: str, read: Callable[[Any], T]) -> T:
        self._read.add(name)
        if name not in self._value:
            raise _unreadable(f"{self._name} has no {name}")
        try:
            return read(self._value[name])
        except (TypeError, ValueError):
            raise _unreadable(f"{name} of {self._name} has the wrong form") from None

    def maybe(self, name: str, read: Callable[[Any], T]) -> Optional[T]:
        self._read.add(name)
        return None if self._value.get(name) is None else self.take(name, read)

    def rest(self) -> Dict[str, Any]:
        """What nobody has asked for: fields that are newer than this client."""
        return {name: each for name, each in self._value.items() if name not in self._read}


def _unreadable(what: str) -> InvalidResponseError:
    return InvalidResponseError(f"The answer cannot be read: {what}.", code="invalid_response")


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def event_type(value: Any) -> Any:
    """A text; what reads the event has looked up that it is one of its types."""
    return text(value)


def integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(integer(value))


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def moment(value: Any) -> datetime:
    match = _MOMENT.fullmatch(text(value))
    if match is None:
        raise ValueError
    day, time, fraction, utc, offset = match.groups()
    micro = f".{fraction[:6]:0<6}" if fraction else ""
    return datetime.fromisoformat(f"{day}T{time}{micro}{'+00:00' if utc else offset}")


def texts(value: Any) -> Dict[str, str]:
    if not isinstance(value, dict):
        raise TypeError
    return {name: text(each) for name, each in value.items()}


def listed(read: Callable[[Any], T]) -> Callable[[Any], List[T]]:
    def every(value: Any) -> List[T]:
        if not isinstance(value, list):
            raise TypeError
        return [read(each) for each in value]

    return every


def anything(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class UnknownEvent:
    """An event of a type that is newer than this client."""

    id: str
    type: str
    payload_version: int
    mode: str
    created_at: datetime
    data: Any
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> UnknownEvent:
        """Reads it from parsed JSON."""
        fields = Fields("Event", value)
        return cls(
            id=fields.take("id", text),
            type=fields.take("type", text),
            payload_version=fields.take("payload_version", integer),
            mode=fields.take("mode", text),
            created_at=fields.take("created_at", moment),
            data=fields.take("data", anything),
            unknown_fields=fields.rest(),
        )
