"""The operator's search: each way to read a text, and an index for each."""

from datetime import UTC, datetime

import asyncpg
import pytest

from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.payout_runs import JoinRun
from laari.rules.calendar import local_day
from laari.rules.ids import show_id
from laari.rules.people.persons import NewLogin
from laari.rules.records.payments import Payment
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import _SESSION, connection_to
from laari.store.reads import find as finding
from laari.store.reads.find import Finds, find, payments_of_amount
from tests import people
from tests.actors import OPERATOR
from tests.audit.books import MASTER_KEY, write_books
from tests.making import make_customer, make_merchant
from tests.store.payout_books import a_shop, bank_account

ACTING = '{"kind": "service", "name": "test", "action": "test.fill"}'
SUFFIXES = ("fahipay", "fp")


async def look(dsn: str, text: str, most: int = 20) -> Finds:
    async with connection_to(dsn) as connection:
        return await find(connection, text, most, vpa_suffixes=SUFFIXES)


async def names(dsn: str, text: str) -> list[str]:
    return [each.name for each in (await look(dsn, text)).customers.values()]


@pytest.fixture
async def customers_of(dsn: str) -> str:
    async with connection_to(dsn) as connection:
        for name, mobile, email, vpa in (
            ("Aishath Ibrahim-Didi", "7771234", "aisha@b.mv", "aisha.i"),
            ("Hassan Ibrahim", "9991234", "hassan@b.mv", "hassan"),
            ("އައިޝަތު އިބްރާހީމް", None, None, None),
            ("O'Neil \\ (Café) & Co", None, None, None),
        ):
            await make_customer(
                connection,
                OPERATOR,
                name=name,
                mode="live",
                tier="basic",
                mobile=mobile,
                email=email,
                vpa=vpa,
            )
        await make_merchant(connection, OPERATOR, MASTER_KEY, name="Ibrahim's Bakery", mode="live")
    return dsn


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, ["Aishath Ibrahim-Didi"]) for text in ("7771234", "+960 777-1234", "AISHA@b.mv")),
        *((text, ["Aishath Ibrahim-Didi"]) for text in ("aisha.i", "Aisha.I@fp", "didi AISH")),
        ("ibra", ["Hassan Ibrahim", "Aishath Ibrahim-Didi"]),
        ("brahim", []),  # not the beginning of a word
        ("އިބް", ["އައިޝަތު އިބްރާހީމް"]),
        ("o'nei", ["O'Neil \\ (Café) & Co"]),
        ("café", ["O'Neil \\ (Café) & Co"]),
        *((text, []) for text in ("", "  ", "\\", "'", "':* | zz", "&", "%", "\0", "x" * 1_000)),
    ],
)
async def test_customers_are_found_by_contact_and_by_the_beginning_of_a_word(
    customers_of: str, text: str, expected: list[str]
) -> None:
    assert await names(customers_of, text) == expected


async def test_a_merchant_is_found_by_a_word_and_by_its_id(customers_of: str) -> None:
    [found] = (await look(customers_of, "bakery")).merchants.values()
    assert found.name == "Ibrahim's Bakery"
    assert list((await look(customers_of, found.id)).merchants) == [found.id]
    assert len((await look(customers_of, "ibrahim")).customers) == 2


async def test_more_than_is_shown_is_named(customers_of: str) -> None:
    found = await look(customers_of, "ibrahim", most=1)
    assert (len(found.customers), found.more) == (1, ["customers"])
    assert (await look(customers_of, "ibrahim", most=2)).more == []


