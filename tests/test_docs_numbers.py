"""Numbers and lists in the documentation are those of the program."""

import re
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest

from laari.edge import backend
from laari.edge.input import strict_json
from laari.edge.load import admission, hashing, heavy, live
from laari.edge.merchant import app as merchant_app
from laari.edge.merchant import lists
from laari.edge.pages import cookies, request
from laari.engine import wal_archive
from laari.http import head
from laari.http.connection_limits import Limits
from laari.process import heartbeat, supervisor
from laari.rules.banking import bank_accounts, bank_statement
from laari.rules.banking import payouts as banking_payouts
from laari.rules.events import EVENTS
from laari.rules.journal import SETTINGS
from laari.rules.limits import bodies, payments
from laari.rules.limits.default_tiers import DEFAULT_TIERS
from laari.rules.limits.invitations import INVITATION_LIFE, INVITATIONS_A_DAY
from laari.rules.limits.keys_and_rates import (
    ACCESS_TOKEN_LIFE,
    MERCHANT_RATE_LIVE,
    MERCHANT_RATE_SANDBOX,
    RECIPIENT_MISSES_PER_MINUTE,
    SANDBOX_SIGNUPS_PER_MINUTE,
    TOKEN_FAILURES_PER_MINUTE,
    TOKENS_PER_MINUTE,
    WALLET_WINDOW_SECONDS,
)
from laari.rules.limits.messages import (
    EMAILS_OF_A_KIND,
    MOST_OF_A_MERCHANT,
    RECEIPTS_A_DAY,
    SMS_OF_A_BUSY_KIND,
    SMS_OF_A_KIND,
)
from laari.rules.limits.passkeys import PASSKEY_CHALLENGE_LIFE
from laari.rules.limits.password_links import PASSWORD_LINK_LIFE
from laari.rules.limits.passwords import (
    PASSWORDS_PER_ADDRESS,
    PASSWORDS_PER_PERSON,
    PASSWORDS_PER_PERSON_EVERYWHERE,
)
from laari.rules.limits.remembered_devices import REMEMBERED_DEVICE_LIFE
from laari.rules.limits.second_person import RECENT
from laari.rules.limits.texts import OPEN_CASES
from laari.rules.limits.tills import (
    OFFLINE_DIGITS_SHOWN,
    OFFLINE_MINUTES,
    OFFLINE_TRIES,
    OFFLINE_TRIES_WITHIN,
    PAIRING_LIFE,
    REUSABLE_LINKS,
    SALE_LIFE,
    TILL_DEVICE_LIFE,
    TILL_SALES,
    TILL_SALES_PER_ADDRESS,
)
from laari.rules.records.payouts import PayoutStatus
from laari.rules.webhooks import SIGNATURE_TOLERANCE_SECONDS
from laari.spine import batches
from laari.store.batch import runner
from laari.store.counters import purge
from laari.store.ledger.sealed_rows import SUBJECTS
from laari.store.people.passwords import NICENESS
from laari.store.postgres import pool
from laari.workers import background, sealing
from laari.workers.messages import delivery as messages_sent
from laari.workers.webhooks import answer, sender
from laari.workers.webhooks.windows import WindowLimits
from tests.patience.sitecustomize import FACTOR

DOCS = Path(__file__).parents[1] / "docs"
KIB = 1024

WORDS = {
    2: "two", 3: "three", 4: "four", 5: "five", 8: "eight", 10: "ten", 15: "fifteen",
    20: "twenty", 30: "thirty",
}  # fmt: skip
SPANS = {60: "minute"}


def _hours(duration: timedelta) -> int:
    return int(duration / timedelta(hours=1))


def _seconds(deadline: float) -> float:
    """As it is outside of tests, which have more patience."""
    return deadline / FACTOR


_PERSON, _EVERYWHERE = PASSWORDS_PER_PERSON, PASSWORDS_PER_PERSON_EVERYWHERE
_ADDRESS = PASSWORDS_PER_ADDRESS
_HTTP = Limits()
_WINDOWS = WindowLimits()
_TILL, _SCANS = TILL_SALES, TILL_SALES_PER_ADDRESS
# One connection for batches; in the background two more, to lease deliveries and to record them.
_OF_INTERFACE = (
    pool.READ_CONNECTIONS
    + pool.WRITE_CONNECTIONS
    + backend.PAGE_CONNECTIONS
    + backend.PAGE_WRITERS
    + 1
)
_OF_BACKGROUND = background.CONNECTIONS + 1 + 2 * pool.WRITE_CONNECTIONS + 3


