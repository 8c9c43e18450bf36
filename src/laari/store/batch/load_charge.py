"""Loads all rows for charges in one statement, because a round trip costs as much as the work.

References are looked up without a lock, so a charge that waited for an equal one may not see its
reference. Every charge changes its authorization's row. So the look-up counts only if every locked
row is older than the statement; otherwise references are read again by another one.
"""

from collections.abc import Callable, Iterable
from typing import cast

import asyncpg
from msgspec import json

from laari.rules.needs import Needs
from laari.rules.records.wallets import Tier
from laari.rules.tables import R
from laari.rules.world import World
from laari.store.reads.tiers import LIMITS
from laari.store.tables import AUTHORIZATIONS, REFERENCES, WALLETS, Statements


def _whole(statements: Statements[R]) -> str:
    """A row as one value; numbers become text, because the driver cannot read them in a row."""
    fields = (f"{name}::text" if name in _sums(statements) else name for name in statements.types)
    return f"ROW({', '.join(fields)})"


def _sums(statements: Statements[R]) -> list[str]:
    return [name for name, kind in statements.types.items() if kind == "numeric"]


def _reader(statements: Statements[R]) -> Callable[[Iterable[object]], R]:
    places = [list(statements.types).index(name) for name in _sums(statements)]

    def read(row: Iterable[object]) -> R:
        values = list(row)
        for place in places:
            values[place] = int(cast("str", values[place]))
        return statements.record(*values)

    return read


# A row is one value: a column for every field of both tables would be slow to prepare. The last row
# has the values that occur once. The numbers are transactions: the last change of a row, and the
# oldest one that the snapshot may not see.
_LOAD = f"""
WITH charged AS MATERIALIZED (
    SELECT xmin, id, account, {_whole(AUTHORIZATIONS)} AS row FROM authorizations
    WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE
), paying AS MATERIALIZED (
    SELECT xmin, {_whole(WALLETS)} AS row FROM wallets WHERE account = ANY($3::bigint[] || ARRAY(
        SELECT account FROM charged WHERE id = ANY($2) AND account IS NOT NULL
    )) ORDER BY account FOR NO KEY UPDATE
)
SELECT 'charged', xmin::text::bigint, row FROM charged
UNION ALL
SELECT 'paying', xmin::text::bigint, row FROM paying
UNION ALL
SELECT 'once', pg_snapshot_xmin(pg_current_snapshot())::text::bigint, ROW(
    (SELECT json_agg(json_build_array(name, {", ".join(LIMITS)}))::text FROM tiers),
    EXISTS ({REFERENCES.select_by("tenant_id", "reference", first=4)})
)
"""
_read_authorization, _read_wallet = _reader(AUTHORIZATIONS), _reader(WALLETS)
_read_tiers = json.Decoder(list[tuple[str, int | None, int | None, int | None, int | None]]).decode


async def load_charging(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Locks authorizations and wallets; drops the need for references if none is in use."""
    references = needs.only_read(World.references)
    *locked, once = await connection.fetch(
        _LOAD,
        list(needs.locked(World.authorizations)),
        list(needs.wallets_of_authorizations),
        list(needs.locked(World.wallets)),
        *(REFERENCES.given_keys(references) if references else ([], [])),
    )
    _, snapshot, (tiers, is_taken) = once
    for part, changed, row in locked:
        if part == "charged":
            authorization = _read_authorization(row)
            world.authorizations.lock(authorization.id, authorization)
        else:
            wallet = _read_wallet(row)
            world.wallets.lock(wallet.account, wallet)
        is_taken = is_taken or not _is_before(changed, snapshot)
    world.tiers = {name: Tier(name, *limits) for name, *limits in _read_tiers(tiers or "[]")}
    if not is_taken:
        needs.take_back(World.references)


def _is_before(changed: int, snapshot: int) -> bool:
    """Whether a row's last change is older than every transaction the snapshot may not see.

    A row has only the last 32 bits of the number. If that is not enough, it counts as new.
    """
    return (snapshot - 1 - changed) % 2**32 < 2**31
