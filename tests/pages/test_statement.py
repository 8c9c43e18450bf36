"""The statement: its page, its file and its command have the same sums, which never change."""

import asyncio
import csv
import io
import re
import uuid
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest

from laari.rules.calendar import local_day
from laari.rules.day_ranges import month_of
from laari.store.postgres.pool import connection_to
from tests import shops
from tests.actors import OPERATOR, change
from tests.pages.owners import new_owner
from tests.pages.test_journal import client_of
from tests.pages.test_tills import close, sell
from tests.serving import Service

DAY = 24 * 3600
APPLICATION = """
INSERT INTO applications SELECT $1, $2, now(), 'owner', $4, 'C-1', 'GST-7', 'Sosun Magu 1', 'BML',
    'Bodu', '7730000012345', 100, 'Aisha', $3, now(), 'operator', 'Because'
"""
PATH = "/money/statement"


def cells(page: httpx.Response) -> dict[str, str]:
    """The amounts of the statement by their names."""
    assert page.status_code == 200
    table = page.text.split('<table class="sums statement">')[1].split("</table>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th>.*?<td.*?<td class="end">(.*?)</td>', table, re.S)
    return {name: re.sub("<.*?>", "", amount) for name, amount in rows}


def file(client: httpx.Client, **asked: Any) -> list[dict[str, str]]:
    reply = client.get(f"{PATH}.csv", params=asked)
    assert reply.status_code == 200
    return list(csv.DictReader(io.StringIO(reply.content.decode("utf-8-sig"))))


def test_a_month_has_its_balances_and_later_refunds_do_not_change_it(service: Service) -> None:
    owner = new_owner(service, fee_bps=150)
    shop = owner.shop
    paid = [shop.payment(amount=10_000) for _ in range(2)]
    for each in paid:
        shop.control(f"payments/{each['id']}/pay")
    refunded = shop.post(f"/payments/{paid[0]['id']}/refunds", {"amount": 2_500})
    assert refunded.status_code == 201
    this_month = month_of(local_day(datetime.now(UTC)))
    shop.advance((this_month.last - local_day(datetime.now(UTC))).days * DAY + DAY)
    with client_of(owner) as client:
        asked = {"month": f"{this_month.first:%Y-%m}"}
        page = client.get(PATH, params=asked)
        told = cells(page)
        assert [each.replace("\N{NO-BREAK SPACE}", " ") for each in told.values()] == [
            "MVR 0.00",
            "MVR 200.00",
            "\N{MINUS SIGN}MVR 3.00",
            "\N{MINUS SIGN}MVR 25.00",
            "MVR 172.00",
        ]
        assert "These days have not ended" not in page.text
        # Without days, it is the newest month that has ended.
        assert cells(client.get(PATH)) == told
        (row,) = file(client, **asked)
        assert (row["opening_balance"], row["closing_balance"]) == ("0.00", "172.00")
        assert (row["gross_amount"], row["fees"], row["refunded_amount"]) == (
            "200.00",
            "3.00",
            "25.00",
        )
        # A later refund belongs to its own day.
        assert shop.post(f"/payments/{paid[1]['id']}/refunds", {}).status_code == 201
        assert cells(client.get(PATH, params=asked)) == told
        assert file(client, **asked) == [row]
        next_day = str(this_month.last + timedelta(days=1))
        (later,) = file(client, first=next_day)
        assert (later["opening_balance"], later["closing_balance"]) == ("172.00", "72.00")
        running = client.get(PATH, params={"preset": "this_month"})
        assert "These days have not ended" in running.text


async def test_documents_name_the_approved_business(service: Service) -> None:
    owner = await asyncio.to_thread(new_owner, service)
    async with connection_to(service.dsn) as connection:
        for status, name in (("refused", "Nobody"), ("approved", "=Bodu <b>Boat")):
            await change(connection, APPLICATION, uuid.uuid4(), owner.shop.id, status, name)
        await shops.set_fees(connection, OPERATOR, owner.shop.id, 175, 50)
    sell(owner, 5_000, "1")
    with client_of(owner) as client:
        page = client.get(f"{PATH}?preset=today").text
        closing = close(client, "1").text
        for text in (page, closing):
            for told in ("=Bodu &lt;b&gt;Boat", "Sosun Magu 1", "GST-7"):
                assert told in text
        assert page.count("Fee for each payment since") == 2  # of today, and the one before
        assert "1.75\N{NO-BREAK SPACE}% and" in page
        (row,) = file(client, preset="today")
        assert (row["legal_name"], row["tax_number"]) == ("'=Bodu <b>Boat", "GST-7")
    other = await asyncio.to_thread(new_owner, service)
    with client_of(other) as client:
        (row,) = file(client, preset="today")
        assert (row["legal_name"], row["address"]) == ("", "")
        assert "GST-7" not in client.get(PATH).text


@pytest.mark.parametrize(
    "query",
    [
        "month=2026-13",
        "month=x",
        "first=2026-02-30",
        "preset=x",
        "first=2026-02-02&last=2026-02-01",
    ],
)
def test_days_that_do_not_exist_are_refused(service: Service, query: str) -> None:
    with client_of(new_owner(service)) as client:
        for path in (PATH, f"{PATH}.csv"):
            assert client.get(f"{path}?{query}").status_code == 400


def test_days_without_movements_have_one_row(service: Service) -> None:
    with client_of(new_owner(service)) as client:
        (row,) = file(client, month="2020-02")
        assert (row["first_day"], row["last_day"]) == ("2020-02-01", "2020-02-29")
        assert row["opening_balance"] == row["closing_balance"] == "0.00"
        assert "Nothing moved on these days." in client.get(f"{PATH}?month=2020-02").text
        assert date.fromisoformat(row["first_day"])
