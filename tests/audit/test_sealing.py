"""The chain over the ledger: what is sealed when, by whom, and what a crash leaves."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from laari.store.counters import daily_figures
from laari.store.ledger.last_seal_file import (
    KnownSeal,
    last_seal_file,
    note_seal,
    noted_seal,
    read_seal,
    shown_seals,
)
from laari.store.ledger.sealing import ADVISORY_LOCK, seal_next, summarize
from laari.store.ledger.seals import MovedError, Seal, check_not_moved, mac_of
from laari.store.outbox import deliveries
from laari.store.postgres.pool import connection_to
from laari.workers.sealing import Sealer
from tests.actors import OPERATOR, change
from tests.audit.books import (
    KEY,
    MASTER_KEY,
    look,
    pay,
    pool_of,
    seal_all,
    write_books,
    write_more,
)
from tests.databases import Engine
from tests.making import make_customer, make_merchant

pytestmark = pytest.mark.ci


async def seal_once(dsn: str, chunk: int = 10_000) -> list[Seal]:
    async with connection_to(dsn) as connection, connection.transaction():
        return (await seal_next(connection, KEY, chunk)).seals


async def run_all(sealer: Sealer) -> None:
    while await sealer.step():
        pass


async def test_nothing_is_sealed_where_nothing_was_written(dsn: str) -> None:
    report = await look(dsn)
    assert (report.ok, report.last_seal) == (True, None)
    # The journal of a new database has the tiers that came with it.
    assert [(seal.subject, seal.row_count) for seal in await seal_once(dsn)] == [("journal", 3)]
    assert await seal_once(dsn) == []


async def test_a_chain_grows_and_stays_in_order(dsn: str) -> None:
    await write_books(dsn)
    first = await seal_all(dsn)
    await pay(dsn, "more")
    second = await seal_all(dsn)
    assert await seal_all(dsn) == []
    numbers = [seal.number for seal in first + second]
    assert numbers == list(range(1, len(numbers) + 1))
    report = await look(dsn, known=[KnownSeal(first[-1].number, first[-1].mac)])
    assert report.differences == []
    assert report.last_seal is not None
    assert report.last_seal.number == numbers[-1]


async def test_a_row_that_is_committed_late_is_sealed_late(dsn: str) -> None:
    """An older transaction that still runs holds the seal back, not only for its own rows."""
    await write_books(dsn)
    await seal_all(dsn)
    insert = (
        "INSERT INTO transactions (tid, account, time, type, name, details, amount, status) "
        "VALUES ($1, 7700000000002, now(), 'payment', 'Shop', 'Order', -1, 'failed')"
    )
    async with connection_to(dsn) as slow, connection_to(dsn) as quick:
        begun = slow.transaction()
        await begun.start()
        await slow.execute(insert, "SLOW000000000000")
        await quick.execute(insert, "QUICK00000000000")
        assert await seal_all(dsn) == []
        report = await look(dsn)
        assert report.differences == []
        assert report.unsealed is not None
        assert report.unsealed["transactions"] == 1  # the one that can be seen
        await begun.commit()
    [seal] = await seal_all(dsn)
    assert (seal.subject, seal.row_count) == ("transactions", 2)
    assert (await look(dsn)).differences == []


async def test_a_transaction_that_was_undone_leaves_no_gap(dsn: str) -> None:
    await write_books(dsn)
    async with connection_to(dsn) as connection:
        for _ in range(3):
            undone = connection.transaction()
            await undone.start()
            await connection.fetchval("SELECT pg_current_xact_id()")
            await undone.rollback()
    await seal_all(dsn)
    assert (await look(dsn)).differences == []


async def test_a_seal_of_another_history_does_not_fit(dsn: str) -> None:
    """It was made with our key, over what a copy of the database held: what follows tells."""
    await write_books(dsn)
    first = (await seal_all(dsn, 10))[0]
    elsewhere = replace(first, row_count=first.row_count + 1, mac=b"")
    forged = replace(elsewhere, mac=mac_of(KEY, elsewhere, b""))
    async with connection_to(dsn) as connection:
        await connection.execute(
            "SET session_replication_role = replica; "
            f"UPDATE seals SET row_count = {forged.row_count}, mac = '\\x{forged.mac.hex()}' "
            "WHERE number = 1"
        )
    found = {(each.kind, each.id) for each in (await look(dsn)).differences}
    assert ("seal_mac", "seal 1") not in found  # by itself it is a good one
    assert ("seal_mac", "seal 2") in found


async def test_two_that_seal_at_once_make_one_chain(dsn: str) -> None:
    await write_books(dsn)
    await asyncio.gather(*(seal_all(dsn, 5) for _ in range(3)))
    await seal_all(dsn)
    report = await look(dsn)
    assert report.differences == []
    assert report.unsealed is not None
    assert report.unsealed["transfers"] == 0


@pytest.mark.parametrize("another_seals", [True, False])
async def test_one_process_takes_new_pages_up_into_the_indexes(
    dsn: str, another_seals: bool
) -> None:
    async with connection_to(dsn) as connection, connection_to(dsn) as other:
        await connection.execute(
            "INSERT INTO events (id, tenant_id, type, object_id, created_at, body) "
            "SELECT gen_random_uuid(), 1, 'payment.paid', gen_random_uuid(), now(), '' "
            "FROM generate_series(1, 20000)"
        )
        if another_seals:
            await other.execute("SELECT pg_advisory_lock($1)", ADVISORY_LOCK)
        await summarize(connection)
        left = await other.fetchval("SELECT brin_summarize_new_values('events_by_xid')")
        assert (left > 0) is another_seals


async def test_a_crash_in_the_middle_leaves_no_half_seal(dsn: str) -> None:
    await write_books(dsn)
    async with connection_to(dsn) as connection:
        half = connection.transaction()
        await half.start()
        made = await seal_next(connection, KEY, 10)
        assert (len(made.seals), made.more) == (7, True)
        connection.terminate()
    async with connection_to(dsn) as connection:
        assert await connection.fetchval("SELECT count(*) FROM seals") == 0
    await seal_all(dsn)
    assert (await look(dsn)).differences == []


async def test_a_large_transaction_is_sealed_in_pieces(dsn: str) -> None:
    """As the rows of a database from before the chain are: one transaction wrote them all."""
    await write_books(dsn)
    async with connection_to(dsn) as connection:
        await connection.execute(
            "SET session_replication_role = replica; UPDATE transfers SET xid = 9; "
            "UPDATE transactions SET xid = 9; UPDATE events SET xid = 9; "
            "UPDATE refunds SET xid = 9; UPDATE figures_upto SET xid = 0"
        )
    seals = await seal_all(dsn, 7)
    pieces = [seal for seal in seals if seal.upto_key is not None]
    assert len(pieces) > 6
    await pay(dsn, "after")
    await seal_all(dsn, 7)
    assert (await look(dsn)).differences == []
    async with connection_to(dsn) as connection:
        await connection.execute(
            "SET session_replication_role = replica; "
            "UPDATE transfers SET amount = amount + 1 WHERE kind = 'fee' AND xid = 9"
        )
    report = await look(dsn)
    named = {each.id for each in report.differences if each.kind == "sealed_rows"}
    assert named
    assert named <= {f"seal {seal.number}" for seal in seals if seal.subject == "transfers"}


async def test_sent_again_is_no_tampering(dsn: str) -> None:
    await write_books(dsn)
    await seal_all(dsn)
    async with connection_to(dsn) as connection:
        event = await connection.fetchval("SELECT id FROM events LIMIT 1")
        await change(connection, "UPDATE merchants SET webhook_url = 'https://shop.example/hook'")
        assert await deliveries.resend(connection, event) is None
    assert (await look(dsn)).differences == []


async def test_what_is_forgotten_in_time_is_no_tampering(dsn: str) -> None:
    await write_books(dsn)
    await write_more(dsn)
    await seal_all(dsn)
    async with connection_to(dsn) as connection:
        await connection.execute("DELETE FROM saved_responses; DELETE FROM access_tokens")
    assert (await look(dsn)).differences == []


async def test_since_the_last_seal_only_what_is_new_is_looked_at(dsn: str) -> None:
    await write_books(dsn)
    await write_more(dsn)
    await seal_all(dsn)
    report = await look(dsn, since_seal=True)
    assert (report.differences, report.payments, report.transfers) == ([], 0, 0)
    await pay(dsn, "new")
    report = await look(dsn, since_seal=True)
    assert (report.differences, report.payments, report.transfers) == ([], 1, 2)


NEW = [
    ("UPDATE payments SET amount = amount + 1 WHERE reference = 'new'", {"payment_transfer"}),
    ("UPDATE wallets SET balance = balance + 1 WHERE mode = 'live'", {"wallet_history"}),
    ("UPDATE wallets SET day_spent = 0 WHERE mode = 'live'", {"wallet_period"}),
    (
        "DELETE FROM events WHERE type = 'payment.paid' AND object_id = "
        "(SELECT id FROM payments WHERE reference = 'new')",
        {"payment_event"},
    ),
    ("DELETE FROM reference_claims WHERE reference = 'new'", {"reference_claim"}),
    (
        "DELETE FROM transfers WHERE kind = 'fee' AND payment_id = "
        "(SELECT id FROM payments WHERE reference = 'new')",
        {"fee_transfer"},
    ),
    ("DROP TRIGGER transfers_insert_only ON transfers", {"schema"}),
    ("UPDATE seals SET mac = content WHERE number = (SELECT max(number) FROM seals)", {"seal_mac"}),
]


@pytest.mark.parametrize(("statement", "kinds"), NEW, ids=[sql[:60] for sql, _ in NEW])
async def test_damage_to_what_is_new_is_named_since_the_seal(
    dsn: str, statement: str, kinds: set[str]
) -> None:
    await write_books(dsn)
    await seal_all(dsn)
    await pay(dsn, "new")
    async with connection_to(dsn) as connection:
        await connection.execute(f"SET session_replication_role = replica; {statement}")
    report = await look(dsn, since_seal=True)
    assert kinds <= set(report.counts)


async def test_payments_go_on_while_it_is_audited(dsn: str) -> None:
    await write_books(dsn)
    done = asyncio.Event()

    async def trade() -> None:
        for number in range(15):
            await pay(dsn, f"during {number}")
        done.set()

    async def prove() -> int:
        rounds = 0
        while not done.is_set():
            await seal_once(dsn)
            for since_seal in (False, True):
                report = await look(dsn, since_seal=since_seal)
                assert report.differences == []
            rounds += 1
        return rounds

    _, rounds = await asyncio.gather(trade(), prove())
    assert rounds > 0


async def test_the_background_seals_and_notes_the_last_seal(dsn: str, tmp_path: Path) -> None:
    await write_books(dsn)
    async with pool_of(dsn) as pool:
        await run_all(Sealer(pool, MASTER_KEY, tmp_path))
    noted = noted_seal(last_seal_file(tmp_path, MASTER_KEY))
    assert noted is not None
    report = await look(dsn, known=[noted])
    assert report.differences == []
    assert report.last_seal is not None
    assert f"{report.last_seal.number}:{report.last_seal.mac}" == str(noted)


async def test_rows_that_came_while_sealing_wait_for_the_next_time(
    dsn: str, tmp_path: Path
) -> None:
    """Under load there always are some: a sealer that went on would never rest, nor note a seal."""
    await write_books(dsn)
    async with pool_of(dsn) as pool:
        sealer = Sealer(pool, MASTER_KEY, tmp_path)
        path = last_seal_file(tmp_path, MASTER_KEY)
        noted = []
        for number in range(2):
            await pay(dsn, f"meanwhile {number}")
            assert not await sealer.step()
            noted.append(noted_seal(path))
    assert None not in noted
    assert noted[0] != noted[1]


async def test_the_sealer_goes_on_until_all_that_is_complete_is_sealed(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_books(dsn)
    monkeypatch.setattr("laari.workers.sealing.seal_next", partial(seal_next, chunk=10))
    async with pool_of(dsn) as pool:
        await run_all(Sealer(pool, MASTER_KEY, tmp_path))
    report = await look(dsn)
    assert report.differences == []
    assert report.unsealed is not None
    assert report.unsealed["transfers"] == 0


async def test_seals_that_were_taken_back_are_noticed_though_new_ones_were_made(
    dsn: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Removing the newest seals and changing what they covered would go unseen otherwise."""
    await write_books(dsn)
    async with pool_of(dsn) as pool:
        sealer = Sealer(pool, MASTER_KEY, tmp_path)
        await run_all(sealer)
        path = last_seal_file(tmp_path, MASTER_KEY)
        before = noted_seal(path)
        async with connection_to(dsn) as connection:
            await connection.execute(
                "SET session_replication_role = replica; DELETE FROM seals; "
                "DELETE FROM transactions WHERE status = 'failed'"
            )
        await run_all(sealer)
    assert "is not in the database" in caplog.text
    assert noted_seal(path) == before  # and the audit still asks for it
    assert before is not None
    assert set((await look(dsn, known=[before])).counts) == {"seal_lost"}


