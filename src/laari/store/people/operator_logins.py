"""The log-in of an operator outside the desk: password and code, without a session."""

from datetime import datetime

from asyncpg import Connection

from laari.errors import LaariError
from laari.rules.actors import Actor
from laari.rules.people.permissions import Permission, may
from laari.rules.people.second_factors import CheckFactor
from laari.rules.records.people import PersonId
from laari.store.batch.inside import decide_inside
from laari.store.counters import failed_logins
from laari.store.people.passwords import nobodys_hash, password_fits
from laari.store.reads.people import logins, memberships
from laari.store.secrets import keys_of


async def authenticate(
    connection: Connection,
    master: bytes,
    email: str,
    password: str,
    code: str,
    *,
    permission: Permission,
    now: datetime,
) -> Actor:
    """The operator as an actor. Wrong passwords and codes count as they do on the desk."""
    login = await logins.of_person(connection, email)
    known = None if login is None else login.password_hash
    fits = password_fits(password, known or nobodys_hash())
    if login is None or known is None or not fits:
        if login is not None:
            await failed_logins.count(connection, login.whose, now)
        raise LaariError("the email address or the password is wrong")
    assert isinstance(login.whose, PersonId)
    every = await memberships.of_person(connection, login.whose)
    role = next((each.role for each in every if each.merchant_id is None), None)
    if role is None:
        raise LaariError("this person does not work for the operator")
    must_change = "SELECT password_must_change FROM persons WHERE id = $1"
    if await connection.fetchval(must_change, login.whose.id):
        raise LaariError("log in to the desk and set a password of your own first")
    async with connection.transaction():
        check = CheckFactor(login.whose, code)
        refused = await decide_inside(connection, check, keys=keys_of(master))
    if refused is not None:
        raise LaariError(refused.message)
    if not may(role, permission):
        raise LaariError(f"the role {role} cannot do this")
    return Actor("operator", email, role)
