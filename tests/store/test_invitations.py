"""Invitations: one use, 24 hours, one address; nothing left of those who invited and left."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import msgspec
import pytest

from laari.rules.limits.invitations import INVITATION_LIFE, OPEN_INVITATIONS
from laari.rules.merchants.applications import ApproveMerchant
from laari.rules.messages import InvitationContent
from laari.rules.people.invitations import ExpireInvitation, Offer
from laari.rules.records.people import PersonId
from laari.store.counters import sessions
from laari.store.postgres.connect import connect
from laari.store.reads.people import invitations, logins, memberships, persons, second_factors
from laari.store.reads.people.invitations import OpenInvitation
from tests import people
from tests.actors import MASTER, OPERATOR
from tests.factors import turned_on
from tests.logins import opened, password_link, reset_password, use_link
from tests.making import make_merchant, sign_up
from tests.messages.outbox import content_of
from tests.people import RefusedError, decided

NOW = datetime(2026, 11, 18, 19, 30, tzinfo=UTC)
PAGE = "http://laari.test/dashboard/join"


@pytest.fixture
async def connection(dsn: str):
    connection = await connect(dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def shop(connection: asyncpg.Connection) -> str:
    made = await make_merchant(
        connection, OPERATOR, bytes(32), name="Shop", mode="live", email="owner@b.mv"
    )
    return made.merchant.id


async def invite(connection, shop: str, email: str = "a@b.mv", role="manager", **options) -> str:
    """The token of the link."""
    offer = Offer(email, role, options.pop("till", None))
    invited = await people.invite(connection, OPERATOR, MASTER, shop, offer, NOW, **options)
    assert invited.link.startswith(f"{PAGE}/")
    return invited.link.removeprefix(f"{PAGE}/")


async def accept(connection, token: str, now: datetime = NOW, **how):
    return await people.accept(connection, OPERATOR, MASTER, token, now, **how)


async def owner_of(connection) -> PersonId:
    person = await persons.find(connection, "owner@b.mv")
    assert person is not None
    return person


async def test_a_new_person_sets_a_password_and_has_the_role(connection, shop: str) -> None:
    token = await invite(connection, shop, role="cashier", till="1")
    found = await invitations.find(connection, MASTER, token, NOW)
    assert found == OpenInvitation(
        shop, "Shop", "a@b.mv", "cashier", "1", NOW, NOW + INVITATION_LIFE, False
    )
    assert await accept(connection, token, password_hash="new") is not None
    member = await memberships.find_member(connection, shop, "a@b.mv")
    assert (member.role, member.till) == ("cashier", "1")
    assert await logins.password_hash_of(connection, member.person_id) == "new"


async def test_a_link_works_once_and_for_a_day(connection, shop: str) -> None:
    token = await invite(connection, shop)
    for late in (INVITATION_LIFE, INVITATION_LIFE + timedelta(days=1)):
        assert await invitations.find(connection, MASTER, token, NOW + late) is None
        with pytest.raises(RefusedError, match="Not found"):
            await accept(connection, token, NOW + late, password_hash="x")
    last = NOW + INVITATION_LIFE - timedelta(seconds=1)
    assert await accept(connection, token, last, password_hash="x") is not None
    for used in (token, token + "x"):
        with pytest.raises(RefusedError, match="Not found"):
            await accept(connection, used, last, password_hash="y")


async def test_two_uses_at_once_make_one_member(connection, dsn: str, shop: str) -> None:
    token = await invite(connection, shop)
    other = await connect(dsn)
    try:
        outcomes = await asyncio.gather(
            accept(connection, token, password_hash="one"),
            accept(other, token, password_hash="two"),
            return_exceptions=True,
        )
    finally:
        await other.close()
    assert sorted(isinstance(outcome, RefusedError) for outcome in outcomes) == [False, True]
    assert len(await memberships.list_members(connection, shop)) == 2


async def test_only_the_digest_is_stored(connection, shop: str) -> None:
    token = await invite(connection, shop)
    assert token not in str(await connection.fetchrow("SELECT * FROM invitations"))


async def test_a_known_person_accepts_with_the_own_login_alone(connection, shop: str) -> None:
    other = await make_merchant(
        connection, OPERATOR, bytes(32), name="Other", mode="live", email="a@b.mv"
    )
    token = await invite(connection, shop)
    found = await invitations.find(connection, MASTER, token, NOW)
    assert found is not None
    assert found.is_known
    before = await logins.of_person(connection, "a@b.mv")
    # A second person with a login, who does not work for the inviting merchant.
    await make_merchant(connection, OPERATOR, bytes(32), name="T", mode="live", email="c@b.mv")
    stranger = await persons.find(connection, "c@b.mv")
    assert stranger is not None
    owner = await owner_of(connection)
    for how in ({"password_hash": "stolen"}, {"person": owner}, {"person": stranger}, {}):
        with pytest.raises(RefusedError):
            await accept(connection, token, **how)
    assert await logins.of_person(connection, "a@b.mv") == before
    person = await persons.find(connection, "a@b.mv")
    assert person is not None
    assert await accept(connection, token, person=person) is not None
    found_at = {each.merchant_id for each in await memberships.of_person(connection, person)}
    assert found_at == {shop, other.merchant.id}
    assert len(await memberships.of_person(connection, stranger)) == 1


async def test_a_stranger_who_signed_up_with_the_address_gains_nothing(connection) -> None:
    assert await sign_up(
        connection, OPERATOR, bytes(32), 9, name="S", email="a@b.mv", password="theirs"
    )
    stranger = await opened(connection, "a@b.mv", NOW)
    made = await make_merchant(
        connection, OPERATOR, bytes(32), name="Shop", mode="live", email="owner@b.mv"
    )
    token = await invite(connection, made.merchant.id)
    found = await invitations.find(connection, MASTER, token, NOW)
    assert found is not None
    assert not found.is_known
    assert await accept(connection, token, password_hash="mine") is not None
    assert await sessions.of_person(connection, MASTER, stranger, NOW) is None
    member = await memberships.find_member(connection, made.merchant.id, "a@b.mv")
    assert await logins.password_hash_of(connection, member.person_id) == "mine"


async def stranger_at(connection, email: str) -> PersonId:
    """An owner of a shop that somebody made by sign-up."""
    assert await sign_up(connection, OPERATOR, bytes(32), 9, name="S", email=email, password="x")
    person = await persons.find(connection, email)
    assert person is not None
    return person


async def proven(connection, email: str) -> bool:
    return await connection.fetchval("SELECT proven FROM persons WHERE email = $1", email)


async def test_an_inviter_who_sees_the_link_cannot_take_over_a_login(connection) -> None:
    victim = await stranger_at(connection, "victim@b.mv")
    attacker = await stranger_at(connection, "attacker@b.mv")
    [place] = await memberships.of_person(connection, attacker)
    assert place.merchant_id is not None
    token = await invite(connection, place.merchant_id, "victim@b.mv", by=attacker)
    found = await invitations.find(connection, MASTER, token, NOW)
    assert found is not None
    assert found.is_known
    before = await logins.password_hash_of(connection, victim)
    with pytest.raises(RefusedError, match="log in first"):
        await accept(connection, token, password_hash="stolen")
    assert await logins.password_hash_of(connection, victim) == before
    # The person with the password may accept; that proves nothing about the address either.
    assert await accept(connection, token, person=victim) is not None
    assert not await proven(connection, "victim@b.mv")


async def test_a_link_that_the_inviter_saw_does_not_prove_the_address(connection) -> None:
    attacker = await stranger_at(connection, "attacker@b.mv")
    [place] = await memberships.of_person(connection, attacker)
    assert place.merchant_id is not None
    token = await invite(connection, place.merchant_id, "boss@big.mv", by=attacker)
    assert await accept(connection, token, password_hash="the attacker's") is not None
    made = await make_merchant(
        connection, OPERATOR, bytes(32), name="Big", mode="live", email="boss@big.mv", password="p"
    )
    assert made.password == "p"  # not the attacker's
    assert await proven(connection, "boss@big.mv")


async def test_an_emailed_link_proves_the_address(connection, shop: str) -> None:
    owner = await owner_of(connection)
    token = await invite(connection, shop, by=owner, language="en")
    assert await accept(connection, token, password_hash="x") is not None
    assert await proven(connection, "a@b.mv")


async def test_a_stranger_s_second_factor_does_not_outlive_the_proof(connection) -> None:
    for number, way in enumerate(("invitation", "reset", "link")):
        email = f"{number}@b.mv"
        person = await stranger_at(connection, email)
        await turned_on(connection, person, NOW)
        assert await second_factors.status(connection, person) is not None
        if way == "invitation":
            other = await stranger_at(connection, f"other{number}@b.mv")
            [place] = await memberships.of_person(connection, other)
            token = await invite(connection, place.merchant_id or "", email)
            assert await accept(connection, token, password_hash="mine") is not None
        elif way == "reset":
            await reset_password(connection, OPERATOR, person, "mine")
        else:
            token = await password_link(connection, person, NOW)
            assert await use_link(connection, token, "mine", NOW)
        assert await second_factors.status(connection, person) is None


async def test_emails_alone_do_not_open_a_live_merchant_with_a_second_factor(connection) -> None:
    """A shop that signed up and was approved: nobody has proved the address of its owner."""
    for number, way in enumerate(("invitation", "link")):
        email = f"{number}@b.mv"
        person = await stranger_at(connection, email)
        [place] = await memberships.of_person(connection, person)
        await decided(connection, ApproveMerchant(OPERATOR, place.merchant_id or ""))
        await turned_on(connection, person, NOW)
        if way == "invitation":
            other = await stranger_at(connection, f"other{number}@b.mv")
            [place] = await memberships.of_person(connection, other)
            token = await invite(connection, place.merchant_id or "", email)
            assert await accept(connection, token, password_hash="mine") is not None
        else:
            token = await password_link(connection, person, NOW)
            assert await use_link(connection, token, "mine", NOW)
        assert await second_factors.status(connection, person) is not None


async def test_a_new_invitation_replaces_the_old_one(connection, shop: str) -> None:
    old = await invite(connection, shop, role="owner")
    new = await invite(connection, shop, role="accountant")
    with pytest.raises(RefusedError, match="Not found"):
        await accept(connection, old, password_hash="x")
    [listed] = await invitations.list_open(connection, shop, NOW)
    assert listed.role == "accountant"
    assert await people.withdraw(connection, OPERATOR, shop, "a@b.mv")
    with pytest.raises(RefusedError, match="no open invitation"):
        await people.withdraw(connection, OPERATOR, shop, "a@b.mv")
    with pytest.raises(RefusedError, match="Not found"):
        await accept(connection, new, password_hash="x")


@pytest.mark.parametrize("way", ["demoted", "removed", "gave the ownership away"])
async def test_invitations_end_with_the_ownership_of_their_inviter(
    connection, shop: str, way: str
) -> None:
    owner = await owner_of(connection)
    await accept(connection, await invite(connection, shop, "b@b.mv", "owner"), password_hash="x")
    other = (await memberships.find_member(connection, shop, "b@b.mv")).person_id
    friend = await invite(connection, shop, "friend@b.mv", "owner", by=owner)
    kept = await invite(connection, shop, "kept@b.mv", by=other)
    if way == "demoted":
        await people.set_role(connection, OPERATOR, shop, owner, "manager")
    elif way == "removed":
        await people.remove(connection, OPERATOR, shop, owner)
    else:
        await people.transfer_ownership(connection, OPERATOR, shop, owner, other)
    with pytest.raises(RefusedError, match="Not found"):
        await accept(connection, friend, password_hash="x")
    assert await accept(connection, kept, password_hash="x") is not None


async def test_a_member_is_not_invited_again_and_invitations_are_bounded(
    connection, shop: str
) -> None:
    with pytest.raises(RefusedError, match="already logs in"):
        await invite(connection, shop, "owner@b.mv")
    for number in range(OPEN_INVITATIONS):
        await invite(connection, shop, f"{number}@b.mv")
    with pytest.raises(RefusedError, match="at most"):
        await invite(connection, shop)
    await invite(connection, shop, "1@b.mv")  # again: it replaces its own


async def test_the_email_is_written_with_its_cause(connection, shop: str) -> None:
    token = await invite(connection, shop, language="dv")
    row = await connection.fetchrow("SELECT * FROM messages")
    assert (row["kind"], row["channel"], row["language"]) == ("invitation", "email", "dv")
    assert row["recipient"] == "a@b.mv"
    content = msgspec.convert(content_of(row), InvitationContent)
    assert content == InvitationContent("Shop", "manager", NOW + INVITATION_LIFE, f"{PAGE}/{token}")
    with pytest.raises(RefusedError):
        await invite(connection, shop, "owner@b.mv", language="en")
    assert await connection.fetchval("SELECT count(*) FROM messages") == 1


async def test_only_an_owner_gives_the_ownership_away(connection, shop: str) -> None:
    owner = await owner_of(connection)
    await accept(connection, await invite(connection, shop), password_hash="x")
    other = (await memberships.find_member(connection, shop, "a@b.mv")).person_id
    for giver, receiver in ((other, owner), (owner, owner)):
        with pytest.raises(RefusedError, match="Only an owner"):
            await people.transfer_ownership(connection, OPERATOR, shop, giver, receiver)


async def test_an_invitation_ends_after_its_time(connection, shop: str) -> None:
    await invite(connection, shop)
    expire, end = ExpireInvitation(shop, "a@b.mv"), NOW + INVITATION_LIFE
    assert await invitations.overdue(connection, end - timedelta(seconds=1), 9) == []
    assert await invitations.overdue(connection, end, 9) == [(shop, "a@b.mv")]
    assert not await decided(connection, expire, end - timedelta(seconds=1))
    assert await decided(connection, expire, end)
    assert not await decided(connection, expire, end)  # another process was first
    assert await connection.fetchval("SELECT count(*) FROM invitations") == 0
