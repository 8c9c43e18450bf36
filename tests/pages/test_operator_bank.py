"""The operator's pages for the bank's statement and the float, by their forms."""

import re
import secrets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from laari.rules.banking.wallet_money import MoveMoney
from laari.store.batch.runner import BatchRunner
from tests.actors import OPERATOR
from tests.days import today, yesterday
from tests.pages.finance import HEADER, paid_shop
from tests.pages.operators import Desk, desk_of
from tests.pages.people import new_customer
from tests.serving import Service, serving


@pytest_asyncio.fixture(loop_scope="session")
async def finance(service: Service) -> Desk:
    return await desk_of(service, "finance")


def new_reference() -> str:
    return f"FT{secrets.token_hex(6)}"


def lines_of(service: Service, *references: str) -> list[str]:
    rows = service.execute(
        "SELECT use FROM bank_lines WHERE reference = ANY($1) ORDER BY reference", [*references]
    )
    return [row["use"] for row in rows]


async def top_up(service: Service, account: int, laari: int, slip: str) -> None:
    """By hand, before the statement comes."""
    runner = BatchRunner(service.dsn, service.origin)
    await runner.run([MoveMoney(OPERATOR, None, account, "topup", laari, "x", slip=slip)], 1.0)
    await runner.close()


def unknown_line(desk: Desk, laari: int = 700) -> str:
    """The reference of an unallocated receipt."""
    reference = new_reference()
    amount = f"{laari // 100}.{laari % 100:02}"
    statement = f"{HEADER}{yesterday()},{reference},No idea <i>who</i>,,{amount},{amount}\n"
    assert "is imported" in desk.send("/bank/book", "", statement=statement).text
    return reference


async def test_a_statement_is_checked_and_then_booked_once(service: Service, finance: Desk) -> None:
    customer = await new_customer(service, balance=0)
    first, second, third = sorted(new_reference() for _ in range(3))
    statement = (
        f"{HEADER}{today()},{first},Aisha {customer.account},,50.00,50.00\n"
        f"{today()},{second},Who <b>knows</b>,,7.00,57.00\n"
        f"{today()},{third},Charges,2.00,,55.00\n"
    )
    checked = finance.send("/bank", "", statement=statement).text
    assert "3 lines, 3 new" in checked
    assert "Who &lt;b&gt;knows&lt;/b&gt;" in checked
    assert lines_of(service, first, second, third) == []
    assert "is imported" in finance.send("/bank/book", "", statement=statement).text
    assert lines_of(service, first, second, third) == ["topup", "receipt", "none"]
    again = finance.send("/bank", "", statement=statement).text
    assert "3 lines, 0 new" in again
    assert "Book the statement" in checked
    assert "Book the statement" not in again
    assert "is imported" in finance.send("/bank/book", "", statement=statement).text
    [row] = service.execute("SELECT balance FROM wallets WHERE account = $1", customer.account)
    assert row["balance"] == 5_000
    changed = statement.replace("50.00,50.00", "60.00,50.00")
    refused = finance.send("/bank/book", "", statement=changed)
    assert refused.status_code == 409
    for shown in (refused.text, finance.send("/bank", "", statement=changed).text):
        assert "Line 2: " in shown
        assert "The reference was imported before with other content" in shown


async def test_a_statement_says_whose_money_it_is_before_anything_is_booked(
    service: Service, finance: Desk
) -> None:
    aisha = await new_customer(service, name="Aisha <i>Ali</i>", balance=0)
    ben = await new_customer(service, name="Ben Adam", balance=0)
    references = sorted(new_reference() for _ in range(3))
    texts = (f"top-up {aisha.account}", f"from +960 {ben.mobile}", f"{aisha.mobile} {ben.mobile}")
    rows = zip(references, texts, strict=True)
    statement = HEADER + "".join(f"{today()},{each},{text},,5.00,\n" for each, text in rows)
    checked = finance.send("/bank", "", statement=statement).text
    told = re.findall(r"<strong>For <bdi[^>]*>([^<]+)</bdi></strong>, by the ([a-z ]+)<", checked)
    assert told == [
        ("Aisha &lt;i&gt;Ali&lt;/i&gt;", "account number"),
        ("Ben Adam", "mobile number"),
    ]
    assert lines_of(service, *references) == []
    assert "is imported" in finance.send("/bank/book", "", statement=statement).text
    assert lines_of(service, *references) == ["topup", "topup", "receipt"]
    for customer in (aisha, ben):
        [row] = service.execute("SELECT balance FROM wallets WHERE account = $1", customer.account)
        assert row["balance"] == 500


