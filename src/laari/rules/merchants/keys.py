"""Credentials of a merchant: the secret key, its rotation with an overlap, and OAuth clients."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.merchants.access import OneMerchant, busy, refusal_for
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission
from laari.rules.records.merchants import MerchantSettings, OAuthClient
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

KEY_PREFIX = "sk_"
CLIENT_PREFIX = "cl_"
SECRET_PREFIX = "cs_"  # noqa: S105  # what comes after it is the secret
# The purposes of the stored forms.
KEY = "secret-key"
CLIENT_SECRET = "client-secret"  # noqa: S105
MAX_NAME = 80  # characters
NO_OVERLAP = timedelta()
_MANAGE: Permission = "keys.manage"

CHANGED = refuse("conflict", "Something has changed since this page was shown. Nothing was done.")
OLD_KEY_WORKS = refuse(
    "conflict", "The old key still works. End it first, or let all keys end now."
)


class NewKey(NamedTuple):
    merchant: MerchantSettings
    secret_key: str


class NewClient(NamedTuple):
    client: OAuthClient
    secret: str


def secret_context(merchant_id: str) -> bytes:
    """Binds the encrypted secret key to its merchant."""
    return f"merchant-secret {merchant_id}".encode()


def mark_of(secret_digest: bytes) -> str:
    """Identifies a secret key without revealing it."""
    return secret_digest.hex()[:16]


@dataclass(frozen=True, slots=True)
class RotateKey(Command[NewKey]):
    """Gives the merchant a new secret key; the old one works until the overlap ends.

    Without an overlap every earlier key stops working at once. `mark` belongs to the key that a
    page showed.
    """

    actor: Actor
    merchant_id: str
    overlap: timedelta = NO_OVERLAP
    mark: str | None = None

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.merchant_id, self.actor)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> NewKey | Refusal:
        refusal = refusal_for(world, self.actor, self.merchant_id, _MANAGE)
        if refusal is not None:
            return refusal
        merchant = world.merchant_settings[self.merchant_id]
        if self.mark is not None and self.mark != mark_of(merchant.secret_digest):
            return CHANGED
        until, keeps_old = merchant.old_secret_until, self.overlap > NO_OVERLAP
        if keeps_old and until is not None and until > world.now:
            return OLD_KEY_WORKS
        secret_key = KEY_PREFIX + world.new_secret()
        rotated = replace(
            merchant,
            secret_digest=world.digest(KEY, secret_key),
            secret_encrypted=world.encrypt(secret_key.encode(), secret_context(merchant.id)),
            old_secret_digest=merchant.secret_digest if keeps_old else None,
            old_secret_encrypted=merchant.secret_encrypted if keeps_old else None,
            old_secret_until=world.now + self.overlap if keeps_old else None,
        )
        act = Act(self.actor, "merchant.rotate_key")
        write_setting(world, World.merchant_settings, rotated, act, merchant_id=merchant.id)
        return NewKey(rotated, secret_key)


@dataclass(frozen=True, slots=True)
class EndOldKey(OneMerchant):
    """Ends the old key of a rotation now; without one this changes nothing."""

    action: ClassVar[str] = "merchant.end_old_key"
    permission: ClassVar[Permission] = _MANAGE

    def changed(self, world: World, merchant: MerchantSettings) -> MerchantSettings:
        return replace(
            merchant, old_secret_digest=None, old_secret_encrypted=None, old_secret_until=None
        )


@dataclass(frozen=True, slots=True)
class CreateClient(Command[NewClient]):
    """Makes an OAuth client; its secret is shown only now.

    `made_before` is the number of clients that a page showed, so no form makes two. `secret` is
    for one that is known already.
    """

    permission: ClassVar[Permission] = _MANAGE
    actor: Actor
    merchant_id: str
    scope: str
    name: str | None = None
    expires_at: datetime | None = None
    made_before: int | None = None
    secret: str | None = None

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.merchant_id, self.actor)
        needs.read(World.client_counts, self.merchant_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> NewClient | Refusal:
        refusal = refusal_for(world, self.actor, self.merchant_id, self.permission)
        refusal = refusal or self._not_valid(world)
        if refusal is not None:
            return refusal
        if self.made_before not in (None, world.client_counts[self.merchant_id]):
            return CHANGED
        secret = self.secret or SECRET_PREFIX + world.new_secret()
        client = OAuthClient(
            id=CLIENT_PREFIX + world.new_name(),
            merchant_id=self.merchant_id,
            secret_digest=world.digest(CLIENT_SECRET, secret),
            name=self.name,
            scope=self.scope,
            created_at=world.now,
            expires_at=self.expires_at,
        )
        act = Act(self.actor, "oauth_client.create")
        write_setting(world, World.oauth_clients, client, act, merchant_id=self.merchant_id)
        world.client_counts[self.merchant_id] += 1
        return NewClient(client, secret)

    def _not_valid(self, world: World) -> Refusal | None:
        name = self.name
        if name is not None and not (1 <= len(name) <= MAX_NAME and name.isprintable()):
            message = f"The name may have at most {MAX_NAME} printable characters."
            return invalid("name", message)
        if self.expires_at is not None and self.expires_at <= world.now:
            return invalid("expires_at", "A client must expire later than now.")
        return None


@dataclass(frozen=True, slots=True)
class RevokeClient(Command[OAuthClient]):
    """Ends a client and all its tokens; a second time changes nothing."""

    permission: ClassVar[Permission] = _MANAGE
    actor: Actor
    client_id: str

    def needs(self, needs: Needs) -> None:
        def follow(needs: Needs, world: World) -> None:
            merchant_id = world.client_owners.get(self.client_id)
            if merchant_id is not None:
                needs.merchant(merchant_id, self.actor)

        needs.read(World.client_owners, self.client_id)
        needs.then(World.client_owners, follow)
        needs.lock(World.oauth_clients, self.client_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> OAuthClient | Refusal:
        client = world.oauth_clients.get(self.client_id)
        if client is None:
            return refuse("conflict", f"No client has the id {self.client_id}.")
        refusal = refusal_for(world, self.actor, client.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        revoked = replace(client, revoked_at=client.revoked_at or world.now)
        act = Act(self.actor, "oauth_client.revoke")
        write_setting(world, World.oauth_clients, revoked, act, merchant_id=client.merchant_id)
        return revoked
