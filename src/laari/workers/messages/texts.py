"""The texts of messages, written from the values that their causes have stored."""

import tomllib
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from laari.rules.calendar import MALDIVES
from laari.rules.messages import CONTENTS
from laari.rules.money import money_text
from laari.store.outbox.messages import LeasedMessage

Part: TypeAlias = Literal["subject", "email", "sms"]

MOST_IN_SMS = 60  # characters of a name or title: a long SMS is sent, and paid for, in pieces
MOST_IN_EMAIL = 255

TEXTS: dict[str, dict[str, dict[str, str]]] = {
    code: tomllib.loads(Path(__file__).with_name(f"{code}.toml").read_text(encoding="utf-8"))
    for code in ("en", "dv")
}


def write(message: LeasedMessage, part: Part, contact: str | None = None) -> str:
    """One part of the message in its language; `contact` is whom people call."""
    texts = TEXTS[message.language]
    content = msgspec.json.decode(message.parameters, type=CONTENTS[message.kind])
    most = MOST_IN_SMS if part == "sms" else MOST_IN_EMAIL
    values = {
        name: value if name == "link" else _shown(value, texts["month"])[:most]
        for name, value in msgspec.structs.asdict(content).items()
    }
    whom = texts["contact"]["provider"] if contact is None else contact
    return texts[message.kind][part].format(contact=whom, **values)


def _shown(value: datetime | int | str, months: dict[str, str]) -> str:
    """Amounts and times as pages show them."""
    if isinstance(value, datetime):
        local = value.astimezone(MALDIVES)
        return f"{local.day} {months[str(local.month)]} {local.year}, {local:%H:%M}"
    return one_line(money_text(value) if isinstance(value, int) else value)


def one_line(text: str) -> str:
    """Untrusted text without line ends, which could begin a header, and other controls."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
