"""Withdrawals: a customer has money of the wallet sent to their own bank account.

A withdrawal is a payout of a live wallet: the next run takes it, and the bank answers it.
"""

from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from laari.rules import ledger
from laari.rules.actors import Actor, is_themselves
from laari.rules.banking.bank_accounts import in_effect, no_account
from laari.rules.banking.payouts import MAX_AMOUNT, cancel, note_payout
from laari.rules.command import Command
from laari.rules.money import rufiyaa
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.payouts import Payout
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import move_withdrawal, no_wallet
from laari.rules.world import World

# It shows no transaction, so that no movement of a merchant is ever part of a withdrawal.
_NO_MOVEMENTS = "1:1:"


@dataclass(frozen=True, slots=True)
class RequestWithdrawal(Command[Payout]):
    """The customer or the operator takes an amount out of a wallet for the bank.

    Nothing leaves a frozen wallet.

    A form names the last withdrawal that its page showed: sent twice, it acts once.
    """

    permission: ClassVar[Permission] = "wallets.move"
    actor: Actor
    account: int
    amount: int
    minimum: int = 1
    if_last: int | None = None

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)
        needs.read(World.last_withdrawals, self.account)
        needs.read(World.bank_accounts, self.account)

    def decide(self, world: World) -> Payout | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None or wallet.mode != "live":
            return no_wallet(self.account)
        is_own = is_themselves(self.actor, wallet.customer_id)
        refusal = None if is_own else lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        last = world.last_withdrawals[self.account]
        if self.if_last not in (None, last):
            message = "Money was withdrawn meanwhile. Look at the balance, and decide again."
            return refuse("conflict", message)
        if wallet.frozen_at is not None:
            return refuse("wallet_limit_exceeded", "The wallet is frozen.")
        accounts = world.bank_accounts[self.account]
        if in_effect(accounts, world.now) is None:
            return no_account(accounts, world.now)
        if self.amount < self.minimum:
            return invalid("amount", f"The smallest withdrawal is MVR {rufiyaa(self.minimum)}.")
        most = max(0, min(wallet.balance, MAX_AMOUNT))
        if self.amount > most:
            message = f"At most MVR {rufiyaa(most)} can be withdrawn."
            return refuse("insufficient_balance", message)
        return self._withdraw(world, last + 1)

    def _withdraw(self, world: World, number: int) -> Payout:
        in_transit = ledger.in_transit_account("live")
        words = "To your bank account"
        moved = move_withdrawal(world, self.account, in_transit, -self.amount, words)
        payout = Payout(
            id=world.new_id(),
            tenant_id=None,
            account=self.account,
            number=number,
            amount=self.amount,
            fee=0,
            cut_off=world.now,
            snapshot=_NO_MOVEMENTS,
            transfer_id=moved.id,
            created_at=world.now,
            actor_kind=self.actor.kind,
            actor_name=self.actor.name,
        )
        world.payouts.add(payout.id, payout)
        world.last_withdrawals[self.account] = number
        note_payout(world, self.actor, None, "request", None, after=payout)
        return payout


@dataclass(frozen=True, slots=True)
class CancelWithdrawal(Command[Payout]):
    """The customer cancels a withdrawal that no run has taken; those of others do not exist."""

    actor: Actor
    account: int
    id: UUID

    def needs(self, needs: Needs) -> None:
        needs.payout(self.id)

    def busy(self) -> Refusal:
        return refuse("payout_conflict")

    def decide(self, world: World) -> Payout | Refusal:
        payout = world.payouts.get(self.id)
        if payout is None or payout.account != self.account:
            return refuse("not_found")
        if payout.status == "cancelled":
            return payout
        if payout.status != "requested" or payout.run_id is not None:
            return refuse("payout_conflict", "It is already on its way to the bank.")
        cancelled = cancel(world, None, payout)
        note_payout(world, self.actor, None, "cancel", payout, after=cancelled)
        return cancelled