async def test_resources_are_found_by_id_link_reference_and_receipt(dsn: str) -> None:
    await write_books(dsn)
    [paid] = (await look(dsn, "PAID")).payments.values()  # references in any spelling
    assert (paid.reference, paid.status) == ("paid", "paid")
    tenants = (await look(dsn, "paid")).tenants
    assert [(each.merchant_name, each.mode) for each in tenants.values()] == [("Shop", "live")]
    for text in (show_id("pay_", paid.id), f"https://x.mv/pay/{paid.token}?lang=dv"):
        found = await look(dsn, text)
        assert (list(found.payments), found.customers) == ([paid.id], {})
    assert paid.payment_reference is not None
    found = await look(dsn, f" {paid.payment_reference.lower()} ")
    assert list(found.payments) == [paid.id]
    assert [each.tid for each in found.transactions.values()] == [paid.payment_reference]
    [holder] = found.customers.values()
    assert (holder.name, holder.account) == ("Aisha", paid.payer_account)
    assert list((await look(dsn, str(holder.account))).customers) == [holder.customer_id]
    assert list((await look(dsn, show_id("cus_", holder.customer_id))).customers)
    [asked] = (await look(dsn, "ask paid")).requests.values()
    assert list((await look(dsn, show_id("prq_", asked.id))).requests) == [asked.id]
    [active] = (await look(dsn, "auth active")).authorizations.values()
    assert list((await look(dsn, show_id("auth_", active.id))).authorizations) == [active.id]
    assert list((await look(dsn, f"/approve/{active.token}")).authorizations) == [active.id]
    for nothing in (f"pay_{'0' * 32}", f"cus_{'0' * 32}", "mer_aaaaaaaaaaaaaaaaaaaa", "0" * 16):
        missing = await look(dsn, nothing)
        assert [getattr(missing, kind) for kind in finding.KINDS] == [{}] * 8


