"""Logging in with a password: slow on purpose, alike for people who do not exist, and throttled."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from functools import cache
from typing import Literal, NamedTuple

from markupsafe import Markup

from laari.edge.addresses import household
from laari.edge.pages.visit import Visit
from laari.edge.rate import named_bucket
from laari.rules.contacts import read_email, read_mobile, read_vpa
from laari.rules.records import Mode
from laari.store import customers, sessions
from laari.store.passwords import hash_password, new_password, password_fits
from laari.store.sessions import CustomerSession, Login, Session

REASK_AFTER = timedelta(minutes=10)  # paying and approving want the password more recently
MAX_PASSWORD = 1024  # characters

Problem = Literal["wrong", "throttled"]  # texts of `[login]`
STATUSES: dict[Problem, int] = {"wrong": 422, "throttled": 429}


class Throttle(NamedTuple):
    """So many attempts at once, then one in so many seconds."""

    burst: int
    seconds: float

    @property
    def rate(self) -> float:
        return 1 / self.seconds

    @property
    def over(self) -> float:
        return self.burst * self.seconds


PER_IDENTITY = Throttle(10, 30)
# Many customers share one address behind a mobile network.
PER_ADDRESS = Throttle(100, 1)

_hashing = asyncio.Semaphore(2)  # each takes 64 MB and a processor for a while


async def log_in_customer(visit: Visit, mode: Mode) -> Problem | None:
    """Logs in whoever the form's `identity` and `password` name, or says why not."""
    identity = visit.form.get("identity", "").strip()[:300]
    suffixes = visit.backend.settings.vpa_suffixes
    mobile, email, vpa = read_mobile(identity), read_email(identity), read_vpa(identity, suffixes)
    if vpa is not None:
        email = None  # name@suffix of ours is no email address
    login = await visit.backend.ask(
        sessions.customer_login, mode, mobile=mobile, email=email, vpa=vpa
    )
    return await _log_in(visit, login, f"{mode} {mobile or email or vpa or identity}")


async def log_in_user(visit: Visit) -> Problem | None:
    """The same for one of a merchant's people, by email."""
    email = read_email(visit.form.get("identity", "")[:300])
    login = None if email is None else await visit.backend.ask(sessions.user_login, email)
    return await _log_in(visit, login, f"user {email}")


async def _log_in(visit: Visit, login: Login | None, identity: str) -> Problem | None:
    problem = await _try(visit, None if login is None else login.password_hash, identity)
    if login is not None and problem is None:
        await visit.start_session(login.whose)
    return problem


async def customer_in(visit: Visit, mode: Mode) -> CustomerSession | None:
    """The customer who is logged in, if they are one of this mode: live or sandbox."""
    customer = await visit.customer()
    return customer if customer is not None and customer.mode == mode else None


def is_fresh(visit: Visit, session: Session) -> bool:
    """Whether the password was given recently enough to pay or approve without asking again."""
    return visit.now - session.authenticated_at <= REASK_AFTER


async def confirm_password(visit: Visit, session: Session) -> Problem | None:
    """Takes the form's `password` as given anew by whoever is logged in, or says why not."""
    password_hash = await visit.backend.ask(sessions.password_hash_of, session)
    problem = await _try(visit, password_hash, session.digest.hex())
    if problem is None:
        await visit.backend.write(sessions.note_authenticated, session, visit.now)
    return problem


def confirm_failed(visit: Visit, problem: Problem) -> Markup:
    """What to say of a password that was asked for again and did not fit."""
    return visit.language.text("login.again_wrong" if problem == "wrong" else "login.throttled")


async def change_password(visit: Visit, customer: CustomerSession, password: str) -> None:
    """Gives the customer a new password; whoever else is logged in with the old one is out."""
    async with _hashing:
        password_hash = await asyncio.to_thread(hash_password, password)
    await visit.backend.write(customers.set_password, customer.customer_id, password_hash)
    await visit.backend.write(sessions.end_others, customer)
    await visit.start_session(customer.customer_id)


async def _try(visit: Visit, password_hash: str | None, identity: str) -> Problem | None:
    """One attempt with the form's password, counted for the identity and for the address.

    It takes as long for somebody who does not exist: a hash is computed either way.
    """
    rates, now = visit.backend.rates, time.monotonic()
    buckets = (
        (named_bucket("log-in identity", identity), PER_IDENTITY),
        (named_bucket("log-in address", household(visit.http.client)), PER_ADDRESS),
    )
    waits = [rates.take(key, limit.rate, now, limit.over) for key, limit in buckets]  # count in all
    if any(waits):
        return "throttled"
    password = visit.form.get("password", "")[:MAX_PASSWORD]
    async with _hashing:
        fits = await asyncio.to_thread(
            lambda: password_fits(password, password_hash or _nobodys_hash())
        )
    return None if fits and password_hash is not None else "wrong"


@cache
def _nobodys_hash() -> str:
    return hash_password(new_password())
