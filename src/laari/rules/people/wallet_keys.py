"""Keys with which the customer's own programs read the wallet."""

import base64
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.limits.keys_and_rates import WALLET_KEYS
from laari.rules.needs import Needs
from laari.rules.records.people import KeyCounts, WalletKey
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import no_wallet
from laari.rules.world import World

PREFIX = "wk_"
PURPOSE = "wallet-key"  # of the digest of a key
SANDBOX = "sandbox-wallet-key"  # of the key that is derived from an account
MAX_NAME = 50  # characters
CREATED_SINCE = (
    "A key was created after this form was shown, so no other key was created now. A key is shown "
    "only once: if you did not copy it, revoke it and create another one."
)
TOO_MANY = f"You have {WALLET_KEYS} keys, the maximum. Revoke one first."


def new_key(world: World) -> str:
    return PREFIX + world.new_secret()


def sandbox_key(digest: Callable[[str, str], bytes], account: int) -> str:
    """Of a merchant's sandbox customer: derived, so that it can be shown again."""
    secret = digest(SANDBOX, str(account))
    return PREFIX + base64.urlsafe_b64encode(secret).decode().rstrip("=")


def add_first_key(world: World, actor: Actor, account: int, secret: str) -> None:
    """Gives a wallet that this batch has opened its first key."""
    key = WalletKey(world.digest(PURPOSE, secret), account, "First key", world.now)
    _write(world, Act(actor, "wallet_key.create"), key)


@dataclass(frozen=True, slots=True)
class CreateWalletKey(Command[str]):
    """Gives the wallet a key, which is the result: only its digest is stored.

    `made_before` is the number of keys it had when the form was shown: a form sent twice makes one.
    """

    actor: Actor
    account: int
    name: str
    made_before: int

    def needs(self, needs: Needs) -> None:
        needs.wallet_keys_of(self.account)

    def decide(self, world: World) -> str | Refusal:
        if world.wallets.get(self.account) is None:
            return no_wallet(self.account)
        made, usable = world.wallet_key_counts[self.account]
        if made != self.made_before:
            return refuse("conflict", CREATED_SINCE)
        if usable >= WALLET_KEYS:
            return invalid("name", TOO_MANY)
        secret = new_key(world)
        key = WalletKey(world.digest(PURPOSE, secret), self.account, self.name, world.now)
        _write(world, Act(self.actor, "wallet_key.create"), key)
        world.wallet_key_counts[self.account] = KeyCounts(made + 1, usable + 1)
        return secret


@dataclass(frozen=True, slots=True)
class RevokeWalletKey(Command[bool]):
    """Ends a key of this wallet; False if it has none with this digest that can be used."""

    actor: Actor
    account: int
    digest: bytes

    def needs(self, needs: Needs) -> None:
        needs.wallet_keys_of(self.account)
        needs.lock(World.wallet_keys, self.digest)

    def decide(self, world: World) -> bool:
        key = world.wallet_keys.get(self.digest)
        if key is None or key.account != self.account or key.revoked_at is not None:
            return False
        _write(world, Act(self.actor, "wallet_key.revoke"), replace(key, revoked_at=world.now))
        made, usable = world.wallet_key_counts[self.account]
        world.wallet_key_counts[self.account] = KeyCounts(made, usable - 1)
        return True


def _write(world: World, act: Act, key: WalletKey) -> None:
    wallet = world.wallets[key.account]
    merchant_id = world.sandbox_shops.get(wallet.customer_id)
    write_setting(world, World.wallet_keys, key, act, merchant_id=merchant_id, mode=wallet.mode)