async def test_a_receipt_is_assigned_to_a_name(service: Service, finance: Desk) -> None:
    name = f"Zulaikha {secrets.token_hex(4)}"
    customer = await new_customer(service, name=name, balance=0)
    reference = unknown_line(finance)
    for sought in (name, customer.mobile, str(customer.account)):
        page = finance.get("/bank/find", reference=reference, q=sought).text
        assert f'<strong><bdi dir="auto">{name}</bdi></strong>' in page, sought
        assert f'name="account" value="{customer.account}"' in page
    nobody = finance.get("/bank/find", reference=reference, q="nobody-at-all")
    assert "Nobody fits" in nobody.text
    given = {"reference": reference, "account": str(customer.account), "q": name}
    assert "added to the wallet" in finance.send("/bank/assign", "", **given).text
    assert finance.get("/bank/find", reference=reference, q=name).status_code == 404


async def test_a_conflict_with_a_slip_is_shown_before_anything_is_booked(
    service: Service, finance: Desk
) -> None:
    customer = await new_customer(service, balance=0)
    first, slip = sorted(new_reference() for _ in range(2))
    await top_up(service, customer.account, 500, slip)
    statement = (
        f"{HEADER}{today()},{first},Aisha {customer.account},,1.00,\n"
        f"{today()},{slip},Aisha {customer.account},,6.00,\n"
    )
    checked = finance.send("/bank", "", statement=statement).text
    assert "2 lines, 2 new" in checked
    assert "Line 3: " in checked
    assert "The slip was already used to top up MVR 5.00" in checked
    assert "A line conflicts" in checked
    assert "Book the statement" not in checked
    refused = finance.send("/bank/book", "", statement=statement)
    assert refused.status_code == 409
    assert "Line 3: The slip was already used" in refused.text
    assert lines_of(service, first, slip) == []
    [row] = service.execute("SELECT balance FROM wallets WHERE account = $1", customer.account)
    assert row["balance"] == 500


async def test_a_wrong_statement_is_shown_again(service: Service, finance: Desk) -> None:
    reference = new_reference()
    wrong = f"{HEADER}{today()},{reference},Fine,,1.00,1.00\n{today()},X,</textarea><b>,one,,\n"
    for action in ("", "/book"):
        refused = finance.send("/bank", action, statement=wrong)
        assert refused.status_code == 422
        assert "&lt;/textarea&gt;&lt;b&gt;,one" in refused.text
    assert finance.send("/bank", "", statement="").status_code == 422
    assert lines_of(service, reference) == []


async def test_each_line_of_a_long_statement_is_shown(service: Service, finance: Desk) -> None:
    """A second person has to see the credit in the last of 1,001 lines too."""
    customer = await new_customer(service, balance=0)
    fees = [f"{yesterday()},{new_reference()},Fee,0.01,,\n" for _ in range(1_000)]
    last = f"{today()},{new_reference()},Rent {customer.account},,900.00,\n"
    checked = finance.upload("/bank", {"file": f"{HEADER}{''.join(fees)}{last}".encode()})
    assert "by the account number" not in checked.text
    [link] = re.findall(r'href="/operator(/bank/statements/[0-9a-f]+)\?from=1001"', checked.text)
    assert "by the account number" in finance.get(link, **{"from": "1001"}).text
    for odd in ("0", "-1", "x", "99999999"):
        assert finance.get(link, **{"from": odd}).status_code == 200


async def test_a_statement_may_be_longer_than_other_forms(finance: Desk) -> None:
    rows = [f"{today()},{new_reference()},{'x' * 200},,1.00,\n" for _ in range(200)]
    long = finance.upload("/bank", {}, statement=HEADER + "".join(rows))
    assert long.status_code == 200
    assert "200 lines, 200 new" in long.text
    assert finance.upload("/bank", {}, statement="x" * 513 * 1024).status_code == 400
    assert finance.send("/bank", "", statement="x" * 30 * 1024).status_code == 400
    assert finance.send("/bank/return", "", reference="x" * 30 * 1024).status_code == 400


