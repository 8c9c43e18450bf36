"""What an audit takes: no check compares each row with each."""

import re
from collections.abc import Iterator
from itertools import pairwise
from uuid import UUID

import pytest

from laari.store.audit.report import CHECKS, settle, statement
from laari.store.audit.scope import EVERYTHING
from laari.store.ledger.sealed_rows import ALONG_THE_KEY, SUBJECTS, SealedPlace, Subject
from laari.store.ledger.sealing import nth_key_query
from laari.store.postgres.connect import local_settings
from laari.store.postgres.pool import connection_to
from tests.audit.books import write_books

# What a hash table could have found. Anything else that a nested loop tests has no other way.
EQUALITIES = re.compile(r"Join Filter: \(*\S+ = [^\s()]+\)*( AND \(*\S+ = [^\s()]+\)*)*")


def compared(plan: list[str]) -> Iterator[str]:
    """The equalities that a nested loop tests for every pair of rows."""
    for line, following in pairwise(plan):
        if "Nested Loop" in line and EQUALITIES.fullmatch(following.strip()):
            yield following.strip()


async def test_a_check_of_everything_joins_tables_as_wholes(dsn: str) -> None:
    """The statistics are those of small tables; much may have been written since."""
    await write_books(dsn)
    found = {}
    async with connection_to(dsn) as connection:
        await connection.execute("ANALYZE")
        async with connection.transaction(readonly=True):
            await settle(connection, since_seal=False)
            for check in CHECKS:
                sql = EVERYTHING.apply(statement([check]))
                if check.scope != "part":
                    rows = await connection.fetch(f"EXPLAIN (COSTS OFF) {sql}")
                    found[check.kind] = list(compared([row[0] for row in rows]))
    assert {kind: pairs for kind, pairs in found.items() if pairs} == {}
    assert len(found) > 40


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
@pytest.mark.parametrize("key", [None, str(UUID(int=1))])
async def test_the_pieces_of_a_large_transaction_are_found_along_the_key(
    dsn: str, subject: Subject, key: str | None
) -> None:
    """To sort all that is left of it for each piece would take hours for ten million payments."""
    settings = {**ALONG_THE_KEY, "plan_cache_mode": "force_generic_plan"}
    value = "NULL" if key is None else f"'{key}'"
    async with (
        connection_to(dsn) as connection,
        connection.transaction(),
        local_settings(connection, **settings),
    ):
        query = nth_key_query(subject, SealedPlace(1, key))
        await connection.execute(f"PREPARE nth (bigint, text, int) AS {query}")
        rows = await connection.fetch(f"EXPLAIN (COSTS OFF) EXECUTE nth (1, {value}, 9)")
    plan = "\n".join(row[0] for row in rows)
    assert f"Index Scan using {subject.table}_pkey" in plan
    assert "Sort" not in plan
    assert ("Index Cond" in plan) is (key is not None)
