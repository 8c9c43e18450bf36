"""One finance person tries to take money out by every form of the desk, alone and with help."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.store.batch.runner import BatchRunner
from tests.actors import OPERATOR
from tests.days import today, yesterday
from tests.pages.finance import balance_of, paid_shop, seen_in
from tests.pages.operators import Desk, desk_of
from tests.pages.people import Customer, new_customer
from tests.serving import Merchant, Service, serving

pytestmark = pytest.mark.ci

LIMIT = 100_000
WAITS = "The movement waits for a second person."


@pytest.fixture
def controlled(engine, tmp_path: Path) -> Iterator[Service]:
    settings = {"LAARI_SECOND_OPERATOR_ABOVE": str(LIMIT)}
    with serving(engine.migrated("insider"), tmp_path, **settings) as service:
        yield service


async def receipt(service: Service, reference: str, laari: int) -> None:
    """Money at the bank that no line explains."""
    runner = BatchRunner(service.dsn, service.origin)
    line = StatementLine(2, yesterday(), reference, "Invented", laari, None)
    await runner.run([ImportLine(OPERATOR, line)], 1.0)
    await runner.close()


def wallet(service: Service, customer: Customer) -> int:
    [row] = service.execute("SELECT balance FROM wallets WHERE account = $1", customer.account)
    return int(row["balance"])


def top_up(desk: Desk, customer: Customer, amount: str) -> str:
    form = {"kind": "topup", "account": str(customer.account), "amount": amount, "details": "x"}
    return desk.send("/money", "", **form).text


def waiting(desk: Desk) -> list[str]:
    return sorted(set(re.findall(r"mov_[0-9a-f]{32}", desk.get("/money").text)))


def make_all(desk: Desk, movements: list[str], status: int) -> None:
    for movement in movements:
        answer = desk.send(f"/money/movements/{movement}", "/make")
        assert answer.status_code == status, answer.text


async def test_one_person_cannot_credit_and_two_can(controlled: Service) -> None:
    service = controlled
    ann, bea = await desk_of(service, "finance"), await desk_of(service, "finance")
    customer = await new_customer(service, balance=0)
    shop = await paid_shop(service, 30_000)
    before = await balance_of(shop)
    await receipt(service, "FT1", 9_000_000)

    # Five top-ups of exactly the limit: the first one uses the day up.
    assert "The money is moved." in top_up(ann, customer, "1000.00")
    for _ in range(4):
        assert WAITS in top_up(ann, customer, "1000.00")
    adjustment = {"kind": "adjustment", "account": str(customer.account), "details": "x"}
    assert WAITS in ann.send("/money", "", amount="0.01", **adjustment).text
    merchant = f"/merchants/{shop.id}"
    funds = {"reason": "x", "mode": "live"}
    correction = ann.send(merchant, "/funds", kind="correct", amount="500000.00", **funds)
    assert WAITS in correction.text
    held = ann.send(merchant, "/funds", kind="hold", amount="200.00", **funds)
    assert "The balance is changed." in held.text
    released = ann.send(merchant, "/funds", kind="release", amount="200.00", **funds)
    assert WAITS in released.text
    assigned = ann.send("/bank", "/assign", reference="FT1", account=str(customer.account))
    assert WAITS in assigned.text
    await receipt(service, "FT2", 50_000)
    assert WAITS in ann.send("/bank", "/return", reference="FT2").text

    movements = waiting(ann)
    assert len(movements) == 9
    make_all(ann, movements, 409)
    assert wallet(service, customer) == LIMIT
    assert await balance_of(shop) == before._replace(available=10_000, held=20_000)
    assert customer.name in bea.get("/money").text

    make_all(bea, movements, 200)
    assert wallet(service, customer) == 5 * LIMIT + 1 + 9_000_000
    assert await balance_of(shop) == before._replace(available=30_000 + 50_000_000)
    assert waiting(bea) == []
    rows = service.execute("SELECT person, alone FROM person_days WHERE alone > 0")
    assert [row["alone"] for row in rows] == [LIMIT]  # of the first top-up


async def run_of(desk: Desk) -> str:
    answer = desk.send("/payouts/preview", "", day=str(yesterday()))
    assert answer.status_code == 200, answer.text
    return answer.url.path.removeprefix("/operator")


async def test_one_person_cannot_pay_out_and_two_can(controlled: Service) -> None:
    service = controlled
    ann, bea = await desk_of(service, "finance"), await desk_of(service, "finance")
    customer = await new_customer(service, balance=90_000)
    page = f"/customers/cus_{customer.id.hex}"
    other = {"holder": "Somebody Else", "bank": "BML", "number": "7730000066666"}
    own = {**other, "holder": customer.name.upper()}
    assert "used after 48 hours" in ann.send(page, "/bank", **own).text
    assert WAITS in ann.send(page, "/bank", **other).text
    refused = ann.send(page, "/withdraw", amount="900.00", last="0")
    assert (refused.status_code, "is used from" in refused.text) == (409, True)
    [movement] = waiting(ann)
    make_all(ann, [movement], 409)
    make_all(bea, [movement], 200)

    shop: Merchant = await paid_shop(service, 30_000, name="Paid shop")
    run = await run_of(ann)
    seen = ann.get(run).text
    assert "Another person has to approve a run that you opened." in seen
    assert "Approve the run" not in seen
    fields = seen_in(seen)
    refused = ann.send(run, "/approve", **fields)
    assert (refused.status_code, "run that you opened" in refused.text) == (409, True)
    assert ann.send(run, "/send").status_code == 409
    assert bea.send(run, "/approve").status_code == 422  # without the total
    shown = bea.get(run).text
    assert "New bank accounts" in shown
    assert "Paid shop" in shown.partition("New bank accounts")[2]
    assert "anybody" in shown
    assert "The run is approved" in bea.send(run, "/approve", **fields).text
    sent = ann.send(run, "/send").text
    [order] = sorted(set(re.findall(r"LP\d{6}R\d{4}", sent)))

    # An invented return would give the merchant the money a second time.
    top_up(ann, customer, "1000.00")
    assert WAITS in ann.send(run, "/returned", order=order, reason="Account closed").text
    assert (await balance_of(shop)).available == 0
    [movement] = waiting(ann)
    make_all(ann, [movement], 409)
    make_all(bea, [movement], 200)
    assert (await balance_of(shop)).available == 30_000


async def test_who_imported_a_day_does_not_explain_its_difference(controlled: Service) -> None:
    ann, bea = await desk_of(controlled, "finance"), await desk_of(controlled, "finance")
    day = str(today() - timedelta(days=1))
    header = "date,reference,description,debit,credit,balance\n"
    statement = f"{header}{day},FT9,Invented,,5.00,5.00\n"
    assert "is imported" in ann.send("/bank/book", "", statement=statement).text
    sign = {"day": day, "bank_closing": "1.00", "note": "On its way"}
    refused = ann.send("/float", "", **sign)
    assert (refused.status_code, "You imported lines of this day" in refused.text) == (409, True)
    assert "The day is signed off." in bea.send("/float", "", **sign).text
