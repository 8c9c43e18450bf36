"""Every kind of message goes through a real SMTP server and tells all that its cause stored."""

from datetime import datetime
from string import Formatter
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields

from laari.rules.messages import CONTENTS
from laari.rules.records.messages import Language
from laari.workers.messages.smtp import Mailer
from laari.workers.messages.texts import TEXTS
from tests.messages.outbox import FROM, NOW, Mailbox, leased, mail_server

CONTACT = "3300000"
AMOUNT = 125_000


def example(kind: type[Struct]) -> Struct:
    """A content whose values are told apart by their names."""
    values: dict[type, Any] = {datetime: NOW, int: AMOUNT}
    given = {each.name: values.get(each.type, f"its-{each.name}") for each in fields(kind)}
    return kind(**given)


def told(name: str, content: Struct, language: Language) -> str:
    """How a text shows a value."""
    value = CONTACT if name == "contact" else getattr(content, name)
    if isinstance(value, datetime):
        return f"1 {TEXTS[language]['month']['7']} 2027, 14:30"
    return "MVR 1,250.00" if value == AMOUNT else str(value)


@pytest.mark.parametrize("language", ["en", "dv"])
async def test_every_kind_of_email_arrives_with_its_values(language: Language) -> None:
    mailbox, kinds = Mailbox(), [kind for kind in CONTENTS if "email" in TEXTS[language][kind]]
    async with mail_server(mailbox) as server:
        mailer = Mailer(server, FROM, contact=CONTACT)
        for kind in kinds:
            await mailer.send(leased(example(CONTENTS[kind]), kind, language=language))
    assert len(mailbox.received) == len(kinds) > 40
    for kind, email in zip(kinds, mailbox.received, strict=True):
        text = f"{email['Subject']} {email.get_content()}"
        parts = (TEXTS[language][kind][part] for part in ("subject", "email"))
        used = {name for part in parts for _, name, _, _ in Formatter().parse(part) if name}
        assert email["Subject"], kind
        assert not set("{}") & set(text), kind
        for name in used:
            assert told(name, example(CONTENTS[kind]), language) in text, (kind, name)
