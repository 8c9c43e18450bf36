"""The desk imports a statement from a file, and asks a second person for a large one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.days import yesterday
from tests.pages.finance import HEADER
from tests.pages.operators import Desk, desk_of
from tests.pages.people import new_customer
from tests.serving import Service, serving

pytestmark = pytest.mark.ci

LIMIT = 100_000


@pytest.fixture
def careful_bank(engine, tmp_path: Path) -> Iterator[Service]:
    settings = {"LAARI_SECOND_OPERATOR_ABOVE": str(LIMIT)}
    with serving(engine.migrated("careful_bank"), tmp_path, **settings) as service:
        yield service


def lines_of(service: Service) -> list[str]:
    return [row["use"] for row in service.execute("SELECT use FROM bank_lines ORDER BY reference")]


def upload(desk: Desk, content: str) -> tuple[str, str]:
    """The page that checks the statement, and its digest."""
    shown = desk.upload("/bank", {"file": content.encode()})
    assert shown.status_code == 200, shown.text
    digest = re.search(r"/bank/statements/([0-9a-f]{64})", str(shown.url))
    assert digest is not None
    return shown.text, digest[1]


async def test_a_small_statement_is_booked_by_one_person(careful_bank: Service) -> None:
    service, ann = careful_bank, await desk_of(careful_bank, "finance")
    customer = await new_customer(service, balance=0)
    content = f"{HEADER}{yesterday()},FT1,Aisha {customer.account},,10.00,10.00\n"
    shown, digest = upload(ann, content)
    assert "1 line, 1 new" in shown
    assert "1 top-ups" in shown
    assert lines_of(service) == []
    assert "is imported" in ann.send("/bank/book", "", digest=digest).text
    assert lines_of(service) == ["topup"]
    assert "0 new" in upload(ann, content)[0]
    wrong = ann.upload("/bank", {"file": b"date,reference\n"})
    assert (wrong.status_code, "The columns must be" in wrong.text) == (422, False)
    assert "the columns must be" in wrong.text
    assert ann.get(f"/bank/statements/{'0' * 64}").status_code == 404
    assert ann.send("/bank/book", "", digest="0" * 64).status_code == 404


async def test_a_large_statement_waits_for_a_second_person(careful_bank: Service) -> None:
    service = careful_bank
    ann, bea = await desk_of(service, "finance"), await desk_of(service, "finance")
    support = await desk_of(service, "support")
    customer = await new_customer(service, balance=0)
    content = (
        f"{HEADER}{yesterday()},FT1,Aisha {customer.account},,900.00,900.00\n"
        f"{yesterday()},FT2,Aisha {customer.account},,200.00,1100.00\n"
        f"{yesterday()},FT3,Nobody,,7.00,1107.00\n"
    )
    _, digest = upload(ann, content)
    asked = ann.send("/bank/book", "", digest=digest)
    assert "The statement waits for a second person." in asked.text
    assert "Confirm and book" not in asked.text
    assert lines_of(service) == []

    page = bea.get(f"/bank/statements/{digest}").text
    assert "2 top-ups" in page
    assert "1,100.00" in page
    assert "1 unallocated" in page
    [movement] = set(re.findall(r"mov_[0-9a-f]{32}", page))
    assert "all lines" in bea.get("/money").text
    path = f"/money/movements/{movement}"
    assert ann.send(path, "/make").status_code == 409
    assert support.send(path, "/make").status_code == 403
    assert support.get(f"/bank/statements/{digest}").status_code == 403
    assert lines_of(service) == []
    assert "is imported" in bea.send(path, "/make").text
    assert lines_of(service) == ["topup", "topup", "receipt"]
    rows = service.execute("SELECT DISTINCT imported_by FROM bank_lines")
    [row] = service.execute("SELECT requested_by, decided_by FROM pending_movements")
    assert [each["imported_by"] for each in rows] == [row["requested_by"]]
    assert row["requested_by"] != row["decided_by"]


async def test_a_refused_statement_books_nothing(careful_bank: Service) -> None:
    service = careful_bank
    ann, bea = await desk_of(service, "finance"), await desk_of(service, "finance")
    customer = await new_customer(service, balance=0)
    content = f"{HEADER}{yesterday()},FT1,Aisha {customer.account},,9000.00,9000.00\n"
    _, digest = upload(ann, content)
    ann.send("/bank/book", "", digest=digest)
    [movement] = set(re.findall(r"mov_[0-9a-f]{32}", bea.get("/money").text))
    refused = bea.send(f"/money/movements/{movement}", "/refuse", reason="Not from the bank")
    assert "is refused" in refused.text
    assert lines_of(service) == []
    assert "Book the statement" in ann.get(f"/bank/statements/{digest}").text
