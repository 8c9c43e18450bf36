"""Overview, lists, files, statement and money page have the same sums for the same days."""

import csv
import html
import io
import random
import re
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any, NamedTuple

import httpx
import pytest

from laari.rules.calendar import local_day
from tests.pages.owners import Owner, new_owner
from tests.pages.test_journal import client_of
from tests.serving import Service

DAY = 24 * 3600
TILLS = ("1", "2", None)


class Sums(NamedTuple):
    payments: int = 0
    gross: Decimal = Decimal(0)
    refunds: int = 0
    refunded: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)

    @property
    def net(self) -> Decimal:
        return self.gross - self.refunded - self.fees

    def plus(self, other: "Sums") -> "Sums":
        return Sums(*(mine + its for mine, its in zip(self, other, strict=True)))


def amount(text: str) -> Decimal:
    plain = html.unescape(re.sub("<.*?>", "", text)).replace("\N{MINUS SIGN}", "-")
    return Decimal(plain.replace("MVR", "").replace("\N{NO-BREAK SPACE}", "").replace(",", ""))


def get(client: httpx.Client, path: str, params: dict[str, Any]) -> httpx.Response:
    """A patient visitor: one who opens many pages in a short time has to wait."""
    while (reply := client.get(path, params=params)).status_code == httpx.codes.TOO_MANY_REQUESTS:
        time.sleep(0.5)
    return reply


def rows_of(reply: httpx.Response) -> list[dict[str, str]]:
    assert reply.status_code == 200, reply.text
    return list(csv.DictReader(io.StringIO(reply.content.decode("utf-8-sig"))))


def facts(reply: httpx.Response) -> Sums:
    """The sums above a list."""
    assert reply.status_code == 200, reply.text
    found = re.findall(r"<div[^>]*><dt>(.*?)</dt><dd>(.*?)</dd>", reply.text, re.S)[:4]
    counts = [int(re.sub(r"\D", "", name) or 0) for name, _ in found]
    gross, refunds, fees, net = (amount(value) for _, value in found)
    sums = Sums(counts[0], gross, counts[1], -refunds, -fees)
    assert sums.net == net
    return sums


def of_movements(rows: list[dict[str, str]]) -> Sums:
    paid = [row for row in rows if row["movement"] == "payment"]
    back = [row for row in rows if row["movement"] == "refund"]
    return Sums(
        len(paid),
        sum((Decimal(row["amount"]) for row in paid), Decimal(0)),
        len(back),
        -sum((Decimal(row["balance_effect"]) for row in back), Decimal(0)),
        sum((Decimal(row["fee"]) for row in paid), Decimal(0)),
    )


def of_statement(rows: list[dict[str, str]]) -> Sums:
    return reduce(
        Sums.plus,
        (
            Sums(
                int(row["payments"]),
                Decimal(row["gross_amount"]),
                int(row["refunds"]),
                Decimal(row["refunded_amount"]),
                Decimal(row["fees"]),
            )
            for row in rows
        ),
        Sums(),
    )


def of_overview(reply: httpx.Response) -> Sums:
    """Of the table's total; its rows add up to it."""
    assert reply.status_code == 200, reply.text
    if "Nothing was paid" in reply.text:
        return Sums()
    table = reply.text.split('<table class="sums">')[1].split("</table>")[0]
    found = []
    for row in re.findall(r"<tr>(.*?)</tr>", table, re.S):
        cells = re.findall(r"<td.*?>(.*?)</td>", row, re.S)
        if cells:
            paid, *amounts = cells
            gross, refunded, fees, net = map(amount, amounts)
            found.append((int(paid), gross, -refunded, -fees, net))
    *days, total = found
    assert tuple(map(sum, zip(*days, strict=True))) == total
    return Sums(total[0], total[1], 0, total[2], total[3])


