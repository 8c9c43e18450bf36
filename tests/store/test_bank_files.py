"""The file for the bank is handed out only if its orders and bank accounts still make it."""

import pytest

from laari.store.reads.money import bank_files
from laari.store.reads.money.bank_files import ChangedFileError
from tests.store.payout_books import Shop, a_shop, bank_account

CHANGES = {
    "content": (
        "UPDATE bank_files SET content = convert_to(replace(convert_from(content, 'UTF8'), "
        "'7730000012345', '7730000099999'), 'UTF8')"
    ),
    "account": "UPDATE bank_accounts SET account_number = '11112222'",
    "order": "UPDATE bank_orders SET amount = amount + 1",
    "reference": "UPDATE bank_orders SET reference = 'LP000001R0009' WHERE place = 1",
    "day": "UPDATE bank_files SET value_date = value_date + 1",
}


async def a_file(shop: Shop) -> bank_files.StoredBankFile:
    """Of two orders. The bank's name has a comma, which CSV quotes."""
    await bank_account(shop)
    await shop.connection.execute("SET session_replication_role = replica")
    await shop.connection.execute("UPDATE bank_accounts SET bank = 'BML, Malé'")
    await shop.connection.execute("SET session_replication_role = origin")
    await shop.pay(100_000)
    run = await shop.open_run()
    await shop.payout(run_id=run.id)
    await shop.send(run.id, most=60_000)
    made = await bank_files.handed_out(shop.connection, run.id)
    assert made is not None
    assert made.order_count == 2
    return made


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_changed_file_is_not_handed_out(dsn: str, change: str) -> None:
    async with a_shop(dsn) as shop:
        made = await a_file(shop)
        await shop.connection.execute("SET session_replication_role = replica")
        await shop.connection.execute(change)
        with pytest.raises(ChangedFileError):
            await bank_files.handed_out(shop.connection, made.run_id)


async def test_a_file_with_the_account_of_another_owner_is_not_handed_out(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        made = await a_file(shop)
        await shop.connection.execute("SET session_replication_role = replica")
        await shop.connection.execute(
            "UPDATE bank_accounts SET tenant_id = NULL, account = $1", shop.payer.account
        )
        with pytest.raises(ChangedFileError):
            await bank_files.handed_out(shop.connection, made.run_id)
