"""People and their roles: one person at several merchants, and an owner at each of them."""

import asyncio
from datetime import UTC, datetime

import asyncpg
import pytest

from laari.rules.actors import Actor
from laari.rules.merchants.merchant_settings import RequireFactor
from laari.rules.people.invitations import Offer
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import PersonId
from laari.store.counters import sessions
from laari.store.postgres.connect import connect
from laari.store.reads.people import logins, memberships, persons
from tests import people
from tests.actors import MASTER, OPERATOR, change
from tests.logins import opened
from tests.making import make_merchant, sign_up
from tests.people import RefusedError

NOW = datetime(2026, 11, 15, tzinfo=UTC)
LOGIN = NewLogin("hash")


@pytest.fixture
async def connection(dsn: str):
    connection = await connect(dsn)
    yield connection
    await connection.close()


async def shop(connection: asyncpg.Connection, **options) -> str:
    made = await make_merchant(
        connection, OPERATOR, bytes(32), **{"name": "Shop", "mode": "live", **options}
    )
    return made.merchant.id


async def add(connection, merchant_id: str | None, email: str, role, till=None) -> PersonId:
    return (await people.add(connection, OPERATOR, merchant_id, email, role, till, LOGIN)).id


async def roles(connection, merchant_id: str | None) -> dict[str, str]:
    found = await memberships.list_members(connection, merchant_id)
    return {member.email: member.role for member in found}


async def test_one_person_works_for_several_merchants_with_one_password(connection) -> None:
    first = await shop(connection, name="B", email="a@b.mv")
    made = await make_merchant(
        connection, OPERATOR, bytes(32), name="A", mode="live", email="a@b.mv", password="ignored"
    )
    assert made.password is None
    await add(connection, None, "a@b.mv", "support")
    person = await persons.find(connection, "a@b.mv")
    assert person is not None
    found = await memberships.of_person(connection, person)
    assert [(place.merchant_id, place.role) for place in found] == [
        (None, "support"),
        (made.merchant.id, "owner"),
        (first, "owner"),
    ]
    assert await connection.fetchval("SELECT count(*) FROM persons") == 1


async def test_one_person_has_one_role_at_one_merchant(connection) -> None:
    merchant_id = await shop(connection, email="a@b.mv")
    for place in (merchant_id, None):
        if place is None:
            await add(connection, None, "a@b.mv", "admin")
        with pytest.raises(RefusedError, match="already logs in"):
            await add(connection, place, "a@b.mv", "manager" if place else "support")


async def test_the_first_person_of_a_merchant_is_an_owner(connection) -> None:
    merchant_id = await shop(connection)
    with pytest.raises(RefusedError, match="first person"):
        await add(connection, merchant_id, "a@b.mv", "manager")
    assert await persons.find(connection, "a@b.mv") is None


async def test_the_only_owner_keeps_the_role_and_the_membership(connection) -> None:
    merchant_id = await shop(connection, email="a@b.mv")
    owner = await persons.find(connection, "a@b.mv")
    assert owner is not None
    with pytest.raises(RefusedError, match="only owner"):
        await people.remove(connection, OPERATOR, merchant_id, owner)
    other = await add(connection, merchant_id, "b@b.mv", "accountant")
    with pytest.raises(RefusedError, match="only owner"):
        await people.set_role(connection, OPERATOR, merchant_id, owner, "manager")
    with pytest.raises(RefusedError, match="only owner"):
        await people.remove(connection, OPERATOR, merchant_id, owner, may_be_last=True)
    await people.transfer_ownership(connection, OPERATOR, merchant_id, owner, other)
    assert await roles(connection, merchant_id) == {"a@b.mv": "manager", "b@b.mv": "owner"}
    await people.remove(connection, OPERATOR, merchant_id, owner)
    await people.remove(connection, OPERATOR, merchant_id, other, may_be_last=True)
    assert await roles(connection, merchant_id) == {}


async def test_two_owners_who_leave_at_once_do_not_both_leave(connection, dsn: str) -> None:
    merchant_id = await shop(connection, email="a@b.mv")
    owner = await persons.find(connection, "a@b.mv")
    assert owner is not None
    second = await add(connection, merchant_id, "b@b.mv", "owner")
    await add(connection, merchant_id, "c@b.mv", "manager")
    other = await connect(dsn)
    try:
        outcomes = await asyncio.gather(
            people.remove(connection, OPERATOR, merchant_id, owner),
            people.set_role(other, OPERATOR, merchant_id, second, "manager"),
            return_exceptions=True,
        )
    finally:
        await other.close()
    [refused] = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert isinstance(refused, RefusedError)
    assert "owner" in (await roles(connection, merchant_id)).values()


