"""Numbers and lists in the documentation are those of the program."""

import re
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest

from laari.edge.input import strict_json
from laari.edge.load import admission
from laari.edge.merchant import app as merchant_app
from laari.edge.merchant import envelope, lists, oauth
from laari.edge.pages import cookies, request, routes
from laari.http import head
from laari.rules import terms
from laari.rules.banking import bank_accounts, bank_statement
from laari.rules.banking import payouts as banking_payouts
from laari.rules.events import EVENTS
from laari.rules.payments import refunds
from laari.rules.records.payouts import PayoutStatus
from laari.spine import engine
from laari.store.ledger.sealed_rows import SUBJECTS
from laari.store.people.passwords import NICENESS
from laari.workers.webhooks import answer, sender

DOCS = Path(__file__).parents[1] / "docs"
KIB = 1024

WORDS = {10: "ten", 30: "thirty"}


def _hours(duration: timedelta) -> int:
    return int(duration / timedelta(hours=1))


_PERSON, _EVERYWHERE = terms.PASSWORDS_PER_PERSON, terms.PASSWORDS_PER_PERSON_EVERYWHERE
_ADDRESS = terms.PASSWORDS_PER_ADDRESS

# By page: what it says, made from the constants.
SENTENCES = {
    "decisions.md": [
        f"nesting deeper than {strict_json.MAX_DEPTH}",
        f"More than {envelope.MAX_BODY_BYTES // KIB} KiB: 400 `request_too_large`.",
        f"More than {strict_json.MAX_VALUES} values: 400",
        f"{terms.MERCHANT_RATE_LIVE} requests a second live, {terms.MERCHANT_RATE_SANDBOX} in the",
        f"Each {merchant_app.BODY_BYTES_OF_A_REQUEST // KIB} KiB of body and "
        f"{merchant_app.BYTES_OF_A_REQUEST // KIB} KiB of response",
        f"At most {cookies.MOST_COOKIES} cookies",
        f"A form has at most {request.MAX_FIELDS} fields and {routes.MAX_FORM_BYTES // KIB} KiB "
        f"(token endpoint: {oauth.MAX_BODY_BYTES // KIB} KiB)",
        f"more than {head.MAX_TARGET_BYTES:,} bytes of path and query, "
        f"{head.MAX_PARAMETERS} parameters",
        f"per identity and address {WORDS[_PERSON.burst]}, then one in {_PERSON.seconds:g} "
        f"seconds; per identity {_EVERYWHERE.burst}, then one in {WORDS[int(_EVERYWHERE.seconds)]} "
        f"seconds; per address {_ADDRESS.burst}, then one a second",
        f"{WORDS[terms.TOKEN_FAILURES_PER_MINUTE]} a minute per client and address",
        f"Issued tokens: {terms.TOKENS_PER_MINUTE} a minute per client",
        f"{WORDS[terms.RECIPIENT_MISSES_PER_MINUTE]} a minute per merchant",
        f"waits for {_hours(bank_accounts.DELAY)} hours, the first one too",
    ],
    "guides/errors.md": [
        f"more than {strict_json.MAX_DEPTH} levels",
        f"The body exceeds {envelope.MAX_BODY_BYTES // KIB} KiB.",
        f"paid more than {refunds.REFUNDABLE_FOR.days} days ago, or refunded "
        f"{refunds.MOST_REFUNDS} times",
        f"Tokens expire after {_hours(terms.ACCESS_TOKEN_LIFE)} hours.",
        f"{terms.MERCHANT_RATE_LIVE} requests a second live, {terms.MERCHANT_RATE_SANDBOX} in the",
    ],
    "guides/refunds-and-payouts.md": [
        f"A payment can have {refunds.MOST_REFUNDS} refunds, within {refunds.REFUNDABLE_FOR.days} "
        "days.",
        f"?limit={lists.MAX_LIMIT}",
    ],
    "guides/webhooks.md": [f"within {answer.TIMEOUT_SECONDS:g} seconds"],
    "operations.md": [
        f"A process handles {admission.MAX_IN_FLIGHT:,} requests at a time and queues "
        f"{engine.MAX_WAITING:,} write commands.",
        f"A reply is read up to {sender.MAX_READ_BYTES // KIB} KiB.",
        f"(nice {NICENESS}, 64 MiB)",
        f"It works once, for {int(terms.PASSWORD_LINK_LIFE / timedelta(minutes=1))} minutes.",
        f"at most {terms.INVITATIONS_A_DAY} invitations in 24 hours",
    ],
    "people.md": [f"works once, for {_hours(terms.INVITATION_LIFE)} hours"],
    "payouts.md": [
        f"A run has at most {banking_payouts.MOST_IN_A_RUN:,} payouts.",
        f"of up to {bank_statement.MAX_BYTES // KIB // KIB} MiB and "
        f"{bank_statement.MAX_LINES:,} lines",
        f"waits for {_hours(bank_accounts.DELAY)} hours",
    ],
    "testing-your-shop.md": [f"may create {terms.SANDBOX_SIGNUPS_PER_MINUTE} a minute"],
}


@pytest.mark.parametrize("page", SENTENCES)
def test_a_page_has_the_numbers_of_the_program(page: str) -> None:
    text = " ".join((DOCS / page).read_text("utf-8").split())
    assert [each for each in SENTENCES[page] if each not in text] == []


def test_the_tiers_of_the_decisions_are_those_of_a_new_installation() -> None:
    text = " ".join((DOCS / "decisions.md").read_text("utf-8").split())
    for name in ("basic", "verified"):
        limits = [limit for limit in terms.DEFAULT_TIERS[name] if limit is not None]
        assert f"{name} {'/'.join(f'{limit // 100:,}' for limit in limits)};" in text
    assert set(terms.DEFAULT_TIERS["business"]) == {None}
    assert "business unlimited." in text


def test_the_audit_page_names_the_sealed_tables() -> None:
    text = (DOCS / "audit.md").read_text("utf-8")
    sentence = text.partition("append-only and sealed:")[2].partition(". Other rows")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == set(SUBJECTS)


def test_the_webhook_guide_lists_every_event() -> None:
    text = (DOCS / "guides/webhooks.md").read_text("utf-8")
    section = text.partition("\n- `payment.created`")
    listed, group = set(), ""
    for line in (section[1] + section[2]).partition("\n\n")[0].splitlines():
        for name in re.findall(r"`([a-z_]*\.[a-z]+)`", line.partition(":")[0]):
            group = name.partition(".")[0] or group
            listed.add(f"{group}.{name.partition('.')[2]}")
    assert listed == set(EVENTS)


def test_the_lifecycle_of_a_payout_in_the_guide() -> None:
    text = " ".join((DOCS / "guides/refunds-and-payouts.md").read_text("utf-8").split())
    sentence = text.partition("A payout is ")[2].partition(".")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == set(get_args(PayoutStatus)) - {"cancelled"}
