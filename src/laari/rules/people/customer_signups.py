"""Sign-up of customers: a mobile number proves itself by a code, then the wallet is opened.

The code counts only together with the secret of the request that asked for it, a few times.
"""

import hmac
from dataclasses import dataclass

from msgspec import json
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act
from laari.rules.limits.password_links import (
    PASSWORD_CODE_ATTEMPTS,
    PASSWORD_CODE_DIGITS,
    PASSWORD_LINK_LIFE,
)
from laari.rules.messages import CodeContent, SignUpKnownContent, send
from laari.rules.needs import Needs
from laari.rules.people.contacts import MAX_OWN_NAME, read_own_name
from laari.rules.people.new_customers import (
    CustomerDraft,
    lowest_tier,
    needs_contacts,
    open_wallet,
    taken,
)
from laari.rules.records.messages import Language, Recipient
from laari.rules.records.people import Customer, CustomerSignUp
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

# The purposes of digests.
REQUEST = "sign-up"
CODE = "sign-up-code"


NO_NAME = invalid(
    "name", f"A name has letters, spaces and . ' - only, and at most {MAX_OWN_NAME} characters."
)


@dataclass(frozen=True, slots=True)
class BeginSignUp(Command[None]):
    """Sends a code to the number. A customer who has it gets a notice instead.

    `handle` is the secret of the request, which the code needs.
    """

    handle: str
    mobile: str
    name: str
    password_hash: str
    language: Language

    def needs(self, needs: Needs) -> None:
        needs.read(World.recipients, ("mobile", self.mobile))

    def decide(self, world: World) -> Refusal | None:
        if read_own_name(self.name) != self.name:
            return NO_NAME
        known = world.recipients.get(("mobile", self.mobile))
        if known is not None:
            to = Recipient(None, self.mobile, known.language, known.customer_id)
            send(world, to, "signup_known", SignUpKnownContent(world.now))
            return None
        code = world.new_code(PASSWORD_CODE_DIGITS)
        signup = CustomerSignUp(
            digest=world.digest(REQUEST, self.handle),
            mobile=self.mobile,
            name=self.name,
            password_hash=self.password_hash,
            language=self.language,
            code_digest=b"",  # below: of the row
            expires_at=world.now + PASSWORD_LINK_LIFE,
        )
        signup = replace(signup, code_digest=_code_digest(world, self.handle, signup, code))
        world.customer_signups.add(signup.digest, signup)
        to = Recipient(None, self.mobile, self.language, None)
        send(world, to, "signup_code", CodeContent(code, signup.expires_at))
        return None


@dataclass(frozen=True, slots=True)
class FinishSignUp(Command[Customer]):
    """Opens a wallet for the right code, once. Refused for any other, or if the number was taken.

    `request_digest` is of the `handle`. A wrong code counts.
    """

    actor: Actor
    request_digest: bytes
    handle: str
    code: str

    def needs(self, needs: Needs) -> None:
        def follow(needs: Needs, world: World) -> None:
            signup = world.customer_signups.get(self.request_digest)
            if signup is not None:
                needs.read(World.new_accounts, self.request_digest.hex())
                needs_contacts(needs, _draft(signup))

        needs.lock(World.customer_signups, self.request_digest)
        needs.then(World.customer_signups, follow)

    def decide(self, world: World) -> Customer | Refusal:
        signup = world.customer_signups.get(self.request_digest)
        if signup is None or signup.expires_at <= world.now:
            return refuse("not_found")
        if signup.attempts >= PASSWORD_CODE_ATTEMPTS:
            return refuse("not_found")
        given = _code_digest(world, self.handle, signup, self.code)
        if not hmac.compare_digest(signup.code_digest, given):
            wrong = replace(signup, attempts=signup.attempts + 1)
            world.customer_signups.change(signup.digest, wrong)
            return refuse("not_found")
        world.customer_signups.remove(signup.digest)
        draft = _draft(signup)
        if taken(world, draft) is not None:
            return refuse("not_found")
        account = world.new_accounts[self.request_digest.hex()]
        act = Act(self.actor, "customer.create")
        tier = lowest_tier(world.tiers.values())
        wallet = open_wallet(world, act, draft, world.new_id(), account, tier=tier)
        return world.customers[wallet.customer_id]


def _draft(signup: CustomerSignUp) -> CustomerDraft:
    return CustomerDraft(
        name=signup.name,
        mode="live",
        mobile=signup.mobile,
        language=signup.language,
        password_hash=signup.password_hash,
    )


def _code_digest(world: World, handle: str, signup: CustomerSignUp, code: str) -> bytes:
    """Of what the customer gave too: another number would not be proved, another password opens."""
    given = (handle, signup.mobile, signup.name, signup.password_hash, code)
    return world.digest(CODE, json.encode(given).decode())
