"""What a seal digests stays as it was: a later version must not accuse what an earlier one sealed.

The statements are those of the first version, word for word; in the second form the body of an
event stands in the place of its digest. Another form needs another number, and code that still
verifies these.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from laari.store import sealed_rows, sealing
from laari.store.database import connection_to
from laari.store.seals import Seal, mac_of
from tests.audit.books import look, pay, seal_all, write_books, write_more

FIRST = {
    "transfers": (
        "id",
        "r.id, r.kind, r.debit_account, r.credit_account, r.amount, r.payment_id, r.tid, "
        "r.created_at",
    ),
    "transactions": (
        "tid",
        "r.tid, r.account, r.recorded, r.time, r.type, r.name, r.details, r.amount, r.status, "
        "CASE r.type WHEN 'topup' THEN (SELECT s.slip FROM topup_slips s WHERE s.tid = r.tid) "
        "END, CASE WHEN r.type IN ('topup', 'adjustment') THEN "
        "(SELECT w.customer_id FROM wallets w WHERE w.account = r.account) END",
    ),
    "events": (
        "id",
        "r.id, r.tenant_id, r.type, r.object_id, r.created_at, sha256(r.body), CASE r.type "
        "WHEN 'payment_request.created' THEN "
        "(SELECT q.account FROM payment_requests q WHERE q.id = r.object_id) "
        "WHEN 'authorization.approved' THEN "
        "(SELECT a.account FROM authorizations a WHERE a.id = r.object_id) END, "
        "CASE WHEN r.type IN ('payment.created', 'payment_request.created', "
        "'authorization.created') THEN "
        "(SELECT t.merchant_id FROM tenants t WHERE t.id = r.tenant_id) END",
    ),
}


def form_of(number: int) -> dict[str, tuple[str, str]]:
    body = {1: "sha256(r.body)", 2: "r.body"}[number]
    return {
        table: (key, sealed.replace("sha256(r.body)", body))
        for table, (key, sealed) in FIRST.items()
    }


@pytest.mark.parametrize("table", FIRST)
@pytest.mark.parametrize("number", [1, 2])
async def test_a_seal_digests_what_it_always_did(
    dsn: str, table: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "FORM", number)
    await write_books(dsn)
    await write_more(dsn)
    key, sealed = form_of(number)[table]
    own = [seal for seal in await seal_all(dsn, 10_000) if seal.subject == table]
    assert own
    async with connection_to(dsn) as connection:
        for seal in own:
            assert (seal.form, seal.from_key, seal.upto_key) == (number, None, None)
            content = await connection.fetchval(
                "SELECT sha256(coalesce(string_agg(sent, ''::bytea ORDER BY key), ''::bytea)) "
                f"FROM (SELECT r.{key} AS key, record_send(ROW({sealed})) AS sent FROM {table} r "
                "WHERE r.xid > $1 AND r.xid <= $2) AS rows",
                seal.from_xid,
                seal.upto_xid,
            )
            assert content == seal.content


def test_a_mac_covers_what_it_always_did() -> None:
    """The first value was computed by the version that made the first seals."""
    seal = Seal(
        number=7,
        subject="events",
        from_xid=10,
        from_key=None,
        upto_xid=20,
        upto_key="k",
        row_count=3,
        deliveries=1,
        content=bytes(range(32)),
        sealed_at=datetime(2026, 11, 1, 12, 0, 0, 123456, tzinfo=UTC),
        mac=b"",
        form=1,
    )
    first = "c3898ad292d8af68a770a93605d56595f5f1acdeea0d90842670e9ffa51ffa8e"
    assert mac_of(b"k" * 32, seal, b"p" * 32).hex() == first
    assert mac_of(b"k" * 32, replace(seal, form=2), b"p" * 32).hex() != first


async def seal_in_both_forms(
    dsn: str, monkeypatch: pytest.MonkeyPatch, chunk: int = 10
) -> tuple[int, int]:
    """An installation that was upgraded; the number of a seal of events in each form."""
    await write_books(dsn)
    with monkeypatch.context() as before:
        before.setattr(sealing, "FORM", 1)
        old = await seal_all(dsn, chunk)
    await pay(dsn, "after the upgrade")
    new = await seal_all(dsn, chunk)
    assert ({seal.form for seal in old}, {seal.form for seal in new}) == ({1}, {2})
    first, second = (next(s for s in made if s.subject == "events") for made in (old, new))
    return first.number, second.number


@pytest.mark.parametrize("chunk", [10, 10_000])  # seals are read together, or each by itself
async def test_both_forms_stand_in_one_chain(
    dsn: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await seal_in_both_forms(dsn, monkeypatch, chunk)
    assert (await look(dsn)).differences == []


@pytest.fixture
def second_called_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seals are made as one version made them: in the second form, under the first number."""
    monkeypatch.setattr(sealing, "FORM", 1)
    monkeypatch.setattr(sealed_rows, "BODY", {1: "r.body", 2: "r.body"})


@pytest.mark.parametrize("chunk", [10, 10_000])
@pytest.mark.parametrize("tampered", [False, True])
async def test_seals_that_say_the_first_form_and_have_the_second_are_ours(
    dsn: str, chunk: int, tampered: bool, second_called_first: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_books(dsn)
    made = await seal_all(dsn, chunk)
    monkeypatch.undo()
    await pay(dsn, "after the upgrade")
    await seal_all(dsn, chunk)
    number = next(seal.number for seal in made if seal.subject == "events")
    if tampered:
        await change_a_body(dsn, number)
    found = {(each.kind, each.id) for each in (await look(dsn)).differences}
    assert (("sealed_rows", f"seal {number}") in found) == tampered
    assert bool(found) == tampered


async def change_a_body(dsn: str, number: int) -> None:
    """Of an event that this seal covers."""
    async with connection_to(dsn) as connection:
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(
            "UPDATE events SET body = body || '\\x20' WHERE id = (SELECT r.id FROM events r "
            "JOIN seals s ON r.xid > s.from_xid AND r.xid <= s.upto_xid "
            "WHERE s.number = $1 ORDER BY r.id LIMIT 1)",
            number,
        )


@pytest.mark.parametrize("which", [0, 1])
async def test_a_body_that_is_changed_under_either_form_is_named(
    dsn: str, which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = (await seal_in_both_forms(dsn, monkeypatch))[which]
    await change_a_body(dsn, number)
    found = {(each.kind, each.id) for each in (await look(dsn)).differences}
    assert ("sealed_rows", f"seal {number}") in found


@pytest.mark.parametrize("form", [1, 9])
async def test_a_seal_that_claims_another_form_is_named(dsn: str, form: int) -> None:
    await write_books(dsn)
    last = (await seal_all(dsn))[-1]
    async with connection_to(dsn) as connection:
        await connection.execute(
            "SET session_replication_role = replica; "
            f"UPDATE seals SET form = {form} WHERE number = {last.number}"
        )
    found = {(each.kind, each.id) for each in (await look(dsn)).differences}
    assert ("seal_mac", f"seal {last.number}") in found
