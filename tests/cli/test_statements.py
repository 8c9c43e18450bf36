"""`laari statement` and `laari till`: both modes, wrong input, and other merchants."""

from datetime import timedelta
from typing import Any

import pytest

from laari.rules.day_ranges import month_of
from tests.cli.test_approval import OPTIONS, stranger  # noqa: F401  # a fixture
from tests.cli.test_operator import Laari, laari  # noqa: F401  # a fixture
from tests.cli.test_payouts import new_shop, pay
from tests.cli.test_wallets import new_account, query
from tests.days import today

DAY = timedelta(days=1)
NOBODY = {"legal_name": None, "tax_number": None, "address": None}
PROFILE = {
    "legal_name": "Bodu Boat Pvt Ltd",
    "tax_number": "1234567GST001",
    "address": "H. Sosun Magu 1, Malé",
}


@pytest.fixture
def shop(laari: Laari, dsn: str) -> str:  # noqa: F811
    """A merchant that was paid yesterday and the day before."""
    shop, account = new_shop(laari), new_account(laari, 100_000)
    for amount, ago in ((30_000, 2 * DAY), (20_000, DAY)):
        pay(dsn, shop, account, amount, ago=ago)
    return shop


def statement(laari: Laari, *words: str) -> dict[str, Any]:  # noqa: F811
    done = laari("statement", *words, "--json")
    assert done.status == 0, done.err
    return dict(done.json)


def test_a_statement_has_its_days_and_continues_the_one_before(laari: Laari, shop: str) -> None:  # noqa: F811
    yesterday = today() - DAY
    hold = ("merchant", "hold", shop, "500", "--reason", "Dispute")
    assert laari(*hold).status == 0
    one = statement(laari, shop, "--from", str(yesterday))
    assert (one["first_day"], one["last_day"]) == (str(yesterday),) * 2
    assert (one["opening_balance"], one["gross"], one["closing_balance"]) == (
        30_000,
        20_000,
        50_000,
    )
    assert statement(laari, shop, "--from", str(today() - 2 * DAY))["final"] is True
    both = statement(laari, shop, "--from", str(yesterday), "--to", str(today()))
    assert (both["hold"], both["closing_balance"], both["final"]) == (-500, 49_500, False)
    assert [each["day"] for each in both["days"]] == [str(yesterday), str(today())]
    assert (both["merchant"], both["mode"]) == ("Seagull", "live")
    assert {name: both[name] for name in NOBODY} == NOBODY
    month = statement(laari, shop, "--month", f"{yesterday:%Y-%m}")
    days = month_of(yesterday)
    assert (month["first_day"], month["last_day"]) == (str(days.first), str(days.last))
    last = statement(laari, shop)  # the newest month that has ended
    assert last["last_day"] == str(today().replace(day=1) - DAY)


def test_a_statement_of_a_sandbox_is_apart(laari: Laari, shop: str) -> None:  # noqa: F811
    days = ("--from", str(today() - 5 * DAY), "--to", str(today()))
    other = statement(laari, shop, "--mode", "sandbox", *days)
    assert (other["mode"], other["payments"], other["closing_balance"]) == ("sandbox", 0, 0)
    neighbour = statement(laari, new_shop(laari, "Neighbour"), *days)
    assert (neighbour["payments"], neighbour["days"]) == (0, [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--month", "2026-13"), "--month"),
        (("--from", "2026-02-30"), "--from"),
        (("--mode", "test"), "--mode"),
        (("--month", "2026-01", "--from", "2026-01-01"), "either --month or --from"),
        (("--from", "2026-01-02", "--to", "2026-01-01"), "--to must not be before"),
    ],
)
def test_wrong_days_are_refused(
    laari: Laari,  # noqa: F811
    shop: str,
    words: tuple[str, ...],
    message: str,
) -> None:
    refused = laari("statement", shop, *words)
    assert (refused.status, refused.out) == (1, "")
    assert message in refused.err


