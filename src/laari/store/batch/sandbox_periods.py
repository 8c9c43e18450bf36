"""Sums of sandbox rows in periods that they have left."""

from collections.abc import Collection

import asyncpg

from laari.rules.periods import PeriodKey
from laari.store.tables import SANDBOX_PERIODS

_PERIODS = SANDBOX_PERIODS.select_by("owner", "unit", "start")


async def put_aside(
    connection: asyncpg.Connection, keys: Collection[PeriodKey]
) -> dict[PeriodKey, int]:
    """The sum put aside for each of these periods; 0 if there is none."""
    aside = dict.fromkeys(keys, 0)
    if keys:
        for period in map(
            SANDBOX_PERIODS.read, await connection.fetch(_PERIODS, *zip(*keys, strict=True))
        ):
            aside[period.owner, period.unit, period.start] = period.spent
    return aside