def trade(
    owner: Owner, chance: random.Random, steps: int
) -> dict[str | None, list[tuple[date, Sums]]]:
    """A random history, as this test knows it: by till."""
    shop = owner.shop
    known: dict[str | None, list[tuple[date, Sums]]] = {till: [] for till in TILLS}
    left: dict[str, tuple[str | None, int]] = {}
    now = datetime.now(UTC)
    for step in range(steps):
        if step % 6 == 5:
            seconds = chance.randrange(DAY // 2, 9 * DAY)
            shop.advance(seconds)
            now += timedelta(seconds=seconds)
        till, laari = chance.choice(TILLS), chance.randrange(100, 90_000)
        label = {} if till is None else {"terminal_label": till}
        payment = shop.payment(amount=laari, **label)
        paid = shop.control(f"payments/{payment['id']}/pay")
        assert paid["status"] == "paid"
        left[payment["id"]] = (till, laari)
        day = local_day(datetime.fromisoformat(paid["paid_at"]))
        known[till].append(
            (day, Sums(1, Decimal(laari) / 100, 0, Decimal(0), Decimal(paid["fee"]) / 100))
        )
        if step % 3 == 2:
            id = chance.choice(list(left))
            till, rest = left.pop(id)
            back = chance.randrange(1, rest + 1)
            made = shop.post(f"/payments/{id}/refunds", {"amount": back})
            assert made.status_code == 201, made.text
            day = local_day(datetime.fromisoformat(made.json()["data"]["created_at"]))
            known[till].append((day, Sums(0, Decimal(0), 1, Decimal(back) / 100)))
    return known


@pytest.mark.ci
@pytest.mark.parametrize("seed", [1, 2])
def test_everything_that_shows_days_agrees(service: Service, seed: int) -> None:
    chance = random.Random(seed)
    owner = new_owner(service, fee_bps=150, fee_fixed=7)
    known = trade(owner, chance, 30)
    moved = sorted({day for each in known.values() for day, _ in each})
    spans = [(day, day) for day in chance.sample(moved, 2)] + [(moved[0], moved[-1])]
    spans += [(moved[0] - timedelta(days=40), moved[0] - timedelta(days=1))]
    spans += [tuple(sorted(chance.choices(moved, k=2))) for _ in range(2)]  # type: ignore[misc]
    with client_of(owner) as client:
        client.timeout = 60
        for first, last in spans:
            days: dict[str, Any] = {"first": str(first), "last": str(last)}

            def expected(till: str | None = "all", first: date = first, last: date = last) -> Sums:
                chosen = [known[till]] if till != "all" else known.values()
                every = (sums for each in chosen for day, sums in each if first <= day <= last)
                return reduce(Sums.plus, every, Sums())

            due = expected()
            movements = "/payments/movements"
            assert facts(get(client, movements, params=days)) == due
            assert facts(get(client, "/payments", params={**days, "by": "moved"})) == due
            assert of_movements(rows_of(get(client, f"{movements}.csv", params=days))) == due
            assert of_movements(rows_of(get(client, "/money/export.csv", params=days))) == due
            statement = rows_of(get(client, "/money/statement.csv", params=days))
            assert of_statement(statement) == due
            change = Decimal(statement[-1]["closing_balance"]) - Decimal(
                statement[0]["opening_balance"]
            )
            assert change == due.net
            overview = of_overview(get(client, owner.url("/sandbox"), params=days))
            assert overview._replace(refunds=due.refunds) == due
            # Only what was paid or refunded, and only one till.
            paid = facts(get(client, "/payments", params={**days, "by": "paid"}))
            assert paid == due._replace(refunds=0, refunded=Decimal(0))
            refunded = facts(get(client, "/payments", params={**days, "by": "refunded"}))
            assert refunded == Sums(refunds=due.refunds, refunded=due.refunded)
            at_till = {**days, "terminal_label": "1"}
            assert facts(get(client, movements, params=at_till)) == expected("1")
            assert of_movements(rows_of(get(client, f"{movements}.csv", params=at_till))) == (
                expected("1")
            )
        # Everything was created on some day, so the list by creation has the same sums.
        created = {"first": str(moved[0]), "last": str(moved[-1])}
        everything = facts(get(client, "/payments", params=created))
        balance = Decimal(
            rows_of(get(client, "/money/statement.csv", params=created))[-1]["closing_balance"]
        )
        assert everything.net == balance


def test_presets_and_inclusive_days(service: Service) -> None:
    owner = new_owner(service)
    payment = owner.shop.payment(amount=5_000)
    owner.shop.control(f"payments/{payment['id']}/pay")
    today = str(local_day(datetime.now(UTC)))
    with client_of(owner) as client:
        home = owner.url("/sandbox")
        for path in ("/payments", "/payments/movements", "/money", home, "/requests"):
            for preset in (
                "today",
                "yesterday",
                "this_week",
                "last_week",
                "this_month",
                "last_month",
            ):
                reply = get(client, path, params={"preset": preset})
                assert reply.status_code == 200
                if path in ("/payments", "/payments/movements"):
                    is_in = preset in ("today", "this_week", "this_month")
                    assert (payment["reference"] in reply.text) == is_in, (path, preset)
            assert get(client, path, params={"preset": "x"}).status_code == 400
        # The last day is included, and the file has the same rows.
        for last, count in ((today, 1), ("2001-01-01", 0)):
            asked = {"first": "2000-01-01", "last": last}
            assert facts(get(client, "/payments", params=asked)).payments == count
            assert len(rows_of(get(client, "/payments/export.csv", params=asked))) == count
        refused = {"by": "paid", "status": "paid"}
        assert get(client, "/payments", params=refused).status_code == 400
        assert get(client, "/payments", params={"by": "x"}).status_code == 400
        assert get(client, home, params={"first": "2020-01-01", "last": today}).status_code == 400
