"""The payments as a file: whole, filtered, harmless to a spreadsheet, and in bounded memory."""

import asyncio
import csv
import io
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.async_api import expect

from laari.edge.pages.csv_files import METADATA_AT_ONCE, csv_text, guarded, in_pieces
from laari.rules.money import rufiyaa
from laari.rules.records.payments import Payment
from laari.store.postgres.pool import connection_to
from tests.pages.owners import Owner, new_owner
from tests.pages.people import Visitors
from tests.serving import Service

ROWS = 30_000
MAX_GROWTH_KIB = 12 * 1024  # the file has about 6 MiB, the rows in memory at once would have 60


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service, fee_bps=150)


async def test_the_filtered_payments_are_downloaded(visitors: Visitors, owner: Owner) -> None:
    paid = owner.shop.payment(
        reference="=1+2", title='A "cake", big', amount=20_000, metadata={"till": "=1"}
    )
    owner.shop.control(f"payments/{paid['id']}/pay")
    owner.shop.payment(reference="left out")
    page = await owner.open(visitors, "/sandbox/payments?status=paid")
    async with page.expect_download() as downloading:
        await page.get_by_role("link", name="Download these payments").click()
    download = await downloading.value
    assert download.suggested_filename.startswith("payments-sandbox-")
    text = Path(await download.path()).read_bytes().decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row["id"] == paid["id"]
    assert (row["reference"], row["title"]) == ("'=1+2", 'A "cake", big')
    assert (row["amount"], row["fee"], row["net_amount"]) == ("200.00", "3.00", "197.00")
    assert row["status"] == "paid"
    # New columns come last: programs count them.
    assert list(row)[-3:] == ["metadata", "refunded_amount", "balance_effect"]
    assert (row["refunded_amount"], row["balance_effect"]) == ("0.00", "197.00")
    assert json.loads(row["metadata"]) == {"till": "=1"}


async def test_a_filter_that_is_wrong_makes_no_file(visitors: Visitors, owner: Owner) -> None:
    visitors.expected_statuses = {400}
    page = await owner.open(visitors, "/sandbox/payments/export.csv?status=lost")
    await expect(page.get_by_role("alert")).to_contain_text("status must be one of")


@pytest.mark.parametrize(
    "start",
    [
        "=",
        "+",
        "-",
        "@",
        "\t",
        "\r",
        "\n",
        "\uff1d",
        "\uff0b",
        "\uff0d",
        "\uff20",
        "\ufeff=",
        " \u200b@",
        '"=',
    ],
)
def test_no_cell_begins_like_a_formula(start: str) -> None:
    assert guarded(start + "cmd|' /C calc'!A0").startswith("'" + start)
    assert guarded("plain" + start) == "plain" + start


def test_a_cell_that_another_separator_makes_is_guarded_too() -> None:
    for start in "=+-@\uff1d\uff0b\uff0d\uff20":
        assert guarded(f"a;{start}1") == f"a;'{start}1"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a;=1+2", "a;'=1+2"),
        ("a; =1;@b", "a;' =1;'@b"),
        ("a\t-1", "a\t'-1"),
        ("a|=1", "a|'=1"),
        ("two\n=1", "two\n'=1"),
        ("two\n\n =1", "two\n\n' =1"),
        ('a;"=1"', 'a;\'"=1"'),
        ("a;b-c=d@e", "a;b-c=d@e"),
        ("10-12; ok", "10-12; ok"),
        ("Cake, -20 %", "Cake, -20 %"),  # a comma splits nothing that is quoted
        ("'=1", "'=1"),
        ("", ""),
    ],
)
def test_an_apostrophe_goes_before_every_formula_and_nowhere_else(text: str, shown: str) -> None:
    assert guarded(text) == shown


