"""What a response holds that only the service can choose."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unknown:
    """Chosen by the service: bound when first seen, the same ever after."""

    key: tuple[object, ...]
    pattern: str
    alone: bool = True  # no two of them are the same


@dataclass(frozen=True)
class AnyText:
    """Words for people: there, and not compared."""


@dataclass(frozen=True)
class Mvr:
    """An exact number in MVR."""

    laari: int


ANY_TEXT = AnyText()
_PREFIXES = {
    "payment": "pay",
    "refund": "rfd",
    "payout": "po",
    "request": "prq",
    "authorization": "auth",
    "event": "evt",
}


def id_of(name: tuple[str, int]) -> Unknown:
    return Unknown((*name, "id"), f"{_PREFIXES[name[0]]}_[0-9a-f]{{32}}")


def tid_of(call: int) -> Unknown:
    return Unknown(("tid", call), "[0-9A-Z]{16}")


def link_of(name: tuple[str, int], path: str) -> Unknown:
    return Unknown((*name, path), rf"http://[^/]+{path}[A-Za-z0-9_-]{{24}}")


def cursor_of(call: int) -> Unknown:
    return Unknown(("cursor", call), r"\S+", alone=False)
