"""What `listen` and `trigger` need from a program: the service, a receiver and a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

Json = dict[str, Any]


class ShopError(Exception):
    """An error of one line for the developer."""


class RefusedError(ShopError):
    """The service refused a call."""

    def __init__(self, message: str, code: object) -> None:
        super().__init__(message)
        self.code = code


class AwayError(ShopError):
    """The service cannot be reached or cannot answer now."""

    def __init__(self, message: str, wait_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class Service(Protocol):
    """The merchant interface of a service, with a merchant's key.

    An answer is a JSON object with `data`. Anything else raises `RefusedError` or `AwayError`.
    """

    @property
    def url(self) -> str: ...

    def get(self, path: str, **query: str) -> Json: ...

    def post(self, path: str, body: Json | None = None) -> Json: ...


class Answer(NamedTuple):
    """A receiver's answer, or an error if there was none."""

    status: int | None
    error: str | None
    text: str | None
    duration_ms: int


class Receiver(NamedTuple):
    """The developer's program, which gets the events."""

    target: str
    signer: str  # the secret's name for the developer, such as "your secret key"
    send: Callable[[bytes], Answer]  # signs and posts a body


class Part(NamedTuple):
    """A part of a line; its text may be untrusted."""

    text: str
    colour: str | None = None  # a name of click's colours
    whole: bool = False  # omitted if it does not fit, such as an id


class Screen(Protocol):
    def say(self, text: str) -> None: ...

    def say_line(self, parts: Sequence[Part]) -> None: ...

    def say_json(self, value: Json) -> None: ...

    def say_meanwhile(self, text: str) -> None:
        """Shows the current step on a terminal, until the next line replaces it."""

    def complain(self, message: str) -> None: ...
