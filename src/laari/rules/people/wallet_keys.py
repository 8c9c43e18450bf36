"""Keys with which the customer's own programs read the wallet."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.limits.keys_and_rates import WALLET_KEYS
from laari.rules.messages import tell_access
from laari.rules.needs import Needs
from laari.rules.records.people import Customer, KeyCounts, WalletKey
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
    """Gives the wallet a key, which is the result, and tells the customer.

    Only the digest of the key is stored.
    `made_before` is the number of keys it had when the form was shown: a form sent twice makes one.
    A `session` that a new password has ended makes none.
    """

    actor: Actor
    customer_id: UUID
    account: int
    name: str
    made_before: int
    session: bytes

    def needs(self, needs: Needs) -> None:
        needs.customer(self.customer_id)
        needs.wallet_keys_of(self.account)

    def decide(self, world: World) -> str | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None or wallet.customer_id != self.customer_id:
            return no_wallet(self.account)
        if world.log_ins.get(self.session) is None:
            return refuse("not_found")
        made, usable = world.wallet_key_counts[self.account]
        if made != self.made_before:
            return refuse("conflict", CREATED_SINCE)
        if usable >= WALLET_KEYS:
            return invalid("name", TOO_MANY)
        secret = new_key(world)
        key = WalletKey(world.digest(PURPOSE, secret), self.account, self.name, world.now)
        _write(world, Act(self.actor, "wallet_key.create"), key)
        world.wallet_key_counts[self.account] = KeyCounts(made + 1, usable + 1)
        world.wallet_keys_of[self.customer_id] |= {key.digest}
        tell_access(world, world.customers[self.customer_id], "key_created", [self.name])
        return secret


@dataclass(frozen=True, slots=True)
class RevokeWalletKey(Command[bool]):
    """Ends a key of this wallet, and tells the customer.

    The result is False if the wallet has none with this digest that can be used.
    """

    actor: Actor
    customer_id: UUID
    account: int
    digest: bytes

    def needs(self, needs: Needs) -> None:
        needs.lock(World.customers, self.customer_id)
        needs.wallet_keys_of(self.account)
        needs.lock(World.wallet_keys, self.digest)

    def decide(self, world: World) -> bool:
        key = world.wallet_keys.get(self.digest)
        wallet = world.wallets.get(self.account)
        if wallet is None or wallet.customer_id != self.customer_id:
            return False
        if key is None or key.account != self.account or key.revoked_at is not None:
            return False
        _write(world, Act(self.actor, "wallet_key.revoke"), replace(key, revoked_at=world.now))
        made, usable = world.wallet_key_counts[self.account]
        world.wallet_key_counts[self.account] = KeyCounts(made, usable - 1)
        tell_access(world, world.customers[self.customer_id], "key_revoked", [key.name])
        return True


def end_keys(world: World, actor: Actor, customer: Customer, *, first_stays: bool = False) -> None:
    """Ends all keys of a live customer whom the batch has locked, and tells the customer.

    The operator gave the first key together with the first password: it stays when that password
    is replaced. Keys of sandbox customers stay, because tests of shops read with them.
    """
    if customer.mode != "live":
        return
    ended = []
    for digest in sorted(world.wallet_keys_of[customer.id]):
        key = world.wallet_keys.get(digest)
        came_with_it = first_stays and key is not None and key.created_at == customer.created_at
        if key is None or key.revoked_at is not None or came_with_it:
            continue
        act = Act(actor, "wallet_key.revoke")
        revoked = replace(key, revoked_at=world.now)
        write_setting(world, World.wallet_keys, revoked, act, mode=customer.mode)
        world.wallet_keys_of[customer.id] -= {digest}
        ended.append(key)
    if ended:
        tell_access(world, customer, "key_revoked", [key.name for key in ended])


def _write(world: World, act: Act, key: WalletKey) -> None:
    wallet = world.wallets[key.account]
    merchant_id = world.sandbox_shops.get(wallet.customer_id)
    write_setting(world, World.wallet_keys, key, act, merchant_id=merchant_id, mode=wallet.mode)
