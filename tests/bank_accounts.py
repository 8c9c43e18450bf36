"""Bank accounts as their owners enter them: the first one is used at once."""

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.records.bank_accounts import BankAccount, BankDetails
from laari.store.batch.inside import decide_inside
from laari.store.secrets import keys_of
from tests.actors import ANYBODY, MASTER


async def enter(
    connection: Connection,
    owner: int,
    number: str = "7730000012345",
    *,
    holder: str = "Seagull Cafe",
    bank: str = "BML",
    actor: Actor = ANYBODY,
    channels: frozenset[str] = frozenset(),
) -> BankAccount:
    """Adds an account of a tenant or a wallet."""
    async with connection.transaction():
        command = AddBankAccount(actor, owner, BankDetails(holder, bank, number))
        made = await decide_inside(connection, command, channels=channels, keys=keys_of(MASTER))
    assert isinstance(made, BankAccount), made
    return made
