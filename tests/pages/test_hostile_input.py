"""Dates at the ends of the calendar, and ids that are no ids: a page says so, and never fails."""

import pytest

from tests.pages.operators import desk_of
from tests.pages.owners import new_owner
from tests.pages.test_permissions import logged_in
from tests.serving import Service

ENDS = ("0001-01-01", "0001-01-02", "9999-12-30", "9999-12-31")


@pytest.mark.parametrize("day", ENDS)
async def test_a_day_at_the_end_of_the_calendar(service: Service, day: str) -> None:
    owner = new_owner(service, mode="live")
    admin = await desk_of(service, "admin")
    where = {"merchant": owner.shop.id, "mode": "live", "amount": "5"}
    answers = {
        path: admin.get(path, **query).status_code
        for path, query in {
            "/amounts": {**where, "day": day},
            "/money": {"day": day},
            "/money/volume": {"last": day, "first": day},
            "/money/volume.csv": {"last": day},
            "/float": {"day": day},
            "/bank": {"day": day},
            "/payouts": {"day": day},
        }.items()
    }
    fees = {"percent": "1", "fixed": "0", "from": day, "reason": "x"}
    answers["fees"] = admin.send(f"/merchants/{owner.shop.id}", "/fees", **fees).status_code
    client = await logged_in(service, owner.email)
    for path in ("journal", "journal.csv", "payments", "payments/movements", "money", "statement"):
        query = {"first": day, "last": day, "month": day[:7], "day": day}
        address = f"/{owner.shop.id}/live/{path}"
        answers[path] = client.get(address, params=query).status_code
    failed = {path: status for path, status in answers.items() if status >= 500}
    assert failed == {}


@pytest.mark.parametrize(
    "id", ["%FF%FE", "%00", "%F0%9F%92%A9", "a" * 3000, "..%2F..", "%ED%A0%80"]
)
async def test_an_id_that_is_none(service: Service, id: str) -> None:
    owner = new_owner(service, mode="live")
    admin = await desk_of(service, "admin")
    client = await logged_in(service, owner.email)
    paths = [f"/operator/{kind}/{id}" for kind in ("customers", "merchants", "payments")]
    paths += [f"/dashboard/{kind}/{id}" for kind in ("join", "forgotten")]
    paths += [f"/app/{kind}/{id}" for kind in ("contact", "forgotten")]
    paths += [f"/dashboard/{owner.shop.id}/live/{kind}/{id}" for kind in ("payments", "people")]
    for path in paths:
        http = admin.http if path.startswith("/operator") else client
        answer = http.get(f"{service.origin}{path}")
        assert answer.status_code < 500, path
