"""Batches that lock nothing: no transaction around them, and the same promises."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import asyncpg

from laari.rules.payments import CreatePayment, PaymentDraft
from laari.rules.records import AccessToken, Payment, Tenant
from laari.rules.tokens import IssueToken
from laari.spine.engine import PATIENT_LOCK_SECONDS, Spine
from laari.store.batch import BatchRunner
from laari.store.database import connection_to


def issue(number: int, scope: str = "payments:read") -> IssueToken:
    return IssueToken(number.to_bytes(32, "big"), "cl_" + "a" * 20, scope, 0)


async def test_a_row_that_cannot_be_written_fails_alone(dsn: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    spine = Spine(runner.run)
    half = "\ud800"  # of a character: it has no bytes, so nothing is sent
    commands = [issue(1), issue(2, scope=half), issue(3)]
    submitted = [asyncio.ensure_future(spine.submit(command)) for command in commands]
    await asyncio.sleep(0)
    spine.start()
    first, bad, last = await asyncio.gather(*submitted, return_exceptions=True)
    assert isinstance(first, AccessToken)
    assert isinstance(last, AccessToken)
    assert isinstance(bad, UnicodeEncodeError)
    await spine.close()
    await runner.close()
    async with connection_to(dsn) as connection:
        assert await connection.fetchval("SELECT count(*) FROM access_tokens") == 2


class Confused:
    """A connection that no longer knows what it is doing, and does not say that it is closed."""

    def is_closed(self) -> bool:
        return False

    def terminate(self) -> None:
        pass

    async def fetch(self, *arguments: Any) -> Any:
        raise asyncpg.InterfaceError("another operation is in progress")


async def test_a_connection_that_fails_while_loading_is_replaced(dsn: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    runner._connection = cast(Any, Confused())
    runner._lock_seconds = PATIENT_LOCK_SECONDS
    spine = Spine(runner.run)
    spine.start()
    tenant = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)
    made = await spine.submit(CreatePayment(tenant, PaymentDraft("ORDER-1", 100)))
    assert isinstance(made, Payment)
    await spine.close()
    await runner.close()
