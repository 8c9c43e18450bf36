"""From sandbox to live: application, review, approval, fees from a day on, and a pause."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from laari.rules.calendar import local_day
from laari.rules.merchants.applications import ApproveMerchant, RefuseApplication, SubmitApplication
from laari.rules.merchants.fee_terms import StartFees
from laari.rules.records.merchants import ApplicationAnswers
from laari.store.postgres.pool import connection_to
from laari.store.reads import fees
from tests.actors import OPERATOR, change
from tests.cli.test_operator import Laari, laari  # noqa: F401  # a fixture
from tests.making import sign_up
from tests.people import RefusedError, decided

ANSWERS = {
    "legal_name": "Bodu Boat Pvt Ltd",
    "registration_number": "C-0417/2026",
    "tax_number": "1234567GST001",
    "address": "H. Sosun Magu 1, Malé",
    "bank_name": "BML",
    "bank_holder": "Bodu Boat Pvt Ltd",
    "bank_account": "7730000012345",
    "monthly_volume": 25_000_000,
    "contact": "Aisha, 7771234",
}
OPTIONS = [
    text for name, value in ANSWERS.items() for text in (f"--{name.replace('_', '-')}", str(value))
]


@pytest.fixture
async def stranger(dsn: str) -> str:
    """A merchant that signed up."""
    async with connection_to(dsn) as connection, connection.transaction():
        made = await sign_up(connection, OPERATOR, bytes(32), 10, name="Bodu Boat")
    assert made is not None
    return made.merchant.id


def test_an_application_is_reviewed_and_approved(laari: Laari, stranger: str) -> None:  # noqa: F811
    assert laari("merchant", "show", stranger, "--json").json["approved"] is False
    first = laari("application", "submit", stranger, *OPTIONS, "--json").json
    assert {name: first[name] for name in ANSWERS} == ANSWERS
    again = laari("application", "submit", stranger, *OPTIONS, "--json").json
    withdrawn = laari("application", "show", first["application_id"], "--json").json
    assert (withdrawn["status"], again["status"]) == ("withdrawn", "submitted")
    assert laari("application", "list", "--json").json == [again]
    refuse = ("application", "refuse", again["application_id"])
    assert laari(*refuse).status != 0  # needs a reason
    refused = laari(*refuse, "--reason", "The register has another name.", "--json").json
    assert (refused["status"], refused["reason"]) == ("refused", "The register has another name.")
    assert laari(*refuse, "--reason", "Again").status == 1
    third = laari("application", "submit", stranger, *OPTIONS, "--json").json
    changed = laari("merchant", "approve", stranger, "--application", again["application_id"])
    assert (changed.status, "has changed its application" in changed.err) == (1, True)
    this = ("--application", third["application_id"])
    approved = laari("merchant", "approve", stranger, *this, "--json").json
    assert (approved["approved"], approved["mode"]) == (True, "sandbox")
    shown = laari("application", "show", third["application_id"], "--json").json
    assert shown["status"] == "approved"
    for late in (
        ("merchant", "approve", stranger),
        ("application", "submit", stranger, *OPTIONS),
        ("application", "refuse", third["application_id"], "--reason", "Too late"),
    ):
        assert laari(*late).status == 1
    assert laari("merchant", "update", stranger, "--mode", "live", "--json").json["mode"] == "live"
    assert laari("audit", "--json").json["ok"] is True


def test_an_application_is_withdrawn(laari: Laari, stranger: str) -> None:  # noqa: F811
    sent = laari("application", "submit", stranger, *OPTIONS, "--json").json
    withdraw = ("application", "withdraw", stranger)
    withdrawn = laari(*withdraw, "--json").json
    assert (withdrawn["application_id"], withdrawn["status"]) == (
        sent["application_id"],
        "withdrawn",
    )
    again = laari(*withdraw)
    assert (again.status, "no open application" in again.err) == (1, True)


def test_an_approval_sets_terms_and_the_bank_account(laari: Laari, stranger: str) -> None:  # noqa: F811
    wrong = dict(zip(OPTIONS[::2], OPTIONS[1::2], strict=True)) | {"--bank-account": "MV12"}
    refused = laari("application", "submit", stranger, *sum(wrong.items(), ()))
    assert (refused.status, "4 to 20 digits" in refused.err) == (1, True)
    laari("application", "submit", stranger, *OPTIONS)
    terms = ("--max-payment", "500000", "--minimum", "10000", "--hold", "First month")
    terms += ("--fee-bps", "150")
    assert laari("merchant", "approve", stranger, *terms).status == 0
    [account] = laari("merchant", "bank", stranger, "--json").json
    assert {name: account[name] for name in ("holder", "bank", "number")} == {
        "holder": ANSWERS["bank_holder"],
        "bank": ANSWERS["bank_name"],
        "number": ANSWERS["bank_account"],
    }
    # The operator's approval takes it over, so that its owners have 48 hours to object.
    waits = datetime.fromisoformat(account["effective_at"]) - datetime.now(UTC)
    assert timedelta(hours=47) < waits <= timedelta(hours=48)
    shop = laari("merchant", "show", stranger, "--json").json
    assert (shop["fee_bps"], shop["fee_fixed"]) == (150, 0)
    found = laari("payout", "terms", stranger, "--json").json
    assert (found["minimum"], found["paused_reason"]) == (10_000, "First month")
    entries = laari("journal", "list", "--merchant", stranger, "--json").json
    actions = {entry["action"] for entry in entries}
    assert {"merchant.approve", "payout_terms.change", "bank_account.add"} <= actions
    [limit] = [each["after"] for each in entries if each["action"] == "merchant.approve"]
    assert limit["max_payment"] == "500000"
    assert laari("audit", "--json").json["ok"] is True


async def test_an_approval_does_not_alarm_the_owners_about_their_own_account(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        async with connection.transaction():
            made = await sign_up(
                connection, OPERATOR, bytes(32), 10, name="Boat", email="aisha@shop.example"
            )
        assert made is not None
        answers = ApplicationAnswers(**ANSWERS)
        await decided(connection, SubmitApplication(OPERATOR, made.merchant.id, answers))
        await decided(connection, ApproveMerchant(OPERATOR, made.merchant.id))
        assert await connection.fetchval("SELECT count(*) FROM bank_accounts") == 1
        assert await connection.fetchval("SELECT count(*) FROM messages") == 0


def test_a_switch_to_live_on_the_command_line_approves(laari: Laari, stranger: str) -> None:  # noqa: F811
    assert laari("merchant", "update", stranger, "--mode", "live", "--json").json["mode"] == "live"
    assert laari("merchant", "show", stranger, "--json").json["approved"] is True


def test_two_approvals_at_once_make_one_live_side(dsn: str, stranger: str) -> None:
    async def approve() -> bool:
        async with connection_to(dsn) as connection:
            try:
                await decided(connection, ApproveMerchant(OPERATOR, stranger))
            except RefusedError:
                return False
            return True

    async def approve_all() -> list[bool]:
        return await asyncio.gather(*(approve() for _ in range(8)))

    assert sum(asyncio.run(approve_all())) == 1


def test_fees_begin_on_a_day_and_keep_their_history(
    laari: Laari,  # noqa: F811
    dsn: str,
    stranger: str,
) -> None:
    tomorrow = local_day(datetime.now(UTC)) + timedelta(days=1)
    set_fees = ("merchant", "set-fees", stranger)
    laari(*set_fees, "--bps", "150", "--fixed", "100")
    laari(*set_fees, "--bps", "90", "--fixed", "0", "--from", str(tomorrow))
    listed = laari(*set_fees, "--bps", "80", "--fixed", "0", "--from", str(tomorrow), "--json").json
    assert [(each["fee_bps"], each["scheduled"]) for each in listed] == [
        (80, True),
        (150, False),
        (0, False),
    ]
    assert listed[0]["since"] == f"{tomorrow}T00:00:00+05:00"
    assert laari("merchant", "show", stranger, "--json").json["fee_bps"] == 150

    async def begin() -> list[list[tuple[str, datetime]]]:
        async with connection_to(dsn) as connection:
            early = await fees.due(connection, datetime.now(UTC), 9)
            await change(connection, "UPDATE scheduled_fees SET starts_at = now()")
            [due] = await fees.due(connection, datetime.now(UTC), 9)
            await decided(connection, StartFees(*due))
            return [early, await fees.due(connection, datetime.now(UTC), 9)]

    assert asyncio.run(begin()) == [[], []]
    listed = laari("merchant", "fees", stranger, "--json").json
    assert [each["fee_bps"] for each in listed] == [80, 150, 0]
    assert not any(each["scheduled"] for each in listed)
    laari("merchant", "update", stranger, "--fee-bps", "70")  # every way has a history
    assert laari("merchant", "fees", stranger, "--json").json[0]["fee_bps"] == 70
    assert laari("merchant", "fees", "mer_aaaaaaaaaaaaaaaaaaaa").status == 1


def test_scheduled_fees_are_cancelled(laari: Laari, stranger: str) -> None:  # noqa: F811
    tomorrow = str(local_day(datetime.now(UTC)) + timedelta(days=1))
    cancel = ("merchant", "cancel-fees", stranger, "--from", tomorrow)
    refused = laari(*cancel)
    assert (refused.status, "not scheduled" in refused.err) == (1, True)
    laari("merchant", "set-fees", stranger, "--bps", "90", "--fixed", "0", "--from", tomorrow)
    assert [each["scheduled"] for each in laari(*cancel, "--json").json] == [False]


def test_a_pause_has_a_reason_until_it_ends(laari: Laari, stranger: str) -> None:  # noqa: F811
    update = ("merchant", "update", stranger)
    assert laari(*update, "--reason", "Why").status == 1
    assert laari(*update, "--active", "--reason", "Why").status == 1
    laari(*update, "--inactive", "--reason", "Documents have expired")

    def reason() -> str | None:
        return laari("merchant", "show", stranger, "--json").json["inactive_reason"]

    assert reason() == "Documents have expired"
    laari(*update, "--fee-bps", "5")
    assert reason() == "Documents have expired"
    laari(*update, "--active")
    assert reason() is None


async def test_a_decided_application_never_changes(dsn: str, stranger: str) -> None:
    async with connection_to(dsn) as connection:
        answers = ApplicationAnswers(**ANSWERS)
        made = await decided(connection, SubmitApplication(OPERATOR, stranger, answers))
        await decided(connection, RefuseApplication(OPERATOR, made.id, "No"))
        for statement in (
            "UPDATE applications SET status = 'approved'",
            "DELETE FROM applications",
            "DELETE FROM fee_history",
        ):
            with pytest.raises(asyncpg.RestrictViolationError):
                await change(connection, statement)
