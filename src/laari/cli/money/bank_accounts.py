"""Bank accounts of merchants and customers, for the commands of both."""

from collections.abc import Mapping
from typing import TypeGuard

from laari.errors import LaariError
from laari.operations.operation import Shape
from laari.operations.wallets import bank_account_shape
from laari.process.open import Service
from laari.store.postgres.pool import connection_to
from laari.store.reads.money import payouts


def is_given(given: Mapping[str, str | None]) -> TypeGuard[Mapping[str, str]]:
    """Whether a new account is given: either with all of its fields, or not at all."""
    missing = [value is None for value in given.values()]
    if any(missing) and not all(missing):
        raise LaariError("use --holder, --bank and --number together")
    return not any(missing)


async def accounts_of(service: Service, owner: int) -> list[Shape]:
    """All bank accounts of a tenant or a wallet, oldest first."""
    async with connection_to(service.dsn) as connection:
        found = (await payouts.bank_accounts(connection, [owner]))[owner]
    return [bank_account_shape(account) for account in found]