def read_as_cells(written: str, separator: str) -> Iterator[str]:
    """The cells that a spreadsheet may see: with quotes understood, and without."""
    for row in csv.reader(io.StringIO(written, newline=""), delimiter=separator):
        yield from row
    if separator != ",":
        for line in re.split(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", written):
            yield from line.split(separator)


@settings(deadline=None, max_examples=500)
@given(
    st.lists(
        st.text(
            st.sampled_from(
                "aB1 \t\r\n\v\x1e\x85\u2028;,|\"=+-@'"
                "\uff1d\uff0b\uff0d\uff20\ufe66\ufeff\u200b\xa0\u3000"
            ),
            max_size=12,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_spreadsheet_finds_a_formula(texts: list[str]) -> None:
    amount = rufiyaa(-12_345)  # our own numbers stay numbers
    file = csv_text([["pay_1", *map(guarded, texts), amount, "paid"]])
    for separator in ",;\t|":
        for cell in read_as_cells(file, separator):
            seen = cell.strip().strip('"\ufeff\u200b\x85\xa0\u3000 \t\v\r\n\x1e\u2028')
            assert seen.startswith(amount) or not seen.startswith(
                ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufe66")
            ), (separator, cell)


def test_long_metadata_is_written_a_few_payments_at_a_time() -> None:
    """A page of them in one go would keep every other request of the process waiting."""
    lengths = [2, 2, 30_000, 40_000, 2, 200_000, 2, 65_535, 1, 2]
    rows = [cast(Payment, SimpleNamespace(metadata="x" * length)) for length in lengths]
    pieces = [
        [len(each.metadata) for each in piece]
        for piece in in_pieces(rows, lambda each: len(each.metadata))
    ]
    assert pieces == [[2, 2, 30_000, 40_000], [2, 200_000], [2, 65_535], [1, 2]]
    assert METADATA_AT_ONCE == 65_536
    assert [*in_pieces([], lambda each: each)] == []


def memory_kib(service: Service) -> int:
    """The most that any process of the service has ever held."""
    peaks = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
            family = {int(lines["PPid"]), int(lines["Pid"])}
        except (FileNotFoundError, ProcessLookupError, KeyError, ValueError):
            continue
        if service.process.pid in family and "VmHWM" in lines:
            peaks.append(int(lines["VmHWM"].split()[0]))
    assert len(peaks) > 1  # the supervisor and its workers
    return max(peaks)


@pytest.mark.ci
async def test_a_long_export_is_streamed_in_bounded_memory(
    visitors: Visitors, owner: Owner, service: Service
) -> None:
    async with connection_to(service.dsn) as connection:
        await connection.execute(
            "INSERT INTO payments (id, tenant_id, kind, token, reference, amount, title, metadata, "
            "created_at, expires_at, status) SELECT gen_random_uuid(), t.id, 'hosted', "
            "gen_random_uuid()::text, 'row ' || n, n, repeat('t', 100), '{}', "
            "now() - n * interval '1 second', now() + interval '1 day', 'pending' "
            f"FROM generate_series(1, {ROWS}) n, tenants t "
            "WHERE t.merchant_id = $1 AND t.mode = 'live'",
            owner.shop.id,
        )
    context = await visitors.context()
    await visitors.log_in(context, owner.email)
    address = owner.url("/live/payments/export.csv")
    first = await context.request.get(f"{address}?created_to=2001-01-01")
    assert len((await first.text()).splitlines()) == 1
    before = memory_kib(service)
    answer = await context.request.get(address, timeout=120_000)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "content-length" not in answer.headers
    rows = list(csv.DictReader(io.StringIO((await answer.text()).removeprefix("\ufeff"))))
    assert [row["reference"] for row in rows] == [f"row {n}" for n in range(1, ROWS + 1)]
    assert memory_kib(service) - before < MAX_GROWTH_KIB


async def test_exports_that_nobody_reads_to_the_end_keep_no_place(
    visitors: Visitors, owner: Owner, service: Service
) -> None:
    """A merchant has two exports at once: those of clients that went away are not among them."""
    async with connection_to(service.dsn) as connection:
        await connection.execute(
            "INSERT INTO payments (id, tenant_id, kind, token, reference, amount, title, metadata, "
            "created_at, expires_at, status) SELECT gen_random_uuid(), t.id, 'hosted', "
            "gen_random_uuid()::text, 'row ' || n, n, repeat('t', 250), '{}', "
            "now() - n * interval '1 second', now() + interval '1 day', 'pending' "
            "FROM generate_series(1, 20000) n, tenants t "
            "WHERE t.merchant_id = $1 AND t.mode = 'live'",
            owner.shop.id,
        )
    context = await visitors.context()
    await visitors.log_in(context, owner.email)
    (cookie,) = [each for each in await context.cookies() if each["name"] == "laari-dashboard"]
    host, port = service.origin.removeprefix("http://").split(":")
    request = (
        f"GET /dashboard/{owner.shop.id}/live/payments/export.csv HTTP/1.1\r\nHost: a\r\n"
        f"Cookie: laari-dashboard={cookie['value']}\r\n\r\n"
    ).encode()

    async def begin() -> socket.socket:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, (host, int(port)))
        await loop.sock_sendall(client, request)
        head = await asyncio.wait_for(loop.sock_recv(client, 12), 30)
        assert head in (b"HTTP/1.1 200", b"HTTP/1.1 503"), head
        client_status[client] = head[9:]
        return client

    client_status: dict[socket.socket, bytes] = {}
    slow = [await begin(), await begin()]  # they take a few bytes and no more
    third = await begin()
    assert [client_status[each] for each in (*slow, third)] == [b"200", b"200", b"503"]
    for client in (*slow, third):
        client.close()
    for _ in range(100):
        following = await begin()
        following.close()
        if client_status[following] == b"200":
            break
        await asyncio.sleep(0.1)
    assert client_status[following] == b"200"