def _minutes(duration: timedelta) -> str:
    return WORDS[int(duration / timedelta(minutes=1))]


_SHARE = f"{_WINDOWS.min_window} to {_WINDOWS.max_window} of {_WINDOWS.max_in_flight} slots"
_WAITS = [seconds // 60 for seconds in messages_sent.RETRY_SECONDS]
_OFFLINE_DAY = OFFLINE_TRIES * int(timedelta(days=1) / OFFLINE_TRIES_WITHIN)

# By page: what it says, made from the constants.
SENTENCES = {
    "architecture.md": [
        f"{_seconds(runner.STATEMENT_SECONDS):g} s per statement, "
        f"{_seconds(runner.LOAD_SECONDS):g} s to load, "
        f"{_seconds(runner.COMMIT_SECONDS):g} s to commit",
        f"command in the queue: {_seconds(batches.WAIT_SECONDS):g} s; "
        f"{_seconds(batches.AWAY_WAIT_SECONDS):g} s while",
        f"{WORDS[batches.MAX_RERUNS]} reruns, "
        f"{WORDS[int(_seconds(batches.RERUN_SECONDS))]} seconds, then 503",
        f"for {WORDS[int(runner.LOOK_UP_SECONDS)]} seconds all batches look up first",
        f"The queue holds at most {batches.MAX_WAITING:,} commands.",
        f"Each tenant has {_SHARE}",
        f"A form has at most {bodies.MAX_FORM_BYTES // KIB} KiB.",
        f"for at most {WORDS[heavy.MOST_UPLOADS]} people in a process",
    ],
    "audit.md": [f"The background process seals every {WORDS[sealing.EVERY_SECONDS]} seconds"],
    "backup.md": [f"at least one a {SPANS[wal_archive.EXCHANGE_SECONDS]}"],
    "decisions.md": [
        f"nesting deeper than {strict_json.MAX_DEPTH}",
        f"More than {bodies.MAX_BODY_BYTES // KIB} KiB: 400 `request_too_large`.",
        f"More than {strict_json.MAX_VALUES} values: 400",
        f"{MERCHANT_RATE_LIVE} requests a second live, {MERCHANT_RATE_SANDBOX} in the",
        f"Each {merchant_app.BODY_BYTES_OF_A_REQUEST // KIB} KiB of body and "
        f"{merchant_app.BYTES_OF_A_REQUEST // KIB} KiB of response",
        f"At most {cookies.MOST_COOKIES} cookies",
        f"A form has at most {request.MAX_FIELDS} fields and {bodies.MAX_FORM_BYTES // KIB} KiB "
        f"(token endpoint: {bodies.MAX_TOKEN_BODY_BYTES // KIB} KiB)",
        f"more than {head.MAX_TARGET_BYTES:,} bytes of path and query, "
        f"{head.MAX_PARAMETERS} parameters",
        f"per identity and address {WORDS[_PERSON.burst]}, then one in {_PERSON.seconds:g} "
        f"seconds; per identity {_EVERYWHERE.burst}, then one in {WORDS[int(_EVERYWHERE.seconds)]} "
        f"seconds; per address {_ADDRESS.burst}, then one a second",
        f"{WORDS[TOKEN_FAILURES_PER_MINUTE]} a minute per client and address",
        f"Issued tokens: {TOKENS_PER_MINUTE} a minute per client",
        f"{WORDS[RECIPIENT_MISSES_PER_MINUTE]} a minute per merchant",
        f"waits for {_hours(bank_accounts.DELAY)} hours, the first one too",
        f"and for {RECENT.days} days at least",
        f"Over {_HTTP.head_bytes // KIB} KiB or {_HTTP.fields} fields of header",
        f"{head.MAX_ITEMS} items in `Connection` or `Transfer-Encoding`, or {_HTTP.chunks} chunks",
        f"A head has {WORDS[int(_seconds(_HTTP.head_seconds))]} seconds",
        f"waited {WORDS[int(_seconds(_HTTP.wait_seconds))]} seconds for its process is 503",
        f"Idle connections close after {_HTTP.idle_seconds:g} seconds.",
        f"{_HTTP.unfinished_per_address} per address (IPv6: 64 bits), {_HTTP.unfinished:,} per",
        f"{WORDS[hashing.MOST_WAITING]} wait, at most "
        f"{WORDS[int(_seconds(hashing.LONGEST_WAIT_SECONDS))]} seconds, then 503",
        f"and {WORDS[OPEN_CASES]} at a time",
        f"within {_minutes(PASSKEY_CHALLENGE_LIFE)} minutes",
        f"for one browser at a time, for {REMEMBERED_DEVICE_LIFE.days} days",
        f"lasts {WALLET_WINDOW_SECONDS} seconds",
        f"after {_WAITS[0]}, {_WAITS[1]} and {_WAITS[2]} minutes and {_WAITS[3] // 60} hours",
    ],
    "guides/authorizations.md": [f"rejects it, within {payments.PAYMENT_LIFE_HOURS} hours"],
    "guides/checkout.md": [f"`expires_at` ({payments.PAYMENT_LIFE_HOURS} hours by default)"],
    "guides/errors.md": [
        f"more than {strict_json.MAX_DEPTH} levels",
        f"The body exceeds {bodies.MAX_BODY_BYTES // KIB} KiB.",
        f"paid more than {payments.REFUNDABLE_FOR.days} days ago, or refunded "
        f"{payments.MOST_REFUNDS} times",
        f"Approval is possible for {payments.PAYMENT_LIFE_HOURS} hours.",
        f"Tokens expire after {_hours(ACCESS_TOKEN_LIFE)} hours.",
        f"{MERCHANT_RATE_LIVE} requests a second live, {MERCHANT_RATE_SANDBOX} in the",
    ],
    "guides/refunds-and-payouts.md": [
        f"A payment can have {payments.MOST_REFUNDS} refunds, "
        f"within {payments.REFUNDABLE_FOR.days} days.",
        f"?limit={lists.MAX_LIMIT}",
    ],
    "guides/webhooks.md": [
        f"within {answer.TIMEOUT_SECONDS:g} seconds",
        f"more than {SIGNATURE_TOLERANCE_SECONDS} seconds from your clock",
    ],
    "operations.md": [
        f"A process handles {admission.MAX_IN_FLIGHT:,} requests at a time and queues "
        f"{batches.MAX_WAITING:,} write commands.",
        f"A reply is read up to {sender.MAX_READ_BYTES // KIB} KiB.",
        f"(nice {NICENESS}, 64 MiB)",
        f"It works once, for {int(PASSWORD_LINK_LIFE / timedelta(minutes=1))} minutes.",
        f"at most {INVITATIONS_A_DAY} invitations in 24 hours",
        f"after {WORDS[supervisor.FIRST_START_ATTEMPTS]} failed attempts",
        f"the limit is {_seconds(heartbeat.SILENT_SECONDS):g} seconds of silence",
        f"finish for up to {supervisor.STOP_SECONDS:g} seconds",
        f"at most {_OF_INTERFACE} database connections, the background process {_OF_BACKGROUND}.",
        f"at most {_WINDOWS.max_window} of {_WINDOWS.max_in_flight} slots, a failing one "
        f"{WORDS[_WINDOWS.min_window]}",
        f"at most {MOST_OF_A_MERCHANT['payment_request']} messages about payment requests",
        f"{MOST_OF_A_MERCHANT['refund']} each about refunds and charges; of receipts they "
        f"can ask for {RECEIPTS_A_DAY}",
        f"at most {SMS_OF_A_KIND} SMS of a kind in 24",
        f"messages about merchants {SMS_OF_A_BUSY_KIND}. An email address gets "
        f"{EMAILS_OF_A_KIND} emails of a kind",
        f"{WORDS[len(messages_sent.RETRY_SECONDS) + 1]} attempts within three hours",
        f"It has {messages_sent.ATTEMPT_SECONDS:g} s, and no `LAARI_` variables.",
        f"spreads retries over one to {WORDS[admission.LONGEST_WAIT_SECONDS]} seconds",
        f"exports per merchant and {WORDS[heavy.MOST_EXPORTS]} in total",
        f"{request.PAGES_PER_SECOND * request.PAGES_OVER_SECONDS:g} pages at once",
        f"the limit is {_HTTP.connections:,}, or open files less {_HTTP.reserved_files}",
        f"A purge deletes about {purge.MOST:,} rows per transaction",
    ],
    "operator.md": [f"An account is new for {RECENT.days} days"],
    "performance.md": [f"each opens up to {_OF_INTERFACE}"],
    "people.md": [
        f"works once, for {_hours(INVITATION_LIFE)} hours",
        f"at most {MOST_OF_A_MERCHANT['trusted_payment']} in 24 hours",
    ],
    "payouts.md": [
        f"A run has at most {banking_payouts.MOST_IN_A_RUN:,} payouts.",
        f"text of up to {bodies.MAX_UPLOADED_TEXT // KIB} KiB",
        f"of up to {bank_statement.MAX_BYTES // KIB // KIB} MiB and "
        f"{bank_statement.MAX_LINES:,} lines",
        f"waits for {_hours(bank_accounts.DELAY)} hours",
    ],
    "tills.md": [
        f"works once, for {_minutes(PAIRING_LIFE)} minutes",
        f"logged in for {WORDS[TILL_DEVICE_LIFE.days // 7]} weeks",
        f"expires after {_minutes(SALE_LIFE)} minutes",
        f"confirm {_SCANS.burst} payments at once, then one every {WORDS[int(_SCANS.seconds)]} "
        f"seconds; one till {_TILL.burst}, then one a second",
        f"at most {REUSABLE_LINKS} that nobody has ended",
        f"six digits for {_minutes(OFFLINE_DIGITS_SHOWN)} minutes",
        f"the present minute and the {WORDS[OFFLINE_MINUTES - 1]} before it",
        f"right once in {10**6 // OFFLINE_MINUTES:,}",
        f"{WORDS[OFFLINE_TRIES].capitalize()} attempts in "
        f"{_minutes(OFFLINE_TRIES_WITHIN)} minutes are {_OFFLINE_DAY} a day",
        f"At most {live.MOST_WAITING:,} requests wait in a process",
        f"one statement each {live.LOOK_SECONDS:g} seconds",
        f"{live.WAIT_SECONDS * (1 - live.SPREAD):g} to "
        f"{live.WAIT_SECONDS * (1 + live.SPREAD):g} seconds",
    ],
    "testing-your-shop.md": [f"may create {SANDBOX_SIGNUPS_PER_MINUTE} a minute"],
}


@pytest.mark.parametrize("page", SENTENCES)
def test_a_page_has_the_numbers_of_the_program(page: str) -> None:
    text = " ".join((DOCS / page).read_text("utf-8").split())
    assert [each for each in SENTENCES[page] if each not in text] == []


def test_the_tiers_of_the_decisions_are_those_of_a_new_installation() -> None:
    text = " ".join((DOCS / "decisions.md").read_text("utf-8").split())
    for name in ("basic", "verified"):
        limits = [limit for limit in DEFAULT_TIERS[name] if limit is not None]
        assert f"{name} {'/'.join(f'{limit // 100:,}' for limit in limits)};" in text
    assert set(DEFAULT_TIERS["business"]) == {None}
    assert "business unlimited." in text


def test_the_audit_page_names_the_sealed_tables() -> None:
    text = (DOCS / "audit.md").read_text("utf-8")
    sentence = text.partition("append-only and sealed:")[2].partition(". Other rows")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == set(SUBJECTS)


IRREGULAR = {
    "identity": "identity data",
    "membership": "roles",
    "oauth_client": "OAuth clients",
    "person": "people",
    "tenant": "merchants",
    "trusted_person": "trusted people",
}


def test_the_audit_page_names_every_setting_of_the_journal() -> None:
    text = " ".join((DOCS / "audit.md").read_text("utf-8").split())
    section = text.partition("**Settings of shops and people:**")[2].partition("**How they")[0]
    named = {each.strip(" -*") for each in re.split(r", | and (?!of )|:|\. ", section)}
    for setting in SETTINGS.values():
        name = setting.object_type
        plural = IRREGULAR.get(name) or name.replace("_", " ").removesuffix("s") + "s"
        assert plural in named, name


def test_the_audit_page_counts_what_is_checked() -> None:
    text = (DOCS / "audit.md").read_text("utf-8")
    number = len(re.findall(r"^\d+\. ", text.partition("\n## ")[0], re.MULTILINE))
    assert f"It checks {WORDS[number]} things" in text


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
