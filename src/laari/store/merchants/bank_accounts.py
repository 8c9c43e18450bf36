"""Bank accounts of merchants and customers.

A change takes effect after 48 hours, and the owners get a notice. They stop it by entering the
account in use again.
"""

import os
from collections.abc import Collection
from datetime import UTC, datetime

from asyncpg import Connection

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.banking.bank_file import MAX_HOLDER, is_account_number, is_bank_text
from laari.rules.banking.payouts import effective_from
from laari.rules.ledger import FIRST_WALLET_ACCOUNT
from laari.rules.messages import BankAccountContent, OwnBankAccountContent
from laari.rules.records import BankAccount, BankDetails, Message, MessageKind
from laari.rules.refusals import Refusal, invalid
from laari.rules.shapes.envelopes import to_json
from laari.store.people import notices
from laari.store.people.acting import acting
from laari.store.people.logins import CustomerId
from laari.store.reads.money.payouts import bank_accounts
from laari.store.tables import BANK_ACCOUNTS, MESSAGES

_SHOWN_DIGITS = 4


def masked(account_number: str) -> str:
    """The number with all digits hidden except the last four."""
    return "•" * (len(account_number) - _SHOWN_DIGITS) + account_number[-_SHOWN_DIGITS:]


def not_valid(holder: str, bank: str, account_number: str) -> Refusal | None:
    for field, text in (("holder", holder), ("bank", bank)):
        if not is_bank_text(text):
            allowed = f"1 to {MAX_HOLDER} letters, digits, spaces and . , ' & ( ) / -"
            return invalid(field, f"The {field} must have {allowed}, and begin with a letter.")
    if not is_account_number(account_number):
        return invalid("account_number", "The account number must have 4 to 20 digits.")
    return None


async def add(
    connection: Connection,
    owner: int,
    holder: str,
    bank: str,
    account_number: str,
    actor: Actor,
    channels: Collection[str] = (),
) -> BankAccount | Refusal:
    """Adds an account of a tenant or a wallet; the same one again changes nothing."""
    is_wallet = owner >= FIRST_WALLET_ACCOUNT
    refusal = not_valid(holder, bank, account_number)
    if refusal is not None:
        return refusal
    async with acting(connection, actor, "bank_account.add"):
        # Two at once are added one after the other, so that only one of them is the first.
        table = "wallets WHERE account" if is_wallet else "merchant_funds WHERE tenant_id"
        await connection.execute(f"SELECT FROM {table} = $1 FOR NO KEY UPDATE", owner)
        known = (await bank_accounts(connection, [owner]))[owner]
        details = BankDetails(holder, bank, account_number)
        if known and known[-1].details == details:
            return known[-1]
        now = datetime.now(UTC)
        account = BankAccount(
            id=ids.new_id(now, os.urandom),
            tenant_id=None if is_wallet else owner,
            account=owner if is_wallet else None,
            **details._asdict(),
            created_at=now,
            effective_at=effective_from(known, now, details),
            actor_kind=actor.kind,
            actor_name=actor.name,
        )
        await connection.execute(BANK_ACCOUNTS.insert(1), BANK_ACCOUNTS.encode([account]))
        await _notify(connection, account, frozenset(channels))
    return account


async def _notify(connection: Connection, account: BankAccount, channels: frozenset[str]) -> None:
    """A message to each owner of a live merchant, or to the customer."""
    if account.account is not None:
        id = "SELECT customer_id FROM wallets WHERE account = $1"
        customer = CustomerId(await connection.fetchval(id, account.account))
        reached = await notices.reached(connection, customer, channels)
        if reached is not None:
            content = OwnBankAccountContent(
                account.bank, masked(account.account_number), account.effective_at
            )
            kind: MessageKind = "own_bank_account_changed"
            await notices.write(connection, reached, kind, content, account.created_at)
        return
    if "email" not in channels:
        return
    rows = await connection.fetch(
        "SELECT p.email, m.name FROM tenants t JOIN merchants m ON m.id = t.merchant_id "
        "JOIN memberships s ON s.merchant_id = m.id AND s.role = 'owner' "
        "JOIN persons p ON p.id = s.person_id WHERE t.id = $1 AND t.mode = 'live'",
        account.tenant_id,
    )
    messages = [_notice(account, email, merchant) for email, merchant in rows]
    await connection.execute(MESSAGES.insert(1), MESSAGES.encode(messages))


def _notice(account: BankAccount, email: str, merchant: str) -> Message:
    content = BankAccountContent(
        merchant=merchant,
        bank=account.bank,
        holder=account.holder,
        number=masked(account.account_number),
        actor=account.actor_name,
        effective_at=account.effective_at,
    )
    return Message(
        id=ids.new_id(account.created_at, os.urandom),
        created_at=account.created_at,
        kind="bank_account_changed",
        channel="email",
        recipient=email,
        language="en",
        parameters=to_json(content).decode(),
        tenant_id=account.tenant_id,
        customer_id=None,
        object_id=account.id,
    )
