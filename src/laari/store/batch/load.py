"""Loads the rows that the commands of a batch need, in the order of the registry."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import asyncpg

from laari.rules import wallets
from laari.rules.master_key import NO_KEYS, Keys
from laari.rules.needs import Needs
from laari.rules.payments import authorization_limits
from laari.rules.periods import PeriodKey, others
from laari.rules.tables import Additions, K, Lookup, R, Table
from laari.rules.world import REGISTRY, World
from laari.store.batch import sandbox_periods
from laari.store.batch.loaders import banking, merchants, payments, people
from laari.store.batch.loaders import wallets as wallet_loaders
from laari.store.batch.loaders.loader import Loader, by_key


async def load(
    connection: asyncpg.Connection,
    needs: Needs,
    origin: str,
    clock: Callable[[], datetime],
    channels: frozenset[str] = frozenset(),
    *,
    keys: Keys = NO_KEYS,
    second_operator_above: int | None = None,
) -> World:
    """Locks and reads rows: one statement per table, in the registry's order.

    After a wait PostgreSQL re-reads only the locked row itself, so nothing here is joined or
    summed. References and the clock come after the locks: a retry finds a charge just made.
    """
    world = World(
        datetime.min.replace(tzinfo=UTC),
        origin,
        os.urandom,
        channels,
        keys,
        second_operator_above=second_operator_above,
    )
    locks, reads, followers = needs.locks, needs.reads, needs.followers
    for table, load_table in _LOADS:
        if table in locks or table in reads:
            await load_table(connection, needs, world)
            for follow in followers.get(table, ()):  # they name rows of later tables
                follow(needs, world)
    world.now = clock()
    await _load_periods(connection, needs, world)
    return world


# All other tables are loaded by their own key alone.
_SPECIAL: dict[object, Loader] = {
    **payments.LOADERS,
    **wallet_loaders.LOADERS,
    **people.LOADERS,
    **merchants.LOADERS,
    **banking.LOADERS,
}


def _loader(registered: Table[K, R] | Lookup[K, object]) -> Loader:
    if registered in _SPECIAL:
        return _SPECIAL[registered]
    assert isinstance(registered, Table), f"nothing loads {registered.name}"
    return by_key(registered)


_LOADS: list[tuple[object, Loader]] = [
    (each, _loader(each)) for each in REGISTRY if not isinstance(each, Additions)
]


async def _load_periods(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """The sums put aside for the current periods of sandbox rows; the rows' locks protect them."""
    keys: set[PeriodKey] = set()
    for authorization_id, offset in needs.sandbox_charging:
        authorization = world.authorizations.get(authorization_id)
        if authorization is not None:
            keys |= others(authorization_limits.counted(authorization), _moved(world, offset))
            if authorization.account is not None:
                needs.sandbox_spending.add((authorization.account, offset))
    for account, offset in needs.sandbox_spending:
        wallet = world.wallets.get(account)
        if wallet is not None:
            keys |= others(wallets.counted(wallet), _moved(world, offset))
    if keys:
        world.aside = await sandbox_periods.put_aside(connection, keys)


def _moved(world: World, offset_seconds: int) -> datetime:
    return world.now + timedelta(seconds=offset_seconds)
