"""The window that counts the requests of an account, and the last use of its keys."""

from typing import NamedTuple

from asyncpg import Connection

from laari.rules.limits.keys_and_rates import USE_KNOWN_TO_SECONDS, WALLET_WINDOW_SECONDS


class KeyUse(NamedTuple):
    """A request with a valid key: its account, and its number in the account's window."""

    account: int
    number: int
    seconds_left: int  # until the window ends, at least 1


_WINDOW = f"interval '{WALLET_WINDOW_SECONDS} seconds'"
_STILL_OPEN = f"held.opened_at > excluded.opened_at - {_WINDOW}"

# Requests of one account in one statement are numbered in their order. Windows are locked in the
# order of accounts, and keys under the lock of the window, so two processes never deadlock. After a
# wait for the row a request may count in a window that opened after its own start.
_COUNT_USE = f"""
WITH asked AS (
    SELECT place, digest, account,
           row_number() OVER (PARTITION BY account ORDER BY place) AS nth,
           count(*) OVER (PARTITION BY account) AS requests
    FROM unnest($1::bytea[]) WITH ORDINALITY AS request (digest, place)
    JOIN wallet_keys USING (digest)
    WHERE revoked_at IS NULL
), counted AS (
    INSERT INTO wallet_windows AS held (account, opened_at, used)
    SELECT DISTINCT account, now(), requests FROM asked ORDER BY account
    ON CONFLICT (account) DO UPDATE SET
        opened_at = CASE WHEN {_STILL_OPEN} THEN held.opened_at ELSE excluded.opened_at END,
        used = CASE WHEN {_STILL_OPEN} THEN held.used ELSE 0 END + excluded.used
    RETURNING account, used, opened_at + {_WINDOW} AS closes_at
), noted AS (
    UPDATE wallet_keys SET last_used_at = now() FROM asked JOIN counted USING (account)
    WHERE wallet_keys.digest = asked.digest
    AND (last_used_at < now() - interval '{USE_KNOWN_TO_SECONDS} seconds') IS NOT FALSE
)
SELECT place, account, used - requests + nth AS number,
       greatest(1, ceil(extract(epoch FROM closes_at - clock_timestamp())))::bigint AS seconds_left
FROM asked JOIN counted USING (account)
"""


async def count_use(connection: Connection, digests: list[bytes]) -> list[KeyUse | None]:
    """Finds the keys and counts the requests in one round trip; None for an invalid key."""
    uses: list[KeyUse | None] = [None] * len(digests)
    for row in await connection.fetch(_COUNT_USE, digests):
        uses[row["place"] - 1] = KeyUse(row["account"], row["number"], row["seconds_left"])
    return uses