async def test_an_unknown_receipt_is_assigned_once(service: Service, finance: Desk) -> None:
    customer = await new_customer(service, balance=0)
    reference = unknown_line(finance)
    assert reference in finance.get("/bank").text.split('id="lines"')[0]
    given = {"reference": reference, "account": str(customer.account)}
    for fields, status in (
        ({"account": given["account"]}, 422),
        ({**given, "account": "12x"}, 422),
        ({**given, "account": "123"}, 404),
        ({**given, "reference": "unknown"}, 404),
    ):
        assert finance.send("/bank/assign", "", **fields).status_code == status
    assert "added to the wallet" in finance.send("/bank/assign", "", **given).text
    assert finance.send("/bank/assign", "", **given).status_code == 409
    assert finance.send("/bank/return", "", reference=reference).status_code == 409
    [row] = service.execute("SELECT balance FROM wallets WHERE account = $1", customer.account)
    assert row["balance"] == 700
    assert reference not in finance.get("/bank").text.split('id="lines"')[0]


async def test_an_unknown_receipt_is_returned_once(service: Service, finance: Desk) -> None:
    reference = unknown_line(finance)
    assert "sent back" in finance.send("/bank/return", "", reference=reference).text
    assert finance.send("/bank/return", "", reference=reference).status_code == 409
    assert lines_of(service, reference) == ["sent_back"]
    rows = service.execute("SELECT action FROM journal WHERE object_id = $1", reference)
    assert {row["action"] for row in rows} == {"bank_line.import", "bank_line.return"}


async def test_money_out_is_booked_as_a_charge_once(service: Service, finance: Desk) -> None:
    reference, receipt = new_reference(), unknown_line(finance)
    statement = f"{HEADER}{yesterday()},{reference},Charges,2.50,,\n"
    assert "is imported" in finance.send("/bank/book", "", statement=statement).text
    support = await desk_of(service, "support")
    assert support.send("/bank/charge", "", reference=reference).status_code == 403
    for wrong, status in (("", 422), ("unknown", 404), (receipt, 409)):
        assert finance.send("/bank/charge", "", reference=wrong).status_code == status
    booked = finance.send("/bank/charge", "", reference=reference)
    assert "charge of the bank is booked" in booked.text
    assert finance.send("/bank/charge", "", reference=reference).status_code == 409
    assert lines_of(service, reference) == ["charge"]
    rows = service.execute("SELECT action FROM journal WHERE object_id = $1", reference)
    assert {row["action"] for row in rows} == {"bank_line.import", "bank_line.charge"}


def money_out(desk: Desk, laari: int) -> str:
    """The reference of a debit line that no order explains."""
    reference, amount = new_reference(), f"{laari // 100}.{laari % 100:02}"
    statement = f"{HEADER}{today()},{reference},Transfer,{amount},,\n"
    assert "is imported" in desk.send("/bank/book", "", statement=statement).text
    return reference


async def test_money_out_is_matched_with_what_the_books_have(
    service: Service, finance: Desk
) -> None:
    laari = secrets.randbelow(10**6) + 10_000  # of no other test
    receipt, line, other = (
        unknown_line(finance, laari),
        money_out(finance, laari),
        money_out(finance, laari),
    )
    assert f"sent_back {receipt}" not in finance.get("/bank").text
    finance.send("/bank/return", "", reference=receipt)
    assert f'value="sent_back {receipt}"' in finance.get("/bank").text
    given = {"reference": line, "movement": f"sent_back {receipt}"}
    support = await desk_of(service, "support")
    assert support.send("/bank/match", "", **given).status_code == 403
    for wrong, status in (
        ({"movement": ""}, 422),
        ({"movement": f"hold {receipt}"}, 422),
        ({"movement": "sweep 999999"}, 404),
        ({"movement": f"sent_back {other}"}, 404),
        ({"reference": ""}, 422),
        ({"reference": receipt}, 409),
    ):
        refused = finance.send("/bank/match", "", **{**given, **wrong})
        assert refused.status_code == status, wrong
    assert "Nothing was booked" in finance.send("/bank/match", "", **given).text
    assert lines_of(service, line, other) == [
        {line: "matched", other: "none"}[each] for each in sorted((line, other))
    ]
    assert finance.send("/bank/match", "", **{**given, "reference": other}).status_code == 409
    assert f"sent_back {receipt}" not in finance.get("/bank").text
    assert 'action="/operator/bank/unmatch"' in finance.get("/bank").text
    assert support.send("/bank/unmatch", "", reference=line).status_code == 403
    assert finance.send("/bank/unmatch", "", reference=other).status_code == 409
    assert "waits again" in finance.send("/bank/unmatch", "", reference=line).text
    assert lines_of(service, line) == ["none"]
    assert "Nothing was booked" in finance.send("/bank/match", "", **given).text
    rows = service.execute("SELECT actor_role FROM journal WHERE action = 'bank_line.match'")
    assert {row["actor_role"] for row in rows} == {"finance"}