def test_a_seal_is_read_as_it_is_written(tmp_path: Path) -> None:
    seal = KnownSeal(12, bytes(range(32)))
    assert read_seal(str(seal)) == seal
    for text in ("", "12", f"0:{'a' * 64}", f"12:{'A' * 64}", f"12:{'a' * 63}", f"-1:{'a' * 64}"):
        assert read_seal(text) is None
    path = tmp_path / "note"
    assert noted_seal(path) is None
    note_seal(path, seal)
    assert noted_seal(path) == seal
    assert list(tmp_path.iterdir()) == [path]


def test_two_installations_note_their_seals_apart(tmp_path: Path) -> None:
    one, other = (last_seal_file(tmp_path, key) for key in (MASTER_KEY, bytes(range(32))))
    assert one == last_seal_file(tmp_path, MASTER_KEY) != other
    assert MASTER_KEY.hex()[:8] not in one.name


async def test_a_copy_that_is_put_in_place_is_compared_with_the_same_file(
    dsn: str, engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A copy has another OID: the file belongs to the installation, not to one database."""
    await write_books(dsn)
    async with pool_of(dsn) as pool:
        await run_all(Sealer(pool, MASTER_KEY, tmp_path))
    copy = engine.named("copy")
    original = dsn.partition("@/")[2].partition("?")[0]
    await engine.execute(f"CREATE DATABASE {copy} TEMPLATE {original}")
    async with connection_to(engine.url(copy)) as connection:
        await connection.execute(
            "SET session_replication_role = replica; DELETE FROM seals; "
            "DELETE FROM transactions WHERE status = 'failed'"
        )
    async with pool_of(engine.url(copy)) as pool:
        await run_all(Sealer(pool, MASTER_KEY, tmp_path))
    assert "is not in the database" in caplog.text
    noted = noted_seal(last_seal_file(tmp_path, MASTER_KEY))
    assert noted is not None
    assert set((await look(engine.url(copy), known=[noted])).counts) == {"seal_lost"}


async def test_a_file_that_is_missing_is_warned_of_once(
    dsn: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await write_books(dsn)
    async with pool_of(dsn) as pool:
        sealer = Sealer(pool, MASTER_KEY, tmp_path)
        await run_all(sealer)
        assert caplog.text == ""  # the first seals of all: there was nothing to keep before
        last_seal_file(tmp_path, MASTER_KEY).unlink()
        sealer = Sealer(pool, MASTER_KEY, tmp_path)
        for _ in range(2):
            await run_all(sealer)
    [warning] = caplog.records
    assert warning.levelname == "WARNING"
    assert f"{last_seal_file(tmp_path, MASTER_KEY)} is missing" in warning.getMessage()


async def test_a_data_directory_that_is_missing_is_warned_of_once(
    dsn: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An external database needs no data directory, so nobody would miss the file."""
    nowhere = tmp_path / "nowhere"
    async with pool_of(dsn) as pool:
        sealer = Sealer(pool, MASTER_KEY, nowhere)
        for _ in range(2):
            await run_all(sealer)
        [warning] = caplog.records
        assert f"{nowhere} does not exist" in warning.getMessage()
        await write_books(dsn)
        await run_all(sealer)
    assert not nowhere.exists()


async def test_the_log_says_the_last_seal(
    dsn: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "laari.workers.sealing")
    await write_books(dsn)
    async with pool_of(dsn) as pool:
        await run_all(Sealer(pool, MASTER_KEY, tmp_path / "nowhere"))
    last = (await look(dsn)).last_seal
    assert last is not None
    assert f"the ledger is sealed up to {last.number}:{last.mac}" in caplog.messages


async def test_the_seal_to_keep_changes_once_an_hour(dsn: str) -> None:
    """Each one is a time series of its own where metrics are kept."""
    await write_books(dsn)
    async with connection_to(dsn) as connection:
        assert await shown_seals(connection) is None
        seals = await seal_all(dsn)
        await connection.execute(
            "SET session_replication_role = replica; "
            "UPDATE seals SET sealed_at = date_trunc('hour', now())"
        )
        assert await shown_seals(connection) == (seals[-1].number, None)
        await connection.execute(
            "UPDATE seals SET sealed_at = sealed_at - interval '1 microsecond' WHERE number <= 2"
        )
        assert await shown_seals(connection) == (seals[-1].number, (2, seals[1].mac))


async def test_a_database_that_was_moved_by_a_dump_is_told_of(dsn: str) -> None:
    """Its new server counts transactions from the beginning: new rows would never be sealed."""
    await write_books(dsn)
    await seal_all(dsn)
    async with connection_to(dsn) as connection:
        await connection.execute(
            "SET session_replication_role = replica; "
            "UPDATE seals SET from_xid = from_xid + 1000000, upto_xid = upto_xid + 1000000"
        )
    with pytest.raises(MovedError, match="moved by a dump"):
        await seal_once(dsn)
    async with connection_to(dsn) as connection:
        with pytest.raises(MovedError, match="are sealed up to transaction"):
            await check_not_moved(connection)


async def test_figures_of_a_database_that_was_moved_are_not_added_up(dsn: str) -> None:
    await write_books(dsn)
    await seal_all(dsn)
    async with connection_to(dsn) as connection:
        await daily_figures.add_up(connection)
        await check_not_moved(connection)
        await connection.execute("UPDATE figures_upto SET xid = xid + 1000000")
        with pytest.raises(MovedError, match="daily figures are added"):
            await daily_figures.add_up(connection)
        with pytest.raises(MovedError, match="daily figures are added"):
            await check_not_moved(connection)


async def test_sealing_asks_for_no_more_than_reading(dsn: str) -> None:
    """Nobody who pays waits for the sealer: it locks no row."""
    await write_books(dsn)
    async with connection_to(dsn) as connection:
        held = connection.transaction()
        await held.start()
        await seal_next(connection, KEY)
        locks = await connection.fetch(
            "SELECT DISTINCT relation::regclass::text, mode FROM pg_locks "
            "WHERE pid = pg_backend_pid() AND relation IS NOT NULL AND mode <> 'AccessShareLock'"
        )
        assert {tuple(lock) for lock in locks} <= {
            ("seals", "RowExclusiveLock"),
            ("seals_pkey", "RowExclusiveLock"),
            ("seals_by_subject", "RowExclusiveLock"),
        }
        await pay(dsn, "meanwhile")
        await held.rollback()


async def test_live_customers_made_by_hand_are_sealed_too(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        await make_merchant(
            connection, OPERATOR, MASTER_KEY, name="Shop", mode="live", fee_bps=0, fee_fixed=0
        )
        await make_customer(connection, OPERATOR, name="A", mode="live", tier="basic", balance=5)
    seals = await seal_all(dsn)
    counts = {seal.subject: seal.row_count for seal in seals if seal.subject != "journal"}
    assert counts == {"transfers": 1, "transactions": 1, "fee_history": 1}
