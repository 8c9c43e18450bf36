"""Logging in with a password: slow on purpose, alike for people who do not exist, and throttled."""

import math
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Literal, NamedTuple

from markupsafe import Markup

from laari.edge.load.hashing import FIRST
from laari.edge.load.overload import Overloaded
from laari.edge.load.rate import Bucket, named_bucket
from laari.edge.pages.known import known_browser, remember_browser, shows_marks
from laari.edge.pages.visit import Visit
from laari.http.addresses import client_prefix, neighbourhood
from laari.rules.contacts import read_email, read_mobile, read_vpa
from laari.rules.passwords import MAX_LENGTH
from laari.rules.records import Mode
from laari.store.people import logins, sessions
from laari.store.people.logins import Login
from laari.store.people.passwords import nobodys_hash
from laari.store.people.sessions import CustomerSession, Session

REASK_AFTER = timedelta(minutes=10)  # paying, approving and credentials want it more recently

Problem = Literal["wrong", "throttled", "busy"]  # texts of `[login]`
STATUSES: dict[Problem, int] = {"wrong": 422, "throttled": 429, "busy": 503}


class Throttle(NamedTuple):
    """So many attempts at once, then one in so many seconds."""

    burst: int
    seconds: float

    def bucket(self, *names: object) -> Bucket:
        return Bucket(named_bucket(*names), 1 / self.seconds, over=self.burst * self.seconds)


# Guesses at one person from one place; and from a browser in which that person has logged in.
PER_IDENTITY = Throttle(10, 30)
# Guesses at one person from everywhere: so many that a few strangers cannot keep the person out.
PER_IDENTITY_EVERYWHERE = Throttle(300, 10)
# Many customers share one address behind a mobile network.
PER_ADDRESS = Throttle(100, 1)
# What was asked for from one address lately; it is not a limit, but decides who goes first.
DEMAND = Throttle(1000, 60)


async def log_in_customer(visit: Visit, mode: Mode) -> Problem | None:
    """Logs in whoever the form's `identity` and `password` name, or says why not."""
    identity = visit.form.get("identity", "").strip()[:300]
    suffixes = visit.backend.settings.vpa_suffixes
    mobile, email, vpa = read_mobile(identity), read_email(identity), read_vpa(identity, suffixes)
    if vpa is not None:
        email = None  # name@suffix of ours is no email address

    async def find() -> Login | None:
        return await visit.backend.ask(
            logins.of_customer, mode, mobile=mobile, email=email, vpa=vpa
        )

    return await _log_in(visit, find, f"{mode} {mobile or email or vpa or identity}")


async def log_in_user(visit: Visit) -> Problem | None:
    """The same for one of a merchant's people, by email."""
    email = read_email(visit.form.get("identity", "")[:300])

    async def find() -> Login | None:
        return None if email is None else await visit.backend.ask(logins.of_user, email)

    return await _log_in(visit, find, f"user {email}")


async def _log_in(
    visit: Visit, find: Callable[[], Awaitable[Login | None]], identity: str
) -> Problem | None:
    strangers = _strangers_buckets(visit, identity)
    demand = _demand(visit)
    if not shows_marks(visit) and _throttled(visit, strangers):
        return "throttled"  # before anybody is looked for
    login = await find()
    browser = known_browser(visit, login)
    if browser is not None:
        if _throttled(visit, [PER_IDENTITY.bucket("log-in browser", browser, identity)]):
            return "throttled"
    elif shows_marks(visit) and _throttled(visit, strangers):
        return "throttled"
    password_hash = None if login is None else login.password_hash
    problem = await _verify(visit, password_hash, demand if browser is None else FIRST)
    if problem is not None or login is None or password_hash is None:
        return problem
    if not await visit.start_session(login.whose, password_hash):
        return "wrong"  # the password was changed while this one was verified
    remember_browser(visit, login)
    visit.has_first_password = login.first_password
    return None


def _strangers_buckets(visit: Visit, identity: str) -> list[Bucket]:
    """What attempts from a browser that is not known are counted in."""
    address = client_prefix(visit.http.client)
    return [
        PER_IDENTITY.bucket("log-in", address, identity),
        PER_IDENTITY_EVERYWHERE.bucket("log-in identity", identity),
        PER_ADDRESS.bucket("log-in address", address),
    ]


def _throttled(visit: Visit, buckets: list[Bucket]) -> bool:
    """Counts an attempt in all of the buckets, unless one of them is used up.

    What is refused counts nowhere: otherwise one address could use up what an identity has
    everywhere by going on after its own part is gone.
    """
    wait = visit.backend.rates.take_all(buckets, time.monotonic())
    if wait > 0:
        visit.retry_after = math.ceil(wait)
    return wait > 0


def _demand(visit: Visit) -> float:
    """How much was asked for from this address lately, before this; it counts from here on.

    Between addresses that asked for as much, what their neighbours asked for decides: those who
    flood have many addresses, most often beside each other.
    """
    rates, client, now = visit.backend.rates, visit.http.client, time.monotonic()
    before = []
    for name in (client_prefix(client), neighbourhood(client)):
        bucket = DEMAND.bucket("log-in demand", name)
        before.append(rates.used(bucket, now))
        rates.take(bucket, now)
    own, around = before
    return math.ceil(own) + around / (2 * DEMAND.burst)


async def customer_in(visit: Visit, mode: Mode) -> CustomerSession | None:
    """The customer who is logged in, if they are one of this mode: live or sandbox."""
    customer = await visit.customer()
    return customer if customer is not None and customer.mode == mode else None


def is_fresh(visit: Visit, session: Session) -> bool:
    """Whether the password was given recently enough not to be asked for again."""
    return visit.now - session.authenticated_at <= REASK_AFTER


class Unconfirmed(NamedTuple):
    """Why something that wants a recent password was not done."""

    problem: Problem
    words: Markup

    @property
    def status(self) -> int:
        return STATUSES[self.problem]


async def unconfirmed(visit: Visit, session: Session) -> Unconfirmed | None:
    """Where the log-in is too old for what is asked, and the form's password does not fit.

    It guards what moves money or makes, changes or ends credentials.
    """
    return None if is_fresh(visit, session) else await confirm_password(visit, session)


async def confirm_password(visit: Visit, session: Session) -> Unconfirmed | None:
    """Takes the form's `password` as given anew by whoever is logged in, or says why not."""
    problem = await _confirm(visit, session)
    if problem is None:
        return None
    words = visit.language.text("login.again_wrong" if problem == "wrong" else f"login.{problem}")
    return Unconfirmed(problem, words)


async def _confirm(visit: Visit, session: Session) -> Problem | None:
    if _throttled(visit, [PER_IDENTITY.bucket("log-in session", session.digest.hex())]):
        return "throttled"
    password_hash = await visit.backend.ask(logins.password_hash_of, session.whose)
    problem = await _verify(visit, password_hash, FIRST)
    if problem is not None or password_hash is None:
        return problem
    noted = await visit.backend.write(
        sessions.note_authenticated, session, visit.now, password_hash
    )
    return None if noted else "wrong"


async def _verify(visit: Visit, password_hash: str | None, rank: float) -> Problem | None:
    """Whether the form's password fits, which takes as long for somebody who does not exist."""
    password = visit.form.get("password", "")[:MAX_LENGTH]
    try:
        fits = await visit.backend.hashing.fits(
            password,
            password_hash or nobodys_hash(),
            rank=rank,
            disconnected=visit.http.disconnected,
        )
    except Overloaded as full:
        visit.retry_after = full.retry_after
        return "busy"
    return None if fits and password_hash is not None else "wrong"
