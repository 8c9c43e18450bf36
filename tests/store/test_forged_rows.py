"""Rows that somebody writes or changes in the database open nothing without the master key."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

import asyncpg
import pytest

from laari.rules.limits.invitations import INVITATION_LIFE
from laari.rules.limits.password_links import PASSWORD_LINK_LIFE
from laari.rules.people.customer_signups import BeginSignUp, FinishSignUp
from laari.rules.people.invitations import Offer
from laari.rules.people.password_links import AskPasswordLink
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import CustomerId, PersonId
from laari.rules.tokens import IssueToken
from laari.store.batch.runner import BatchRunner
from laari.store.counters import sessions
from laari.store.merchants import oauth
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import customer_signups, invitations, logins, password_links
from laari.store.secrets import derive
from tests import shops
from tests.actors import MASTER, OPERATOR, change
from tests.factors import turned_on
from tests.logins import opened, password_link, use_link
from tests.making import make_customer, make_merchant
from tests.messages.outbox import content_of
from tests.people import RefusedError, add, decided, invite, token_of

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
TOKEN = "t" * 43
FORGED = sha256(TOKEN.encode()).digest()


class People(NamedTuple):
    connection: asyncpg.Connection
    customer: CustomerId
    victim: CustomerId
    cashier: PersonId  # of a shop
    admin: PersonId  # of the operator
    shop: str


@pytest.fixture
async def people(dsn: str) -> AsyncIterator[People]:
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, MASTER, name="Shop", mode="live")
        place = (connection, OPERATOR, shop.merchant.id)
        await add(*place, "owner@b.mv", "owner", None, NewLogin("hash"))
        cashier = await add(*place, "c@b.mv", "cashier", "1", NewLogin("hash"))
        admin = await add(connection, OPERATOR, None, "o@b.mv", "admin", None, NewLogin("hash"))
        made = [
            await make_customer(
                connection, OPERATOR, name="Ali", mode="live", tier="basic", password="secret"
            )
            for _ in range(2)
        ]
        customer, victim = (CustomerId(each.id) for each in made)
        yield People(connection, customer, victim, cashier.id, admin.id, shop.merchant.id)


async def test_a_session_written_by_hand_opens_nothing(people: People) -> None:
    await people.connection.execute(
        "INSERT INTO sessions (digest, binding, person_id, created_at, authenticated_at, seen_at) "
        "VALUES ($1, $1, $2, $3, $3, $3)",
        FORGED,
        people.admin.id,
        NOW,
    )
    assert await sessions.of_person(people.connection, MASTER, TOKEN, NOW) is None
    assert await sessions.half_open(people.connection, MASTER, TOKEN, NOW) is None


async def test_a_session_given_to_another_person_opens_nothing(people: People) -> None:
    own = await opened(people.connection, "c@b.mv", NOW)
    assert await sessions.of_person(people.connection, MASTER, own, NOW) is not None
    await people.connection.execute("UPDATE sessions SET person_id = $1", people.admin.id)
    assert await sessions.of_person(people.connection, MASTER, own, NOW) is None


async def test_a_session_of_one_page_stays_on_it(people: People) -> None:
    page = "/pay/x"
    own = await opened(people.connection, people.customer.id, NOW, page)
    assert await sessions.of_customer(people.connection, MASTER, own, NOW, page) is not None
    await people.connection.execute("UPDATE sessions SET page = NULL")
    assert await sessions.of_customer(people.connection, MASTER, own, NOW, page) is None


async def test_a_half_open_session_is_not_completed_by_hand(people: People) -> None:
    connection = people.connection
    await turned_on(connection, people.admin, NOW)
    half = await opened(connection, "o@b.mv", NOW)
    assert await sessions.half_open(connection, MASTER, half, NOW) == people.admin
    await connection.execute("UPDATE sessions SET factor_due = false")
    assert await sessions.of_person(connection, MASTER, half, NOW) is None


async def test_a_password_link_written_by_hand_sets_nothing(people: People) -> None:
    await people.connection.execute(
        "INSERT INTO password_links (digest, binding, whose, kind, expires_at) "
        "VALUES ($1, $1, $2, 'person', $3)",
        FORGED,
        people.admin.id,
        NOW + PASSWORD_LINK_LIFE,
    )
    assert await password_links.find(people.connection, MASTER, TOKEN, NOW) is None
    assert not await use_link(people.connection, TOKEN, "new", NOW)


async def test_a_password_link_given_to_another_sets_nothing(people: People) -> None:
    token = await password_link(people.connection, people.customer, NOW)
    await people.connection.execute("UPDATE password_links SET whose = $1", people.victim.id)
    assert await password_links.find(people.connection, MASTER, token, NOW) is None
    assert not await use_link(people.connection, token, "new", NOW)
    kept = await logins.password_hash_of(people.connection, people.victim)
    assert kept != "new"


async def test_a_request_for_a_code_is_no_link(people: People) -> None:
    connection = people.connection
    await change(
        connection, "UPDATE customers SET mobile = '7771234' WHERE id = $1", people.victim.id
    )
    channels = frozenset({"sms"})
    await decided(connection, AskPasswordLink(people.victim, TOKEN), NOW, MASTER, channels)
    await connection.execute("UPDATE password_links SET code_digest = NULL")
    assert await password_links.find(connection, MASTER, TOKEN, NOW) is None


async def test_an_invitation_written_by_hand_lets_nobody_in(people: People) -> None:
    await change(
        people.connection,
        "INSERT INTO invitations (digest, merchant_id, email, role, created_at, expires_at, "
        "proves) VALUES ($1, $2, 'evil@b.mv', 'owner', $3, $4, true)",
        FORGED,
        people.shop,
        NOW,
        NOW + INVITATION_LIFE,
    )
    assert await invitations.find(people.connection, MASTER, TOKEN, NOW) is None


async def test_a_sign_up_proves_the_number_that_got_the_code(people: People) -> None:
    connection = people.connection
    begin = BeginSignUp(TOKEN, "7775555", "Ali", "hash", "en")
    await decided(connection, begin, NOW, channels=frozenset({"sms"}))
    code = content_of(await connection.fetchrow("SELECT * FROM messages"))["code"]
    await connection.execute("UPDATE customer_signups SET mobile = '7770000'")
    finish = FinishSignUp(OPERATOR, customer_signups.of_request(MASTER, TOKEN), TOKEN, code)
    with pytest.raises(RefusedError):
        await decided(connection, finish, NOW)
    await connection.execute(
        "UPDATE customer_signups SET mobile = '7775555', password_hash = 'mine', attempts = 0"
    )
    with pytest.raises(RefusedError):
        await decided(connection, finish, NOW)
    await connection.execute("UPDATE customer_signups SET password_hash = 'hash', attempts = 0")
    assert (await decided(connection, finish, NOW)).mobile == "7775555"


async def test_an_access_token_keeps_its_client_and_scope(people: People, dsn: str) -> None:
    connection = people.connection
    clients = [
        (await shops.create_client(connection, OPERATOR, MASTER, people.shop, scope))[0].id
        for scope in ("payments:read", "payments:create")
    ]
    held = oauth.token_digest(MASTER, TOKEN)
    binding = oauth.bind_token(MASTER, held, clients[0], "payments:read")
    runner = BatchRunner(dsn, "")
    await runner.run([IssueToken(held, binding, clients[0], "payments:read", 0)], 1.0)
    await runner.close()

    async def works() -> bool:
        return held in await oauth.by_token_digest(MASTER, connection, [held])

    assert await works()
    for statement in (
        "UPDATE access_tokens SET scope = 'payments:create'",
        f"UPDATE access_tokens SET client_id = '{clients[1]}'",
    ):
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(statement)
        assert not await works()
        await transaction.rollback()


async def test_secrets_of_messages_are_not_in_the_database(people: People) -> None:
    connection = people.connection
    offer = Offer("a@b.mv", "manager")
    made = await invite(connection, OPERATOR, MASTER, people.shop, offer, NOW, language="en")
    row = await connection.fetchrow("SELECT * FROM messages")
    assert content_of(row)["link"] == made.link
    assert made.link.encode() not in row["parameters"]
    token = token_of(made)
    assert token.encode() not in row["parameters"]
    assert await connection.fetchval("SELECT digest FROM invitations") == derive(
        MASTER, "invitation", token
    )