def test_a_merchant_without_the_mode_is_refused(laari: Laari, stranger: str) -> None:  # noqa: F811
    for words in (("statement", stranger), ("till", "close", stranger, "1")):
        refused = laari(*words)
        assert refused.status == 1
        assert "no live mode" in refused.err
    assert laari("statement", "mer_aaaaaaaaaaaaaaaaaaaa").status == 1
    assert laari("till", "list", "mer_aaaaaaaaaaaaaaaaaaaa").status == 1


def test_documents_have_the_business_of_the_approved_application(
    laari: Laari,  # noqa: F811
    dsn: str,
    stranger: str,  # noqa: F811
) -> None:
    days = ("--from", str(today()), "--to", str(today()))
    submit = ("application", "submit", stranger, *OPTIONS)
    assert laari(*submit).status == 0
    # Nobody has approved it yet.
    waiting = statement(laari, stranger, "--mode", "sandbox", *days)
    assert {name: waiting[name] for name in PROFILE} == NOBODY
    assert laari("merchant", "approve", stranger).status == 0
    found = statement(laari, stranger, *days)
    assert {name: found[name] for name in PROFILE} == PROFILE
    pay(dsn, stranger, new_account(laari, 1_000), 700, ago=timedelta())
    closed = laari("till", "close", stranger, "", "--json").json
    assert {name: closed[name] for name in PROFILE} == PROFILE
    assert (closed["merchant"], closed["gross"], closed["number"]) == ("Bodu Boat", 700, 1)


def test_a_statement_has_the_fees_at_its_beginning_and_their_changes(
    laari: Laari,  # noqa: F811
    shop: str,
) -> None:
    for bps in ("150", "200"):
        assert laari("merchant", "set-fees", shop, "--bps", bps, "--fixed", "5").status == 0
    terms = statement(laari, shop, "--from", str(today()))["fee_terms"]
    assert [(each["fee_bps"], each["fee_fixed"]) for each in terms] == [(0, 0), (150, 5), (200, 5)]
    tomorrow = statement(laari, shop, "--from", str(today() + DAY))["fee_terms"]
    assert [each["fee_bps"] for each in tomorrow] == [200]
    assert statement(laari, shop, "--from", str(today() - DAY))["fee_terms"] == []


def test_a_till_is_closed_and_listed(laari: Laari, dsn: str, shop: str) -> None:  # noqa: F811
    (waiting,) = laari("till", "list", shop, "--json").json["tills"]
    assert (waiting["till"], waiting["payments"], waiting["since"]) == ("", 2, None)
    close = ("till", "close", shop, "", "--note", "Counted", "--json")
    closed = laari(*close).json
    assert (closed["number"], closed["gross"], closed["note"]) == (1, 50_000, "Counted")
    assert closed["closed_by"] != ""
    again = laari(*close)
    assert (again.status, again.out) == (1, "")
    assert laari("till", "close", shop, "Bar").status == 1
    listed = laari("till", "list", shop, "--till", "", "--json").json
    assert [each["number"] for each in listed["closings"]] == [1]
    assert listed["tills"][0]["payments"] == 0
    for apart in (("--mode", "sandbox"), ("--till", "Bar")):
        found = laari("till", "list", shop, *apart, "--json").json
        assert (found["tills"], found["closings"]) == ([], [])
    entry = "SELECT count(*) FROM journal WHERE action = 'till.close'"
    assert query(dsn, entry) == 1
    assert laari("audit", "--json").json["ok"] is True


@pytest.mark.parametrize(
    "words",
    [
        ("close", "x" * 11),
        ("close", "1", "--note", "x" * 501),
        ("list", "--limit", "0"),
        ("list", "--limit", "1001"),
        ("list", "--till", "x" * 11),
    ],
)
def test_wrong_input_about_tills_is_refused(
    laari: Laari,  # noqa: F811
    shop: str,
    words: tuple[str, ...],
) -> None:
    verb, *rest = words
    refused = laari("till", verb, shop, *rest)
    assert (refused.status, refused.out) == (1, "")
    assert refused.err.count("\n") == 1
