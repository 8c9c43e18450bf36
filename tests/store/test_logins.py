"""Who is found by what somebody types to log in."""

import pytest

from laari.rules.records.tenants import Mode
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import logins
from tests.actors import OPERATOR
from tests.making import make_customer


@pytest.mark.parametrize("mode", ["live", "sandbox"])
async def test_a_contact_of_the_other_mode_logs_nobody_in(dsn: str, mode: Mode) -> None:
    async with connection_to(dsn) as connection:
        made = await make_customer(
            connection,
            OPERATOR,
            name="A",
            mode=mode,
            tier="basic",
            password="x",
            email="a@b.example",
        )
        other: Mode = "sandbox" if mode == "live" else "live"
        own = await logins.of_customer(connection, mode, mobile=None, email="a@b.example", vpa=None)
        assert own is not None
        assert own.whose == logins.CustomerId(made.id)
        assert (
            await logins.of_customer(connection, other, mobile=None, email="a@b.example", vpa=None)
            is None
        )
