"""Links and codes that set a forgotten password: one at a time for each customer and person.

A link is its own secret. A code has eight digits, so it counts only together with the secret of the
request that asked for it, and only a few times.
"""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, note
from laari.rules.limits.password_links import (
    PASSWORD_CODE_ATTEMPTS,
    PASSWORD_CODE_DIGITS,
    PASSWORD_LINK_LIFE,
)
from laari.rules.master_key import bind
from laari.rules.messages import CodeContent, LinkContent, reach, send
from laari.rules.needs import Needs
from laari.rules.people.log_ins import may_not_help, password_hash_of, set_password
from laari.rules.people.persons import note_help, prove
from laari.rules.records.messages import Recipient
from laari.rules.records.people import CustomerId, PasswordLink, PersonId, Whose, show_whose
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

# The purposes of digests. That of a request is another one: without its code, it is no link.
LINK = "password-link"
REQUEST = "password-request"
CODE = "password-code"

Delivery = Literal["message", "shown", "message or shown"]


class HandedOver(NamedTuple):
    """A link that an operator asked for: sent to this address, or to be forwarded."""

    sent_to: str | None
    link: str | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class AskPasswordLink(Command[None]):
    """Sends a link by email, or a code by SMS, if the service can reach the person.

    `handle` is the secret of the request, which the code needs. Requests of strangers have no entry
    in the journal: their messages have a log.
    """

    whose: Whose
    handle: str

    def needs(self, needs: Needs) -> None:
        needs.log_in(self.whose)

    def decide(self, world: World) -> None:
        to = _recipient(world, self.whose)
        reached = None if to is None else reach(to.email, to.mobile, world.channels)
        if to is None or reached is None:
            return
        expires_at = world.now + PASSWORD_LINK_LIFE
        if reached[0] == "email":
            content = LinkContent(_issue_link(world, self.whose), expires_at)
            send(world, to, "password_link", content)
            return
        code = world.new_code(PASSWORD_CODE_DIGITS)
        _issue(
            world,
            self.whose,
            world.digest(REQUEST, self.handle),
            _code_digest(world, self.handle, code),
        )
        send(world, to, "password_code", CodeContent(code, expires_at))


@dataclass(frozen=True, slots=True)
class HandOverPasswordLink(Command[HandedOver]):
    """A link for somebody who asked the operator: sent by a message, or shown to be forwarded.

    If it is sent, nobody at the operator sees it.
    """

    actor: Actor
    whose: Whose
    delivery: Delivery

    def needs(self, needs: Needs) -> None:
        needs.log_in(self.whose)

    def decide(self, world: World) -> HandedOver | Refusal:
        refusal = may_not_help(world, self.actor, self.whose)
        if refusal is not None:
            return refusal
        to, reached = _recipient(world, self.whose), None
        if to is not None and self.delivery != "shown":
            reached = reach(to.email, to.mobile, world.channels)
        if reached is None and self.delivery == "message":
            return refuse("conflict", "The service cannot send a message to them.")
        link, expires_at = _issue_link(world, self.whose), world.now + PASSWORD_LINK_LIFE
        sent_to = None
        if to is not None and reached is not None:
            send(world, to, "password_link", LinkContent(link, expires_at))
            sent_to = reached[1]
        after = {"sent_to": sent_to, "expires_at": expires_at}
        _note(world, self.actor, "issue", self.whose, after)
        if sent_to is None and isinstance(self.whose, PersonId):
            email = world.persons[self.whose.id].email
            note_help(world, Act(self.actor, "password_link.issue"), email)
        return HandedOver(sent_to, link if sent_to is None else None, expires_at)


@dataclass(frozen=True, slots=True)
class ExchangeCode(Command[str]):
    """The token of a link in exchange for the right code, once. A wrong one counts."""

    request_digest: bytes
    handle: str
    code: str

    def needs(self, needs: Needs) -> None:
        needs.password_link(self.request_digest)

    def decide(self, world: World) -> str | Refusal:
        whose = world.link_owners.get(self.request_digest)
        link = None if whose is None else world.password_links.get(whose.id)
        if link is None or not _is_valid(link, self.request_digest, world.now, world.digest):
            return refuse("not_found")
        if link.code_digest is None or link.attempts >= PASSWORD_CODE_ATTEMPTS:
            return refuse("not_found")
        given = _code_digest(world, self.handle, self.code)
        if not hmac.compare_digest(link.code_digest, given):
            world.password_links.change(link.whose, replace(link, attempts=link.attempts + 1))
            return refuse("not_found")
        token = world.new_secret()
        digest = world.digest(LINK, token)
        binding = bind(world.digest, digest, show_whose(link.owner))
        exchanged = replace(link, digest=digest, binding=binding, code_digest=None)
        world.password_links.change(link.whose, exchanged)
        return token