async def waits_for_lock(connection: asyncpg.Connection) -> None:
    async with asyncio.timeout(30):
        while not await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            "AND datname = current_database()"
        ):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "way", ["set_role", "remove", "transfer", "invite", "withdraw", "factor", "sessions"]
)
async def test_an_owner_who_is_demoted_meanwhile_changes_nothing(
    connection, dsn: str, way: str
) -> None:
    """The request of the second owner was allowed, then waited for the merchant's row."""
    merchant_id = await shop(connection, email="a@b.mv")
    first = await persons.find(connection, "a@b.mv")
    assert first is not None
    second = await add(connection, merchant_id, "b@b.mv", "owner")
    late = Actor("person", "b@b.mv", "owner")
    offer = Offer("c@b.mv", "owner")
    await people.invite(connection, OPERATOR, MASTER, merchant_id, offer, NOW)
    other, watch = await connect(dsn), await connect(dsn)
    ways = {
        "set_role": lambda: people.set_role(other, late, merchant_id, first, "manager"),
        "remove": lambda: people.remove(other, late, merchant_id, first),
        "transfer": lambda: people.transfer_ownership(other, late, merchant_id, second, first),
        "invite": lambda: people.invite(
            other, late, MASTER, merchant_id, Offer("d@b.mv", "owner"), NOW, by=second
        ),
        "withdraw": lambda: people.withdraw(other, late, merchant_id, "c@b.mv"),
        "sessions": lambda: people.end_sessions(other, late, merchant_id, first),
        "factor": lambda: people.decided(other, RequireFactor(late, merchant_id, True)),
    }
    before = await connection.fetchval("SELECT count(*) FROM invitations")
    try:
        async with connection.transaction():
            owner = Actor("person", "a@b.mv", "owner")
            await people.set_role(connection, owner, merchant_id, second, "manager")
            attempt = asyncio.create_task(ways[way]())
            await waits_for_lock(watch)
        with pytest.raises(RefusedError, match=r"Only an owner|Your role"):
            await attempt
    finally:
        await other.close()
        await watch.close()
    assert await roles(connection, merchant_id) == {"a@b.mv": "owner", "b@b.mv": "manager"}
    assert await connection.fetchval("SELECT count(*) FROM invitations") == before
    assert not await connection.fetchval("SELECT requires_factor FROM merchants")


async def test_the_database_keeps_an_owner_too(connection) -> None:
    merchant_id = await shop(connection, email="a@b.mv")
    await add(connection, merchant_id, "b@b.mv", "manager")
    for statement in (
        "UPDATE memberships SET role = 'manager'",
        "DELETE FROM memberships WHERE role = 'owner'",
    ):
        with pytest.raises(asyncpg.CheckViolationError, match="no owner"):
            await change(connection, statement)
    async with connection.transaction():  # in any order within one transaction
        await change(connection, "UPDATE memberships SET role = 'manager'")
        await change(connection, "UPDATE memberships SET role = 'owner'")


@pytest.mark.parametrize(
    ("at_merchant", "role", "till"),
    [
        (True, "admin", None),
        (False, "owner", None),
        (True, "cashier", None),
        (True, "manager", "1"),
        (True, "cashier", "12345678901"),
    ],
)
async def test_a_role_fits_its_place_and_only_a_cashier_has_a_till(
    connection, at_merchant: bool, role: str, till: str | None
) -> None:
    merchant_id = await shop(connection, email="a@b.mv")
    with pytest.raises(RefusedError):
        await add(connection, merchant_id if at_merchant else None, "b@b.mv", role, till)
    assert await persons.find(connection, "b@b.mv") is None


async def test_a_person_goes_with_the_last_membership(connection) -> None:
    first, second = [await shop(connection, email="a@b.mv") for _ in range(2)]
    for merchant_id in (first, second):
        await add(connection, merchant_id, "b@b.mv", "manager")
    person = await persons.find(connection, "b@b.mv")
    assert person is not None
    token = await opened(connection, "b@b.mv", NOW)
    assert await people.remove(connection, OPERATOR, first, person) == 0
    assert await sessions.of_person(connection, MASTER, token, NOW) is not None
    assert await people.remove(connection, OPERATOR, second, person) == 1
    assert await persons.find(connection, "b@b.mv") is None
    assert await sessions.of_person(connection, MASTER, token, NOW) is None


async def test_a_membership_that_is_added_during_the_removal_waits_for_it(
    connection, dsn: str
) -> None:
    first, second = [await shop(connection, email=f"{name}@b.mv") for name in "ab"]
    person = await add(connection, first, "c@b.mv", "manager")
    other = await connect(dsn)
    try:
        removal = other.transaction()
        await removal.start()
        await people.remove(other, OPERATOR, first, person)
        adding = asyncio.create_task(add(connection, second, "c@b.mv", "manager"))
        await asyncio.sleep(0.2)
        assert not adding.done()
        await removal.commit()
        await adding
    finally:
        await other.close()
    assert await roles(connection, second) == {"b@b.mv": "owner", "c@b.mv": "manager"}


async def test_a_stranger_who_signed_up_with_an_address_is_locked_out_of_the_real_role(
    connection,
) -> None:
    """Anybody could have entered the address: the operator's password replaces the stranger's."""
    assert await sign_up(
        connection, OPERATOR, bytes(32), 9, name="Shop", email="a@b.mv", password="mine"
    )
    token = await opened(connection, "a@b.mv", NOW)
    live = await shop(connection, email="owner@b.mv")
    added = await people.add(connection, OPERATOR, live, "a@b.mv", "manager", None, LOGIN)
    assert added.has_new_password
    assert await logins.password_hash_of(connection, added.id) == "hash"
    assert await sessions.of_person(connection, MASTER, token, NOW) is None
    again = await people.add(connection, OPERATOR, None, "a@b.mv", "admin", None, LOGIN)
    assert not again.has_new_password


async def test_a_visit_is_noted_for_the_session_and_the_membership(connection) -> None:
    merchant_id, other = [await shop(connection, email="a@b.mv") for _ in range(2)]
    token = await opened(connection, "a@b.mv", NOW)
    session = await sessions.of_person(connection, MASTER, token, NOW)
    assert session is not None
    await sessions.note_seen_at(connection, session, NOW, merchant_id)
    [member] = await memberships.list_members(connection, merchant_id)
    assert (member.last_seen_at, member.sessions) == (NOW, 1)
    [member] = await memberships.list_members(connection, other)
    assert member.last_seen_at is None
    session = await sessions.of_person(connection, MASTER, token, NOW)
    assert session is not None
    assert session.merchant_id == merchant_id
