"""The texts of messages: both languages whole, values as pages write them, nothing injected."""

import tomllib
from email import message_from_bytes, policy
from pathlib import Path
from string import Formatter

import pytest
from msgspec.structs import replace

from laari.edge.pages import language
from laari.rules.messages import CONTENTS, FreezeContent, ReceiptContent
from laari.rules.records.messages import Language
from laari.workers.messages.delivery import NotSent
from laari.workers.messages.smtp import compose
from laari.workers.messages.texts import TEXTS, write
from tests.messages.outbox import CONTENT, FROM, LINK, NOW, leased

RECEIPT = ReceiptContent("Payment to Seagull", 5, "Tea", NOW, "0123456789ABCDEF", LINK)


def braces(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_both_languages_have_the_same_texts_and_values() -> None:
    english, dhivehi = (
        {
            (kind, part): braces(text)
            for kind, parts in texts.items()
            for part, text in parts.items()
        }
        for texts in (TEXTS["en"], TEXTS["dv"])
    )
    assert english == dhivehi


def test_a_text_uses_only_values_that_its_cause_stores() -> None:
    for texts in TEXTS.values():
        assert texts.keys() - {"month", "contact"} == CONTENTS.keys()
        for kind, content in CONTENTS.items():
            used = set().union(*map(braces, texts[kind].values()))
            assert used - {"contact"} == set(content.__struct_fields__)


def test_every_notice_that_asks_to_object_says_whom_to_contact() -> None:
    frozen = leased(FreezeContent(NOW), "wallet_frozen")
    assert "Contact 3300000." in write(frozen, "sms", "3300000")
    assert "Contact your wallet provider." in write(frozen, "sms")
    assert "3300000" in compose(frozen, FROM, "3300000").get_content()


@pytest.mark.parametrize("code", ["en", "dv"])
def test_months_have_the_names_that_pages_use(code: str) -> None:
    pages = Path(language.__file__).parent / "messages" / f"{code}.toml"
    assert TEXTS[code]["month"] == tomllib.loads(pages.read_text(encoding="utf-8"))["month"]


def test_a_payment_request_in_english() -> None:
    message = leased()
    assert write(message, "subject") == "Seagull Café asks you to pay MVR 1,250.00"
    assert write(message, "email") == (
        "Seagull Café asks you to pay MVR 1,250.00\n\nTwo coffees\n"
        f"Pay before: 1 July 2027, 14:30\n\nPay or decline in your wallet:\n{LINK}\n"
    )
    assert write(message, "sms") == (
        "Seagull Café asks you to pay MVR 1,250.00: Two coffees. "
        f"Pay before 1 July 2027, 14:30: {LINK}"
    )


@pytest.mark.parametrize("code", ["en", "dv"])
def test_a_receipt_names_everything(code: Language) -> None:
    text = write(leased(RECEIPT, "receipt", language=code), "email")
    for value in ("Payment to Seagull", "MVR 0.05", "Tea", "14:30", "0123456789ABCDEF", LINK):
        assert value in text


def test_a_long_title_does_not_make_a_long_sms() -> None:
    content = replace(CONTENT, merchant="M" * 300, title="T" * 255)
    assert len(write(leased(content), "sms")) < 60 + 60 + 150
    assert LINK in write(leased(content), "sms")


def test_the_headers_of_an_email() -> None:
    message = leased(language="dv")
    email = message_from_bytes(compose(message, FROM).as_bytes(), policy=policy.default)
    assert email["From"] == FROM
    assert email["To"] == "aisha@example.mv"
    assert email["Subject"] == write(message, "subject")
    assert email["Date"].datetime == NOW
    assert email["Message-ID"] == f"<msg_{message.id.hex}@example.com>"
    assert email["Auto-Submitted"] == "auto-generated"
    assert email.get_content_type() == "text/plain"
    assert email.get_content().splitlines() == write(message, "email").splitlines()


def test_an_email_has_only_ascii_and_short_lines() -> None:
    content = replace(CONTENT, title="ރުފިޔާ " * 40)
    sent = compose(leased(content, language="dv"), FROM).as_bytes()
    assert sent.isascii()
    assert max(map(len, sent.split(b"\r\n"))) < 100


@pytest.mark.parametrize(
    "name",
    [
        "Shop\r\nBcc: everybody@example.com",
        "Shop\nBcc: everybody@example.com",
        "Shop\rBcc: everybody@example.com",
        "Shop\x0bBcc: x\x85Bcc: y\u2028Bcc: z\u2029Bcc: w\x00",
        "Shop =?utf-8?q?=0ABcc=3A_everybody=40example=2Ecom?=",
        "{link}{0}{merchant.__class__}",
        "Shop\r\n\r\n<html>",
        "S" * 5000,
        "\u202eShop\u2066",
    ],
)
def test_no_name_adds_a_header_or_a_line(name: str) -> None:
    harmless = compose(leased(), FROM)
    message = leased(replace(CONTENT, merchant=name, title=name))
    email = message_from_bytes(compose(message, FROM).as_bytes(), policy=policy.default)
    assert sorted(email.keys()) == sorted(harmless.keys())
    assert email["To"] == "aisha@example.mv"
    assert len(email["Subject"].splitlines()) == 1
    assert len(email.get_content().splitlines()) == len(harmless.get_content().splitlines())
    assert "\u202e" not in email.get_content()


@pytest.mark.parametrize(
    "recipient",
    ["a@b@c", "aisha@example.mv,eve@example.com", "ޢާއިޝާ@example.mv", "a\r\nRCPT@b", "<a@b>", "@b"],
)
def test_an_address_that_email_cannot_reach_is_refused_for_good(recipient: str) -> None:
    with pytest.raises(NotSent) as refused:
        compose(leased(recipient=recipient), FROM)
    assert refused.value.permanent