@dataclass(frozen=True, slots=True)
class UsePasswordLink(Command[Whose]):
    """Sets the password and ends all sessions, once. Refused if the link no longer works.

    The second factor stays, unless nobody had proved the address before. So does its wait after
    wrong codes: otherwise each link would give somebody who reads the person's emails a guess.
    """

    digest: bytes
    password_hash: str
    address: str | None  # the network address of the request

    def needs(self, needs: Needs) -> None:
        needs.password_link(self.digest)

    def decide(self, world: World) -> Whose | Refusal:
        found = world.link_owners.get(self.digest)
        link = None if found is None else world.password_links.get(found.id)
        whose = owner_of(link, self.digest, world.now, world.digest)
        if whose is None or password_hash_of(world, whose) is None:
            return refuse("not_found")
        actor = self._actor(world, whose)
        _note(world, actor, "use", whose, {"used_at": world.now})
        set_password(world, actor, whose, self.password_hash)
        if isinstance(whose, PersonId):
            # The link came to the address, or an operator has forwarded it.
            prove(world, Act(actor, "person.prove_address"), whose.id)
        return whose

    def _actor(self, world: World, whose: Whose) -> Actor:
        """The person who has the link, as far as the service knows."""
        if isinstance(whose, CustomerId):
            return Actor("customer", show_whose(whose), address=self.address)
        return Actor("person", world.persons[whose.id].email, address=self.address)


def owner_of(
    link: PasswordLink | None,
    digest: bytes,
    now: datetime,
    digest_of: Callable[[str, str], bytes],
) -> Whose | None:
    """Whose password the link with this digest sets; None if it does not work."""
    if link is None or link.code_digest is not None:
        return None
    return link.owner if _is_valid(link, digest, now, digest_of) else None


def _is_valid(
    link: PasswordLink,
    digest: bytes,
    now: datetime,
    digest_of: Callable[[str, str], bytes],
) -> bool:
    """False if it was replaced, has expired, or was given to another person in the database."""
    binding = bind(digest_of, digest, show_whose(link.owner))
    is_bound = hmac.compare_digest(link.binding, binding)
    return link.digest == digest and link.expires_at > now and is_bound


def _issue_link(world: World, whose: Whose) -> str:
    token = world.new_secret()
    _issue(world, whose, world.digest(LINK, token), None)
    area = "app" if isinstance(whose, CustomerId) else "dashboard"
    return f"{world.origin}/{area}/forgotten/{token}"


def _issue(world: World, whose: Whose, digest: bytes, code_digest: bytes | None) -> None:
    """The link or code before it no longer works."""
    link = PasswordLink(
        whose=whose.id,
        kind="customer" if isinstance(whose, CustomerId) else "person",
        digest=digest,
        binding=bind(world.digest, digest, show_whose(whose)),
        code_digest=code_digest,
        expires_at=world.now + PASSWORD_LINK_LIFE,
    )
    rows = world.password_links
    if rows.get(whose.id) is None and not rows.is_locked(whose.id):
        rows.add(whose.id, link)
    else:
        rows.change(whose.id, link)
    world.link_owners[digest] = whose


def _recipient(world: World, whose: Whose) -> Recipient | None:
    """Sandbox customers get no messages."""
    if isinstance(whose, PersonId):
        person = world.persons.get(whose.id)
        return None if person is None else Recipient(person.email, None, "en", None)
    customer = world.customers.get(whose.id)
    if customer is None or customer.mode != "live":
        return None
    return customer.recipient


def _code_digest(world: World, handle: str, code: str) -> bytes:
    return world.digest(CODE, f"{handle} {code}")


def _note(world: World, actor: Actor, verb: str, whose: Whose, after: Mapping[str, object]) -> None:
    note(
        world,
        Act(actor, f"password_link.{verb}"),
        "password_link",
        show_whose(whose),
        merchant_id=None,
        mode=None,
        before=None,
        after=after,
    )