async def test_payouts_orders_lines_refunds_and_people_are_found(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        paid = await shop.pay(50_000)
        refund = await shop.refund(paid.id, 1_000)
        payout, run = await shop.payout(), await shop.open_run()
        await shop.run(JoinRun(OPERATOR, payout.id, run.id))
        await shop.send(run.id)
        line = StatementLine(2, local_day(datetime.now(UTC)), "FT77", "From nobody", 500, None)
        await shop.run(ImportLine(OPERATOR, line))
        owner = NewLogin(hash_password("correct horse"))
        await people.add(
            shop.connection, OPERATOR, shop.tenant.merchant_id, "o@b.mv", "owner", None, owner
        )
        for text in (show_id("po_", payout.id), "lp000001r0001"):
            found = await look(dsn, text)
            [one] = found.payouts.values()
            assert (one.payout.id, one.run) == (payout.id, 1)
            assert [order.reference for order in one.orders] == ["LP000001R0001"]
            assert found.tenants[shop.tenant.id].merchant_id == shop.tenant.merchant_id
        [received] = (await look(dsn, "FT77")).lines.values()
        assert (received.amount, received.use) == (500, "receipt")
        assert list((await look(dsn, show_id("rfd_", refund.refund.id))).payments) == [paid.id]
        assert list((await look(dsn, "O@b.mv")).merchants) == [shop.tenant.merchant_id]


async def test_a_failed_attempt_is_found_by_its_reference_with_its_reason(dsn: str) -> None:
    await write_books(dsn)
    async with connection_to(dsn) as connection:
        tid = await connection.fetchval("SELECT tid FROM transactions WHERE status = 'failed'")
    found = await look(dsn, tid)
    assert [each.failure for each in found.transactions.values()] == ["insufficient_balance"]
    assert found.payments == {}


async def test_an_amount_is_found_within_a_merchant_and_a_day(dsn: str) -> None:
    await write_books(dsn)
    [dear] = (await look(dsn, "dear")).payments.values()

    async def found(amount: int, tenant_id: int = dear.tenant_id) -> list[Payment]:
        async with connection_to(dsn) as connection:
            day = local_day(dear.created_at)
            return await payments_of_amount(connection, tenant_id, amount, day, 50)

    assert [each.reference for each in await found(9_000_000)] == ["dear"]
    assert len(await found(10_000)) == 6
    assert await found(1) == []
    assert await found(9_000_000, dear.tenant_id + 1) == []


async def fill(connection: asyncpg.Connection) -> None:
    """Enough rows that reading all of them costs more than any index."""
    await connection.execute("SELECT set_config('laari.actor', $1, false)", ACTING)
    await connection.execute(
        "INSERT INTO customers (id, name, mode, mobile, email, vpa) SELECT gen_random_uuid(), "
        "'Name' || n || ' Family' || n % 500, 'live', (7000000 + n)::text, n || '@b.mv', 'v' || n "
        "FROM generate_series(1, 6000) n; "
        "INSERT INTO wallets (customer_id, mode, tier) SELECT id, 'live', 'basic' FROM customers "
        "WHERE sandbox_of IS NULL AND id NOT IN (SELECT customer_id FROM wallets); "
        "INSERT INTO reference_claims (tenant_id, reference, kind, resource_id) "
        "SELECT t.id, 'r' || n, 'payment', gen_random_uuid() FROM tenants t, "
        "generate_series(1, 6000) n; ANALYZE"
    )


async def fill_merchants(connection: asyncpg.Connection, number: int) -> None:
    """Merchants with a reference of their own, and two that all of them use."""
    await connection.execute("SELECT set_config('laari.actor', $1, false)", ACTING)
    await connection.execute(
        "INSERT INTO merchants (id, name, mode, secret_digest, secret_encrypted, fee_bps, "
        "fee_fixed, sandbox_account) SELECT 'mer_' || lpad(n::text, 20, 'a'), 'Shop' || n, "
        "'live', sha256(n::text::bytea), '', 0, 0, n FROM generate_series(1, $1) n",
        number,
    )
    await connection.execute(
        "INSERT INTO tenants (merchant_id, mode) SELECT id, 'live' FROM merchants "
        "WHERE sandbox_account <= $1",
        number,
    )
    await connection.execute(
        "INSERT INTO reference_claims (tenant_id, reference, kind, resource_id) "
        "SELECT t.id, unnest(ARRAY['of' || t.id, 'COMMON', 'Common']), 'payment', "
        "gen_random_uuid() FROM tenants t; ANALYZE"
    )


READ = (
    "SELECT sum(seq_tup_read)::bigint, sum(idx_tup_fetch)::bigint, sum(idx_scan)::bigint "
    "FROM pg_stat_xact_user_tables"
)
TEXTS = ("7000123", "123@b.mv", "v123", "family12 name", "r77", "common", "0123456789ABCDEF")


async def rows_and_lookups(connection: asyncpg.Connection, text: str) -> tuple[int, int]:
    """The rows that a search read in all tables, and its look-ups in all indexes."""
    async with connection.transaction():
        # Small tables in the same statements are read as a whole; these would never be.
        await connection.execute("SET LOCAL enable_seqscan = on")
        before = await connection.fetchrow(READ)
        await find(connection, text, 20, vpa_suffixes=SUFFIXES)
        after = await connection.fetchrow(READ)
    scanned, fetched, lookups = (new - old for new, old in zip(after, before, strict=True))
    return scanned + fetched, lookups


@pytest.mark.ci
async def test_no_search_reads_a_whole_table(dsn: str) -> None:
    """A reference is looked up for each merchant, in each of its spellings."""
    await write_books(dsn)
    merchants, ways = 3_000, 5
    async with connection_to(dsn, **_SESSION) as connection:
        await fill(connection)
        few = {text: await rows_and_lookups(connection, text) for text in TEXTS}
        await fill_merchants(connection, merchants)
        many = {text: await rows_and_lookups(connection, text) for text in TEXTS}
    for text, (rows, lookups) in many.items():
        assert rows < merchants + 1_500, (text, rows)
        assert lookups <= few[text][1] + ways * (merchants + 1), (text, lookups, few[text])


async def test_the_newest_of_a_reference_that_several_merchants_use_is_shown(dsn: str) -> None:
    await write_books(dsn)
    async with connection_to(dsn) as connection:
        ids = [id for (id,) in await connection.fetch("SELECT id FROM payments ORDER BY id")]
        await fill_merchants(connection, len(ids))
        await connection.execute(
            "INSERT INTO reference_claims (tenant_id, reference, kind, resource_id) "
            "SELECT t.id, 'Same', 'payment', paid.id FROM unnest($1::uuid[]) "
            "WITH ORDINALITY AS paid (id, n) "
            "JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM tenants) t USING (n)",
            ids,
        )
        found = await find(connection, "same", 2)
    assert (list(found.payments), found.more) == (ids[:-3:-1], ["payments"])
