"""Sessions: found by their token while they live, and gone afterwards."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from laari.rules.records.people import CustomerId, PersonId
from laari.store.counters import sessions
from laari.store.counters.purge import purge_sessions
from laari.store.counters.sessions import Proof
from laari.store.postgres.connect import connect
from laari.store.reads.people import logins, memberships
from laari.store.secrets import derive
from tests.actors import MASTER, OPERATOR, change
from tests.logins import opened, reset_password, set_password, whose
from tests.making import NewCustomer, make_customer, make_merchant, sign_up
from tests.people import RefusedError

NOW = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.fixture
async def connection(dsn: str):
    connection = await connect(dsn)
    yield connection
    await connection.close()


async def person(connection: asyncpg.Connection, **contacts: str) -> NewCustomer:
    return await make_customer(
        connection, OPERATOR, name="Ali", mode="live", tier="basic", password="secret", **contacts
    )


async def test_a_session_ends_when_idle_and_at_the_end_of_its_life(connection) -> None:
    customer = await person(connection)
    token = await opened(connection, customer.id, NOW)

    async def found(after: timedelta) -> sessions.CustomerSession | None:
        return await sessions.of_customer(connection, MASTER, token, NOW + after)

    session = await found(timedelta(minutes=29))
    assert session is not None
    assert (session.account, session.mode) == (customer.account, "live")
    assert await found(timedelta(minutes=31)) is None
    for minutes in range(20, 12 * 60 + 20, 20):
        await sessions.note_seen(connection, session, NOW + timedelta(minutes=minutes))
    assert await found(timedelta(hours=11, minutes=59)) is not None
    assert await found(timedelta(hours=12, minutes=1)) is None
    assert await sessions.of_person(connection, MASTER, token, NOW) is None
    assert await sessions.of_customer(connection, MASTER, token + "x", NOW) is None


async def test_only_the_digest_is_stored(connection) -> None:
    token = await opened(connection, (await person(connection)).id, NOW)
    row = await connection.fetchrow("SELECT * FROM sessions")
    assert len(token) >= 43
    assert token not in str(row)


async def test_a_new_password_ends_all_sessions_of_one_person(connection) -> None:
    customer, neighbour = await person(connection), await person(connection, vpa="b")
    tokens = [await opened(connection, customer.id, NOW) for _ in range(3)]
    other = await opened(connection, neighbour.id, NOW)
    assert await set_password(connection, OPERATOR, CustomerId(customer.id), "new hash") == 3
    left = [
        await sessions.of_customer(connection, MASTER, token, NOW) for token in (*tokens, other)
    ]
    assert [session is not None for session in left] == [False, False, False, True]
    await opened(connection, customer.id, NOW)
    assert await sessions.end_all(connection, CustomerId(customer.id)) == 1
    assert await sessions.end_all(connection, CustomerId(customer.id)) == 0
    assert await sessions.of_customer(connection, MASTER, other, NOW) is not None


async def test_a_session_of_one_page_is_good_there_alone(connection) -> None:
    customer = await person(connection)
    token = await opened(connection, customer.id, NOW, "/pay/abc")
    everywhere = await opened(connection, customer.id, NOW)

    async def is_good(token: str, page: str | None) -> bool:
        return await sessions.of_customer(connection, MASTER, token, NOW, page) is not None

    pages = (None, "/pay/abc", "/pay/abd", "/approve/abc")
    assert [await is_good(token, page) for page in pages] == [False, True, False, False]
    assert [await is_good(everywhere, page) for page in pages] == [True] * 4


async def test_a_password_that_is_no_longer_the_one_opens_nothing(connection) -> None:
    customer = await person(connection)
    old = await logins.password_hash_of(connection, CustomerId(customer.id))
    assert old is not None
    token = await opened(connection, customer.id, NOW)
    session = await sessions.of_customer(connection, MASTER, token, NOW)
    assert session is not None
    later = NOW + timedelta(minutes=20)
    assert await sessions.note_authenticated(connection, session, later, old)
    await change(connection, "UPDATE customers SET password_hash = 'new'")
    assert (
        await sessions.open_for(connection, MASTER, CustomerId(customer.id), NOW, Proof(old))
        is None
    )
    assert not await sessions.note_authenticated(connection, session, NOW, old)
    found = await sessions.of_customer(connection, MASTER, token, NOW)
    assert found is not None
    assert found.authenticated_at == later
    who = CustomerId(customer.id)
    with pytest.raises(RefusedError, match="changed in the meantime"):
        await set_password(connection, OPERATOR, who, "newer", verified=old)
    assert await logins.password_hash_of(connection, who) == "new"


@pytest.mark.parametrize("kind", ["customer", "person"])
async def test_a_log_in_that_races_with_a_new_password_has_no_session_afterwards(
    connection, dsn: str, kind: str
) -> None:
    """The session is being opened while the change is under way, in each order of the two."""
    await make_merchant(connection, OPERATOR, bytes(32), name="S", mode="live", email="a@s.mv")
    named = (await person(connection)).id if kind == "customer" else "a@s.mv"
    who = await whose(connection, named)
    old = await logins.password_hash_of(connection, who)
    assert old is not None
    other = await connect(dsn)
    try:
        changing = other.transaction()  # the change first: the log-in waits for it and finds it
        await changing.start()
        assert await set_password(other, OPERATOR, who, "new") == 0
        opening = asyncio.create_task(sessions.open_for(connection, MASTER, who, NOW, Proof(old)))
        await asyncio.sleep(0.2)
        assert not opening.done()
        await changing.commit()
        assert await opening is None

        logging_in = other.transaction()  # the log-in first: the change waits for it and ends it
        await logging_in.start()
        assert await sessions.open_for(other, MASTER, who, NOW, Proof("new")) is not None
        change = asyncio.create_task(
            set_password(connection, OPERATOR, who, "newer", verified="new")
        )
        await asyncio.sleep(0.2)
        assert not change.done()
        await logging_in.commit()
        assert await change == 1
        assert await connection.fetchval("SELECT count(*) FROM sessions") == 0
    finally:
        await other.close()


async def test_all_people_and_live_customers_have_to_change_an_operators_password(
    connection,
) -> None:
    """A merchant in sandbox mode has a live side, or may get one while the password is the same."""

    async def must_change(who: UUID | str) -> bool:
        token = await opened(connection, who, NOW)
        find = sessions.of_person if isinstance(who, str) else sessions.of_customer
        session = await find(connection, MASTER, token, NOW)
        assert session is not None
        return session.must_change

    made: dict[str, UUID | str] = {"user sandbox only": "only@shop.mv"}
    await sign_up(
        connection, OPERATOR, bytes(32), 9, name="Shop", email="only@shop.mv", must_change=True
    )
    for mode in ("live", "sandbox"):
        customer = await make_customer(
            connection, OPERATOR, name="Ali", mode=mode, tier="basic", must_change=True
        )
        made[f"customer {mode}"] = customer.id
        email = f"{mode}@shop.mv"
        await make_merchant(
            connection, OPERATOR, bytes(32), name="Shop", mode=mode, email=email, must_change=True
        )
        made[f"user {mode}"] = email
    flags = {name: await must_change(who) for name, who in made.items()}
    assert flags == {name: name != "customer sandbox" for name in made}
    for who in made.values():
        found = await whose(connection, who)
        assert await set_password(connection, OPERATOR, found, "own") == 1
    assert not any([await must_change(who) for who in made.values()])
    for who in made.values():
        found = await whose(connection, who)
        assert await reset_password(connection, OPERATOR, found, "reset") == 1
    assert {name: await must_change(who) for name, who in made.items()} == flags
    with pytest.raises(RefusedError, match="no log-in"):
        await reset_password(connection, OPERATOR, PersonId(uuid4()), "x")


async def test_merchants_people_have_sessions_of_their_own(connection) -> None:
    made = await make_merchant(
        connection,
        OPERATOR,
        bytes(32),
        name="Shop",
        mode="live",
        email="a@shop.mv",
        password="secret",
    )
    token = await opened(connection, "a@shop.mv", NOW)
    session = await sessions.of_person(connection, MASTER, token, NOW)
    assert session is not None
    [place] = await memberships.of_person(connection, session.whose)
    assert (place.merchant_id, place.merchant_name) == (made.merchant.id, "Shop")
    assert (place.role, place.till) == ("owner", None)
    assert await sessions.of_customer(connection, MASTER, token, NOW) is None
    assert session.email == "a@shop.mv"


async def test_what_ended_is_forgotten(connection) -> None:
    customer = await person(connection)
    await opened(connection, customer.id, NOW - timedelta(hours=1))
    await opened(connection, customer.id, NOW)
    await purge_sessions(connection, NOW)
    assert await connection.fetchval("SELECT count(*) FROM sessions") == 1


async def test_a_customer_is_found_by_each_contact_and_a_number_is_a_mobile_first(
    connection,
) -> None:
    first = await person(connection, mobile="7771234", email="a@b.mv", vpa="ali")
    second = await person(connection, vpa="7771234")

    async def found(**contact: str | None):
        named = {"mobile": None, "email": None, "vpa": None, **contact}
        login = await logins.of_customer(connection, "live", **named)
        return None if login is None else login.whose.id

    assert await found(mobile="7771234", vpa="7771234") == first.id
    assert await found(email="a@b.mv") == await found(vpa="ali") == first.id
    assert await found(vpa="7771234") == second.id
    assert await found() is None
    assert (
        await logins.of_customer(connection, "sandbox", mobile="7771234", email=None, vpa=None)
        is None
    )


async def test_a_merchants_own_sandbox_customer_has_no_log_in(connection) -> None:
    await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")
    changed = await change(
        connection, "UPDATE customers SET mobile = '7770000' WHERE sandbox_of IS NOT NULL"
    )
    assert changed == "UPDATE 1"
    found = await logins.of_customer(connection, "sandbox", mobile="7770000", email=None, vpa=None)
    assert found is None


async def test_lists_of_sessions_are_bounded(connection) -> None:
    made = await make_merchant(
        connection, OPERATOR, bytes(32), name="Shop", mode="live", email="many@shop.mv"
    )
    this = derive(MASTER, "session", await opened(connection, "many@shop.mv", NOW))
    many = await whose(connection, "many@shop.mv")
    assert isinstance(many, PersonId)
    await connection.execute(
        "INSERT INTO sessions (digest, binding, person_id, created_at, authenticated_at, seen_at, "
        "merchant_id) SELECT sha256(g::text::bytea), sha256(''), $1, $2, $2, $2::timestamptz, $3 "
        "FROM generate_series(1, 1000) AS g",
        many.id,
        NOW + timedelta(minutes=1),
        made.merchant.id,
    )
    own = await sessions.list_of(connection, many, NOW, this)
    assert len(own) == sessions.MOST_LISTED
    assert own[0].is_this
    seen = await sessions.seen_at_merchant(connection, many, made.merchant.id, NOW)
    assert len(seen) == sessions.MOST_LISTED
