"""One call of one operation: what is sent is made once and stays the same in every attempt."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, TypeVar
from urllib.parse import quote, urlencode

from laari_client._errors import ConfigurationError, InvalidResponseError

T = TypeVar("T")

Headers = Tuple[Tuple[str, str], ...]

_KEY = re.compile(r"[!-~]{1,255}")  # printable ASCII without spaces, as the service wants it


@dataclass(frozen=True)
class Operation:
    """`repeatable`: the same request sent twice has the effect and the answer of one."""

    name: str
    method: str
    path: str
    audience: str  # whose credentials: merchant, wallet, or public for none
    keyed: bool  # takes an Idempotency-Key
    repeatable: bool
    cursor: str = ""  # the parameter for the next page, where it lists
    binary: bool = False


@dataclass(frozen=True)
class Call:
    operation: Operation
    id: Optional[str] = None
    query: Optional[Mapping[str, Any]] = None
    body: Optional[Mapping[str, Any]] = None
    key: Optional[str] = None

    def prepared(self, cursor: Optional[str] = None) -> Prepared:
        operation = self.operation
        path = operation.path
        if "{id}" in path:
            path = path.replace("{id}", _segment(self.id))
        query = sendable(self.query or {})
        if cursor is not None:
            query[operation.cursor] = cursor
        if query:
            path = f"{path}?{urlencode([(name, _word(each)) for name, each in query.items()])}"
        headers: List[Tuple[str, str]] = []
        content = None
        if self.body is not None:
            content = json.dumps(sendable(self.body), ensure_ascii=False).encode()
            headers.append(("Content-Type", "application/json"))
        if operation.keyed:
            headers.append(("Idempotency-Key", _checked_key(self.key)))
        return Prepared(operation, path, tuple(headers), content)


@dataclass(frozen=True)
class Prepared:
    operation: Operation
    target: str  # path and query, from the service's address on
    headers: Headers
    content: Optional[bytes]


def _checked_key(key: Optional[str]) -> str:
    if key is None:
        return str(uuid.uuid4())
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ConfigurationError(
            "An idempotency key is 1 to 255 printable ASCII characters without spaces."
        )
    return key


def _segment(value: Optional[str]) -> str:
    """An id as one segment of a path, whatever it contains."""
    if not isinstance(value, str) or not value.strip() or value in (".", ".."):
        raise ConfigurationError("An id must be the string that the service returned.")
    return quote(value, safe="")


def sendable(values: Mapping[str, Any]) -> Dict[str, Any]:
    """What is None is left out, at every depth; moments are written as RFC 3339."""
    return {name: _value(each) for name, each in values.items() if each is not None}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ConfigurationError("A datetime needs a time zone.")
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return sendable(value) if isinstance(value, Mapping) else value


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def many(read: Callable[[Any], T]) -> Callable[[Any], List[T]]:
    """Reads an array of what the function reads."""

    def read_all(value: Any) -> List[T]:
        if not isinstance(value, list):
            raise InvalidResponseError(
                "The answer cannot be read: data is not an array.", code="invalid_response"
            )
        return [read(each) for each in value]

    return read_all
