"""Bank accounts: from when they are used, who hears of them, and who else has to agree."""

import re
from datetime import timedelta
from typing import Any

import pytest

from laari.rules.actors import Actor, themselves
from laari.rules.banking.bank_accounts import AddBankAccount, is_same_name
from laari.rules.banking.waiting_movements import Made, MakeMovement
from laari.rules.people.contact_changes import (
    ApplyContactChange,
    ConfirmContactChange,
    RequestContactChange,
)
from laari.rules.records.bank_accounts import BankAccount, BankDetails
from laari.rules.records.second_person import PendingMovement
from laari.store.batch.runner import BatchRunner
from laari.store.reads.money import payouts as reads
from laari.store.secrets import keys_of
from tests.actors import ANYBODY, MASTER, OPERATOR
from tests.bank_accounts import enter
from tests.store.payout_books import Shop, a_shop

ANN = Actor("operator", "ann@laari.test", "admin")  # for accounts of merchants
BEA = Actor("operator", "bea@laari.test", "finance")
WAITS = timedelta(hours=48)


async def add(shop: Shop, actor: Actor, holder: str, number: str = "1111", **more: Any) -> Any:
    owner = more.get("owner", shop.payer.account)
    return await shop.run(AddBankAccount(actor, owner, BankDetails(holder, "BML", number)))


def waited(account: BankAccount) -> timedelta:
    return account.effective_at - account.created_at


@pytest.mark.parametrize("operator", [ANN, OPERATOR])
async def test_what_an_operator_enters_waits_for_48_hours_the_first_one_too(
    dsn: str, operator: Actor
) -> None:
    async with a_shop(dsn) as shop:
        for owner in (shop.payer.account, shop.tenant.id):
            first = await add(shop, operator, "Aisha", owner=owner)
            assert waited(first) == WAITS
        refused = await shop.withdraw(100)
        told = r"The bank account is used from \d\d? [A-Z][a-z]{2} \d{4}, \d\d:\d\d\."
        assert re.fullmatch(told, refused.message)
        assert await shop.differences() == []
    async with a_shop(dsn) as shop:
        for owner in (shop.payer.account, shop.tenant.id):
            own = await add(shop, ANYBODY, "Aisha", owner=owner)
            assert waited(own) == timedelta(0)
            # The account in use, entered again by the operator, stops a change at once.
            assert waited(await add(shop, ANYBODY, "Aisha", "2222", owner=owner)) == WAITS
            assert waited(await add(shop, operator, "Aisha", owner=owner)) == timedelta(0)


@pytest.mark.parametrize(("lost", "waits"), [(True, WAITS), (False, timedelta(0))])
async def test_after_a_lost_contact_the_first_account_of_a_customer_waits_too(
    dsn: str, lost: bool, waits: timedelta
) -> None:
    async with a_shop(dsn) as shop:
        query = "SELECT customer_id FROM wallets WHERE account = $1"
        await shop.runner.close()
        shop.runner = BatchRunner(dsn, "http://laari.test", keys=keys_of(MASTER))
        customer_id = await shop.connection.fetchval(query, shop.payer.account)
        asked = RequestContactChange(OPERATOR, customer_id, "mobile", "7779999", "Call", lost=lost)
        change = await shop.run(asked)
        at_once = timedelta(0)
        await shop.run(
            ConfirmContactChange(
                OPERATOR, customer_id, "mobile", change.id, code=None, reason="Seen", delay=at_once
            )
        )
        done = await shop.run(ApplyContactChange(customer_id, change.id))
        assert done.status == "done"
        assert waited(await add(shop, themselves(customer_id), "Aisha")) == waits


async def test_the_owner_hears_of_an_account_that_an_operator_entered(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        customer = "SELECT customer_id FROM wallets WHERE account = $1"
        id = await shop.connection.fetchval(customer, shop.payer.account)
        async with shop.connection.transaction():
            await shop.connection.execute("SET LOCAL session_replication_role = replica")
            await shop.connection.execute(
                "UPDATE customers SET mobile = '7712345' WHERE id = $1", id
            )
        sms = frozenset({"sms"})
        await enter(shop.connection, shop.payer.account, actor=ANN, holder="Aisha", channels=sms)
        [row] = await shop.connection.fetch("SELECT kind, recipient, customer_id FROM messages")
        assert tuple(row) == ("own_bank_account_changed", "+9607712345", id)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Aisha Ali", "AISHA  ALI", True),
        ("Aisha-Ali.", "aisha ali", True),
        ("Aisha Ali", "Ali Aisha", False),
        ("Aisha", "Aishath", False),
        ("އައިޝާ", "އައިޝާ", True),
        ("އައިޝާ", "އޮއިޝާ", False),
        ("ﬁnn", "FINN", True),
    ],
)
def test_names_are_compared_by_their_letters(one: str, other: str, expected: bool) -> None:
    assert is_same_name(one, other) is expected


async def test_a_holder_with_another_name_needs_a_second_person(dsn: str) -> None:
    async with a_shop(dsn, above=10**9) as shop:
        account = shop.payer.account
        assert isinstance(await add(shop, ANN, "AISHA."), BankAccount)
        movement = await add(shop, ANN, "Ben", "2222")
        assert isinstance(movement, PendingMovement)
        assert (movement.kind, movement.amount) == ("bank_account", 0)
        assert [each.holder for each in await accounts(shop)] == ["AISHA."]
        own = await shop.run(MakeMovement(ANN, movement.id))
        assert own.message == "Another person has to confirm a movement you asked for."
        assert isinstance(await shop.run(MakeMovement(BEA, movement.id)), Made)
        _, added = await accounts(shop)
        assert (added.holder, added.account_number, added.account) == ("Ben", "2222", account)
        assert (waited(added), added.entered_by) == (WAITS, "operator ann@laari.test")
        # The owner of a wallet has the own name there, and merchants have names of their own.
        assert isinstance(await add(shop, ANN, "Ben", owner=shop.tenant.id), BankAccount)
        assert await shop.differences() == []
    async with a_shop(dsn) as shop:  # with the rule off
        assert isinstance(await add(shop, ANN, "Ben"), BankAccount)


async def accounts(shop: Shop) -> tuple[BankAccount, ...]:
    account = shop.payer.account
    return (await reads.bank_accounts(shop.connection, [account]))[account]
