"""A page that several callers share is shown once, and what depends on the moment is each one's."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

from msgspec import json
from msgspec.structs import replace

from laari.edge.backend import Backend
from laari.edge.input.cursors import Cursors
from laari.edge.merchant.lists import ListQuery
from laari.edge.merchant.operations import Caller, Context
from laari.edge.merchant.payments import LIST
from laari.http.messages import Reply
from laari.rules.payments.payments import ExpirePayment
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant
from laari.store.reads.listing import Found
from tests.actors import OPERATOR

NOW = datetime.now(UTC)
ROW = Payment(
    uuid4(),
    1,
    "hosted",
    "token",
    "ORDER-1",
    100,
    None,
    None,
    None,
    None,
    None,
    "{}",
    NOW,
    NOW + timedelta(hours=1),
    None,
    None,
    "pending",
    None,
    None,
    None,
    None,
    None,
    None,
    None,
    None,
    None,
)


class SharedPage:
    """A backend whose callers all get the same page, as those do who ask at the same time."""

    origin = "http://laari.test"
    cursors = Cursors(b"key")

    def __init__(self) -> None:
        self.found = Found([ROW], None)
        self.spine = SimpleNamespace(submit=self.submit)

    async def page(self, listing: object) -> Found[Payment]:
        return self.found

    async def submit(self, command: ExpirePayment) -> Payment:
        return replace(ROW, status="expired")

    def asked_by(self, tenant: Tenant) -> tuple[bytes, str]:
        context = Context(cast(Backend, self), Caller(tenant, None, lambda: OPERATOR))
        reply = asyncio.run(LIST.get(context, ListQuery()))
        assert isinstance(reply, Reply)
        body: Any = json.decode(reply.body)
        return reply.body, body["data"][0]["status"]


def tenant(clock_offset: int = 0) -> Tenant:
    return Tenant(1, "mer_1", "Shop", "sandbox", 0, 0, clock_offset, 7_700_000_000_001, True)


def test_a_shared_page_is_written_once() -> None:
    shared = SharedPage()
    first, _ = shared.asked_by(tenant())
    assert shared.asked_by(tenant())[0] is first


def test_whoever_finds_a_row_overdue_has_a_page_of_its_own() -> None:
    shared = SharedPage()
    moved = tenant(clock_offset=7200)
    shown = [shared.asked_by(each)[1] for each in (tenant(), moved, tenant(), moved)]
    assert shown == ["pending", "expired", "pending", "expired"]
    assert shared.found.rows == [ROW]