# == The float ====================================================================================


def sign(desk: Desk, **fields: Any) -> Any:
    return desk.send("/float", "", **{"day": str(yesterday()), **fields})


async def test_a_day_is_signed_off_once(service: Service, finance: Desk) -> None:
    day = str(yesterday() - timedelta(days=400))  # before all movements
    for fields in ({"bank_closing": "x"}, {"bank_closing": ""}, {"bank_closing": "1"}):
        assert sign(finance, day=day, **fields).status_code in (400, 422)  # the last has no note
    for other in (str(today()), "9999-12-31", "soon", ""):
        assert sign(finance, day=other, bank_closing="0").status_code in (409, 422)
    assert service.execute("SELECT FROM float_signoffs WHERE day = $1::text::date", day) == []
    fields = {"day": day, "bank_closing": "1,000.50", "note": "Deposit <i>late</i>"}
    shown = sign(finance, **fields).text
    assert "The day is signed off." in shown
    assert "Deposit &lt;i&gt;late&lt;/i&gt;" in shown
    assert shown.count("1,000.50") == 2  # the bank's closing balance, and the difference
    assert sign(finance, **fields).status_code == 200
    rows = service.execute(
        "SELECT closing, bank_closing FROM float_signoffs WHERE day = $1::text::date", day
    )
    assert [tuple(row) for row in rows] == [(0, 100_050)]
    assert "is signed off" in sign(finance, day=day, bank_closing="0").text
    assert finance.get("/float", day=day).text.count("1,000.50") == 0


async def test_the_float_shows_a_day_of_the_books(finance: Desk) -> None:
    def closing(text: str) -> str:
        return text.split("Closing in the books")[1].split("</dd>", maxsplit=1)[0]

    unknown_line(finance, 12_345)
    shown = finance.get("/float", day=str(yesterday())).text
    assert "In: Unallocated receipts" in shown
    shown = finance.get("/float", day=str(today())).text
    assert "The day has not ended yet." in shown
    assert "No line of this day or later" not in shown
    tomorrow = finance.get("/float", day=str(today() + timedelta(days=1))).text
    assert closing(tomorrow) == closing(shown)
    for day in ("never", "0001-01-01", "9999-12-31", ""):
        assert finance.get("/float", day=day).status_code == 200


async def test_fees_are_swept_once(service: Service, finance: Desk) -> None:
    await paid_shop(service, 30_000, fee_bps=1_000)
    seen = finance.moved("/float")
    for amount in ("", "x", "0", "-1"):
        assert finance.send("/float/sweep", "", amount=amount, moved=seen).status_code == 422
    assert finance.send("/float/sweep", "", amount="999999999", moved=seen).status_code == 409
    assert finance.send("/float/sweep", "", amount="1", moved="x").status_code == 409
    assert "sweep is recorded" in finance.send("/float/sweep", "", amount="1.50", moved=seen).text
    again = finance.send("/float/sweep", "", amount="1.50", moved=seen)
    assert again.status_code == 409
    assert "decide again" in again.text
    rows = service.execute("SELECT amount FROM fee_sweeps ORDER BY number DESC LIMIT 1")
    assert [row["amount"] for row in rows] == [150]


@pytest.fixture
def own_bank(engine: Any, tmp_path: Path) -> Iterator[Service]:
    """A service whose bank account has no lines of other tests."""
    with serving(engine.migrated("own_bank"), tmp_path) as service:
        yield service


async def test_a_gap_is_shown_and_the_closing_balance_proposed(own_bank: Service) -> None:
    finance = await desk_of(own_bank, "finance")
    before = yesterday() - timedelta(days=1)
    statement = f"{HEADER}{before},FT1,x,,10.00,10.00\n"
    assert "is imported" in finance.send("/bank/book", "", statement=statement).text
    shown = finance.get("/float", day=str(before)).text
    assert 'name="bank_closing" type="text"' in shown
    assert 'value="10.00"' in shown
    assert "No line of this day or later" in finance.get("/float", day=str(yesterday())).text
    assert "are missing" not in shown
    statement = f"{HEADER}{yesterday()},FT3,x,,1.00,31.00\n"
    assert "are missing" in finance.send("/bank", "", statement=statement).text
    assert "is imported" in finance.send("/bank/book", "", statement=statement).text
    shown = finance.get("/float", day=str(yesterday())).text
    assert "are missing" in shown
    assert 'value="31.00"' in shown
    signed = sign(finance, bank_closing="31.00")
    assert "A difference needs a note." in signed.text
