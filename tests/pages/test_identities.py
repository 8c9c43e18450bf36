"""Identity data: entered on the desk, encrypted, and shown only for a reason."""

import json
from datetime import date

import asyncpg
import pytest

from laari.rules import ids
from laari.rules.people.identities import EnterIdentity, Identity, ViewIdentity
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.making import make_customer
from tests.pages.operators import Desk, desk_of
from tests.pages.people import new_customer
from tests.people import RefusedError, decided
from tests.serving import Service

KEY = bytes(32)
IDENTITY = {
    "document": "national_id",
    "number": "Z-4711<b>",
    "born": "1990-12-31",
    "address": "H. Kokaa & Moonlight, Malé",
}
SHOWN = ("Z-4711&lt;b&gt;", "31 Dec 1990", "Kokaa &amp; Moonlight", "National identity card</dd>")


def kept_by(service: Service) -> str:
    """Everything that the database keeps about entries and identities, as text."""
    rows = service.execute(
        "SELECT to_jsonb(j)::text AS kept FROM journal j UNION ALL "
        "SELECT to_jsonb(i)::text || encode(i.encrypted, 'escape') FROM customer_identities i"
    )
    return "".join(row["kept"] for row in rows)


@pytest.fixture
async def support(service: Service) -> Desk:
    return await desk_of(service, "support")


async def test_identity_data_is_shown_only_for_a_reason(service: Service, support: Desk) -> None:
    customer = await new_customer(service)
    page = f"/customers/{ids.show_id(ids.CUSTOMER, customer.id)}"
    assert support.send(page, "/view-identity", reason="Curious").status_code == 409
    for wrong in (
        {"document": "library_card"},
        {"number": ""},
        {"born": "31.12.1990"},
        {"born": "2190-12-31"},
        {"address": "x" * 501},
        {"reason": " "},
    ):
        given = {**IDENTITY, "reason": "New account", **wrong}
        refused = support.send(page, "/identity", **given)
        assert refused.status_code == 422
        assert "Z-4711" not in refused.text
    entered = support.send(page, "/identity", **IDENTITY, reason="New account").text
    assert "is kept" in entered
    assert not any(text in entered for text in SHOWN)
    assert not any(text in support.get(page).text for text in SHOWN)
    assert support.send(page, "/view-identity", reason="").status_code == 422
    viewed = support.send(page, "/view-identity", reason="The bank asks")
    assert all(text in viewed.text for text in SHOWN)
    assert viewed.headers["cache-control"] == "no-store"
    entries = service.execute(
        "SELECT action, actor_role, reason FROM journal WHERE object_id = $1 "
        "AND action LIKE 'identity.%' ORDER BY id",
        ids.show_id(ids.CUSTOMER, customer.id),
    )
    assert [tuple(entry) for entry in entries] == [
        ("identity.enter", "support", "New account"),
        ("identity.view", "support", "The bank asks"),
    ]
    for fact, said, answer in (
        ("number", "z 4711 b", "It fits"),
        ("born", "1990-12-30", "It does not fit"),
        ("address", "x", "Choose the date"),
    ):
        compared = support.send(page, "/compare-identity", fact=fact, said=said)
        assert answer in compared.text
        assert not any(text in compared.text for text in SHOWN)
    notes = support.get(page).text.split('id="notes"')[1]
    assert "Caller verified: asked for the number of the document." in notes
    assert "Caller NOT verified: asked for the date of birth." in notes
    # The encrypted data is not there either: entries stay forever, and data can be deleted.
    [digest] = service.execute(
        "SELECT after::json ->> 'encrypted' AS held FROM journal WHERE action = 'identity.enter' "
        "AND object_id = $1",
        ids.show_id(ids.CUSTOMER, customer.id),
    )
    assert len(digest["held"]) == 32
    assert "Z-4711" not in kept_by(service)
    assert "Kokaa" not in kept_by(service)
    assert "is deleted" in support.send(page, "/remove-identity", reason="On request").text
    assert support.send(page, "/remove-identity", reason="Again").status_code == 409
    assert support.send(page, "/view-identity", reason="Late").status_code == 409


async def test_finance_has_nothing_of_it(service: Service, support: Desk) -> None:
    customer = await new_customer(service)
    page = f"/customers/{ids.show_id(ids.CUSTOMER, customer.id)}"
    support.send(page, "/identity", **IDENTITY, reason="New account")
    finance = await desk_of(service, "finance")
    assert "View the identity data" not in finance.get(page).text
    assert finance.send(page, "/view-identity", reason="Curious").status_code == 403
    assert finance.send(page, "/identity", **IDENTITY, reason="Mine").status_code == 403


async def test_data_of_another_customer_does_not_open(dsn: str) -> None:
    identity = Identity("passport", "A1", date(1990, 1, 1), "Malé")
    assert "A1" not in repr(identity)
    async with connection_to(dsn) as connection:
        first, second = [
            await make_customer(connection, OPERATOR, name=name, mode="live", tier="basic")
            for name in ("Aisha", "Ibrahim")
        ]
        for customer in (first, second):
            await decided(connection, EnterIdentity(OPERATOR, customer.id, identity, "New"))
        assert await decided(connection, ViewIdentity(OPERATOR, first.id, "Asked")) == identity
        before = await connection.fetchval("SELECT count(*) FROM journal")
        another = ViewIdentity(OPERATOR, first.id, "Another key")
        with pytest.raises(RefusedError, match="does not open"):
            await decided(connection, another, master=b"1" * 32)
        # Without its entry nothing is shown.
        with pytest.raises(asyncpg.CheckViolationError):
            await decided(connection, ViewIdentity(OPERATOR, first.id, "x" * 501))
        async with connection.transaction():
            await connection.execute("SET LOCAL session_replication_role = replica")
            await connection.execute(
                "UPDATE customer_identities SET encrypted = (SELECT encrypted "
                "FROM customer_identities WHERE customer_id = $1) WHERE customer_id = $2",
                first.id,
                second.id,
            )
        with pytest.raises(RefusedError, match="does not open"):
            await decided(connection, ViewIdentity(OPERATOR, second.id, "Moved"))
        assert await connection.fetchval("SELECT count(*) FROM journal") == before


@pytest.mark.ci
async def test_the_command_line_reads_and_writes_it(service: Service) -> None:
    customer = await new_customer(service)
    customer_id = ids.show_id(ids.CUSTOMER, customer.id)
    wrong = service.laari(
        "customer",
        "set-identity",
        customer_id,
        "--reason",
        "New",
        "--identity",
        '{"document": "passport", "number": 4711}',
    )
    assert (wrong.returncode, "4711" in wrong.stderr) == (1, False)
    done = service.laari(
        "customer",
        "set-identity",
        customer_id,
        "--reason",
        "New",
        "--json",
        "--identity",
        json.dumps(IDENTITY),
    )
    assert "Z-4711" not in done.stdout
    shown = service.laari(
        "customer", "view-identity", customer_id, "--reason", "The bank asks", "--json"
    )
    assert json.loads(shown.stdout) == IDENTITY
    assert "Z-4711" not in service.laari("customer", "show", customer_id).stdout
