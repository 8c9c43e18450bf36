"""Messages about movements that their owners did not make, written behind the writers, once."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from laari.rules.actors import Actor
from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.payout_runs import AnswerPayout, CancelPayout, JoinRun
from laari.rules.banking.wallet_controls import FreezeWallet, UnfreezeWallet
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.banking.withdrawals import CancelWithdrawal
from laari.rules.calendar import local_day
from laari.rules.limits.messages import MOST_OF_A_MERCHANT
from laari.rules.merchants.applications import ApproveMerchant, RefuseApplication, SubmitApplication
from laari.rules.messages import CONTENTS
from laari.rules.payments import authorizations, charges
from laari.rules.people.message_choices import ChooseMessages
from laari.rules.records.messages import MessageChoice, MessageKind
from laari.rules.records.people import CustomerId, PersonId, show_whose
from laari.rules.refusals import Refusal
from laari.store import movement_messages
from laari.store.outbox.notices import Outbox
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import message_choices
from tests import shops
from tests.actors import MASTER, OPERATOR, change
from tests.audit.whole_books import ANSWERS
from tests.making import sign_up
from tests.messages.outbox import content_of
from tests.people import decided
from tests.store.payout_books import Shop, a_shop, bank_account

ORIGIN = "https://pay.example.com"
BOTH = frozenset({"email", "sms"})
OWNER = "owner@shop.example"


async def follow(
    dsn: str, channels: frozenset[str] = BOTH, step: int = 2_000, *, withdrawals: bool = True
) -> None:
    """As the background process does, until nothing is left."""
    async with connection_to(dsn) as connection:
        more = True
        while more:
            async with connection.transaction():
                more = await movement_messages.write_next(
                    connection, Outbox(channels, MASTER, withdrawals), ORIGIN, step
                )


async def reachable(shop: Shop) -> None:
    """The customer gets a number and an address, the merchant an owner; nothing is left to tell."""
    await change(
        shop.connection,
        "UPDATE customers SET email = 'aisha@example.mv', mobile = '7770001' "
        "WHERE id = (SELECT customer_id FROM wallets WHERE account = $1)",
        shop.payer.account,
    )
    person = uuid4()
    await change(
        shop.connection,
        "WITH p AS (INSERT INTO persons (id, email, password_hash, proven) "
        "VALUES ($1, $2, 'x', true) RETURNING id) "
        "INSERT INTO memberships (person_id, merchant_id, role) SELECT id, $3, 'owner' FROM p",
        person,
        OWNER,
        shop.tenant.merchant_id,
    )
    await follow(shop.dsn, frozenset())


async def choose(connection: asyncpg.Connection, whose: CustomerId, choice: MessageChoice) -> None:
    actor = Actor("customer", show_whose(whose))
    await decided(connection, ChooseMessages(actor, whose, choice))


async def told(shop: Shop, **options: Any) -> list[tuple[MessageKind, str, dict[str, Any]]]:
    """The kind, recipient and content of all messages, after the background process."""
    await follow(shop.dsn, **options)
    rows = await shop.connection.fetch("SELECT * FROM messages ORDER BY ctid")
    for row in rows:
        assert set(content_of(row)) == set(CONTENTS[row["kind"]].__struct_fields__)
    return [(row["kind"], row["recipient"], content_of(row)) for row in rows]


async def test_a_customer_hears_of_each_movement_that_others_made(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await reachable(shop)
        account = shop.payer.account
        await shop.run(MoveMoney(OPERATOR, None, account, "topup", 500, "Transfer FT1", "FT1"))
        paid = await shop.pay(10_000)  # by the customer: no message
        await shop.refund(paid.id, 300)
        correction = MoveMoney(OPERATOR, None, account, "adjustment", -200, "Typed twice")
        await shop.run(correction)
        draft = authorizations.AuthorizationDraft("a", "Box", type="unscheduled")
        made = await shop.run(authorizations.CreateAuthorization(shop.tenant, draft))
        await shop.run(authorizations.ApproveAuthorization(shop.tenant, made.id, shop.payer))
        charge = charges.PaymentDraft("c", 700, title="October")
        await shop.run(charges.ChargeAuthorization(shop.tenant, made.id, charge))
        found = await told(shop)
        after = await shop.wallet()
    assert [
        (kind, content["amount"], content["balance"] - after) for kind, _, content in found
    ] == [
        ("topup", 500, 10_600),
        ("refund", 300, 900),
        ("correction", -200, 700),
        ("charge", 700, 0),
    ]
    assert {to for _, to, _ in found} == {"aisha@example.mv"}
    assert found[2][2]["details"] == "Typed twice"
    assert (found[3][2]["merchant"], found[3][2]["title"]) == ("Seagull", "October")


@pytest.mark.parametrize(("has_page", "page"), [(True, "withdraw"), (False, "transactions")])
async def test_a_withdrawal_that_came_back_names_the_words_of_the_bank(
    dsn: str, has_page: bool, page: str
) -> None:
    """Without a page for withdrawals, the operator's own one leads to the history."""
    async with a_shop(dsn) as shop:
        await bank_account(shop, of_wallet=True)
        await reachable(shop)
        returned, cancelled, own = [await shop.withdraw(each) for each in (700, 800, 900)]
        run = await shop.open_run()
        await shop.run(JoinRun(OPERATOR, returned.id, run.id))
        await shop.send(run.id)
        line = StatementLine(
            2, local_day(datetime.now(UTC)), "FT9", "LP000001R0001 ACCOUNT CLOSED", 700, None
        )
        assert not isinstance(await shop.run(ImportLine(OPERATOR, line)), Refusal)
        await shop.run(CancelPayout(OPERATOR, cancelled.id))
        customer = Actor("customer", "cus_1")
        await shop.run(CancelWithdrawal(customer, shop.payer.account, own.id))
        found = await told(shop, withdrawals=has_page)
    assert [(kind, content["amount"]) for kind, _, content in found] == [
        ("withdrawal_returned", 700),
        ("withdrawal_cancelled", 800),
    ]
    assert found[0][2]["details"] == "LP000001R0001 ACCOUNT CLOSED"
    assert found[0][2]["link"] == f"{ORIGIN}/app/{page}"


async def test_a_freeze_is_told_without_its_reason_and_a_silent_one_never(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await reachable(shop)
        account = shop.payer.account
        choice = MessageChoice("none", 10**9)  # a freeze ignores it
        customer = await shop.connection.fetchval(
            "SELECT customer_id FROM wallets WHERE account = $1", account
        )
        await choose(shop.connection, CustomerId(customer), choice)
        for silent in (True, False):
            await shop.run(FreezeWallet(OPERATOR, account, "Police 17", silent))
            await shop.run(UnfreezeWallet(OPERATOR, account, "Sorted out"))
        found = await told(shop)
    assert [kind for kind, _, _ in found] == ["wallet_frozen", "wallet_unfrozen"]
    assert "Police" not in str(found)


async def test_owners_hear_of_payouts_and_of_money_that_the_operator_moved(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        await shop.pay(100_000)
        await reachable(shop)
        await shop.funds("hold", 1_000)
        await shop.funds("release", 400)
        await shop.funds("merchant_adjustment", -50)
        await shops.set_terms(
            shop.connection, shop.tenant.id, OPERATOR, paused_reason="New account"
        )
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, paused_reason=None)
        sent, stopped = await shop.payout(), None
        run = await shop.open_run()
        await shop.run(JoinRun(OPERATOR, sent.id, run.id))
        await shop.send(run.id)
        await shop.run(AnswerPayout(OPERATOR, sent.id, "return", reason="Name differs"))
        stopped = await shop.payout()
        await shop.run(CancelPayout(OPERATOR, stopped.id))
        found = await told(shop)
    assert {to for _, to, _ in found} == {OWNER}
    amounts = {kind: content.get("amount") for kind, _, content in found}
    assert amounts == {
        "merchant_hold": 1_000,
        "merchant_release": 400,
        "merchant_correction": -50,
        "payouts_paused": None,
        "payouts_resumed": None,
        "payout_sent": sent.amount,
        "payout_returned": sent.amount,
        "payout_cancelled": stopped.amount,
    }
    contents = {kind: content for kind, _, content in found}
    assert contents["merchant_hold"]["reason"] == "Because"
    assert contents["payouts_paused"]["reason"] == "New account"
    assert contents["payout_sent"]["details"].startswith("BML •")
    assert contents["payout_returned"]["details"] == "Name differs"
    shop_pages = f"{ORIGIN}/dashboard/{shop.tenant.merchant_id}/live"
    assert contents["payout_returned"]["link"] == f"{shop_pages}/money/bank"
    assert contents["payout_sent"]["link"].startswith(
        f"{ORIGIN}/dashboard/{shop.tenant.merchant_id}/live/money/payouts/po_"
    )


async def test_a_decision_about_an_application_is_told_and_an_approval_is_no_alarm(
    dsn: str,
) -> None:
    async with a_shop(dsn) as shop:
        connection = shop.connection
        made = []
        for name in ("Boat", "Surf"):
            async with connection.transaction():
                new = await sign_up(
                    connection, OPERATOR, MASTER, 10, name=name, email=f"{name.lower()}@shop.mv"
                )
            assert new is not None
            sent = await decided(connection, SubmitApplication(OPERATOR, new.merchant.id, ANSWERS))
            made.append(sent)
        await decided(connection, ApproveMerchant(OPERATOR, made[0].merchant_id))
        await decided(connection, RefuseApplication(OPERATOR, made[1].id, "No register"))
        found = await told(shop)
    assert [(kind, to) for kind, to, _ in found if to != "aisha@example.mv"] == [
        ("application_approved", "boat@shop.mv"),
        ("application_refused", "surf@shop.mv"),
    ]
    assert found[-1][2]["reason"] == "No register"


async def test_each_message_is_written_once_however_many_follow_and_in_steps_of_any_size(
    dsn: str,
) -> None:
    async with a_shop(dsn) as shop:
        await reachable(shop)
        for number in range(5):
            move = MoveMoney(OPERATOR, None, shop.payer.account, "topup", 500 + number, "Cash")
            await shop.run(move)
        await asyncio.gather(*(follow(dsn, step=3) for _ in range(3)))
        assert [each[2]["amount"] for each in await told(shop)] == [500, 501, 502, 503, 504]


async def test_a_pass_that_is_killed_loses_nothing(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await reachable(shop)
        await shop.run(MoveMoney(OPERATOR, None, shop.payer.account, "topup", 500, "Cash"))

        async def killed() -> None:
            async with shop.connection.transaction():
                await movement_messages.write_next(shop.connection, Outbox(BOTH, MASTER), ORIGIN)
                raise ConnectionError

        with pytest.raises(ConnectionError):
            await killed()
        assert len(await told(shop)) == 1


async def test_a_movement_in_a_longer_transaction_is_not_passed_over(dsn: str) -> None:
    async with a_shop(dsn) as shop, connection_to(dsn) as slow:
        await reachable(shop)
        transaction = slow.transaction()
        await transaction.start()
        await slow.execute(
            "INSERT INTO wallet_freezes (account, time, action, reason) "
            "VALUES ($1, now(), 'frozen', 'x')",
            shop.payer.account,
        )
        await shop.run(MoveMoney(OPERATOR, None, shop.payer.account, "topup", 500, "Cash"))
        await follow(dsn)
        await transaction.commit()
        assert {kind for kind, _, _ in await told(shop)} == {"topup", "wallet_frozen"}


async def test_without_a_transport_movements_are_passed_over_and_never_told_later(
    dsn: str,
) -> None:
    async with a_shop(dsn) as shop:
        await reachable(shop)
        await shop.run(MoveMoney(OPERATOR, None, shop.payer.account, "topup", 500, "Cash"))
        assert await told(shop, channels=frozenset()) == []
        assert await told(shop) == []


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (MessageChoice(), ["aisha@example.mv", "aisha@example.mv"]),
        (MessageChoice("sms"), ["+9607770001", "+9607770001"]),
        (MessageChoice(None, 600), ["aisha@example.mv"]),
        (MessageChoice("none"), []),
    ],
)
async def test_people_choose_the_channel_and_the_smallest_amount(
    dsn: str, choice: MessageChoice, expected: list[str]
) -> None:
    async with a_shop(dsn) as shop:
        await reachable(shop)
        customer = await shop.connection.fetchval(
            "SELECT customer_id FROM wallets WHERE account = $1", shop.payer.account
        )
        whose = CustomerId(customer)
        await choose(shop.connection, whose, MessageChoice("email", 1))
        await choose(shop.connection, whose, choice)
        assert await message_choices.of(shop.connection, whose) == choice
        for amount in (599, 600):
            move = MoveMoney(OPERATOR, None, shop.payer.account, "topup", amount, "Cash")
            await shop.run(move)
        assert [to for _, to, _ in await told(shop)] == expected


async def test_an_owner_can_turn_messages_about_money_off_but_not_decisions(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await shop.pay(100_000)
        await reachable(shop)
        person, email = await shop.connection.fetchrow("SELECT id, email FROM persons")
        actor, choice = Actor("person", email, "owner"), MessageChoice("none")
        await decided(shop.connection, ChooseMessages(actor, PersonId(person), choice))
        await shop.funds("hold", 1_000)
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, paused_reason="New")
        assert [kind for kind, _, _ in await told(shop)] == ["payouts_paused"]


async def test_a_sandbox_tells_nobody(dsn: str) -> None:
    async with a_shop(dsn, "sandbox") as shop:
        await shop.pay(100_000)
        await reachable(shop)
        await shop.refund((await shop.pay(500)).id)
        await shop.funds("hold", 1_000)
        assert await told(shop) == []


async def test_owners_hear_of_events_that_were_given_up_once_a_day(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await reachable(shop)
        outbox = Outbox(BOTH, MASTER)

        async def give_up() -> int:
            async with shop.connection.transaction():
                await movement_messages.write_given_up(
                    shop.connection, outbox, ORIGIN, {shop.tenant.id}
                )
            found = "SELECT count(*) FROM messages WHERE kind = 'webhook_given_up'"
            return int(await shop.connection.fetchval(found))

        assert await give_up() == 0  # it has no webhook
        await change(
            shop.connection,
            "UPDATE merchants SET webhook_url = 'https://shop.example/', webhooks_enabled = true",
        )
        assert [await give_up(), await give_up()] == [1, 1]
        await shop.connection.execute(
            "UPDATE messages SET created_at = created_at - interval '25 hours'"
        )
        assert await give_up() == 2


async def test_a_trusted_person_hears_of_large_payments_authorizations_and_accounts(
    dsn: str,
) -> None:
    """The customer gets the same, except of what has a message of its own."""
    async with a_shop(dsn) as shop:
        await reachable(shop)
        account, ali = shop.payer.account, uuid4()
        find = "SELECT customer_id FROM wallets WHERE account = $1"
        aisha = await shop.connection.fetchval(find, account)
        await change(
            shop.connection,
            "INSERT INTO customers (id, name, mode, mobile, email, language) "
            "VALUES ($1, 'Ali', 'live', '7770002', 'ali@example.mv', 'en')",
            ali,
        )
        await change(
            shop.connection,
            "INSERT INTO trusted_people (customer_id, trusted_id, mobile, above, asked_at, status, "
            "agreed_at) VALUES ($1, $2, '7770002', 1000, now(), 'agreed', now())",
            aisha,
            ali,
        )
        await shop.pay(1_000)  # not above it
        await shop.pay(1_001)
        draft = authorizations.AuthorizationDraft("a", "Box", type="unscheduled")
        made = await shop.run(authorizations.CreateAuthorization(shop.tenant, draft))
        await shop.run(authorizations.ApproveAuthorization(shop.tenant, made.id, shop.payer))
        charge = charges.PaymentDraft("c", 5_000, title="October")
        await shop.run(charges.ChargeAuthorization(shop.tenant, made.id, charge))
        await bank_account(shop, of_wallet=True)
        found = await told(shop)
        bounded = await shop.connection.fetchval("SELECT count(tenant_id) FROM messages")
        await change(shop.connection, "UPDATE trusted_people SET ends_at = now()")
        await shop.pay(2_000)
        assert await told(shop) == found
    both = ("aisha@example.mv", "ali@example.mv")
    assert [(kind, to, content.get("amount")) for kind, to, content in found] == [
        ("charge", both[0], 5_000),
        *(("trusted_payment", to, 1_001) for to in both),
        ("trusted_payment", both[1], 5_000),
        *(("trusted_authorization", to, None) for to in both),
        ("trusted_bank_account", both[1], None),
    ]
    assert found[1][2]["details"] == "Seagull"
    assert all(MOST_OF_A_MERCHANT.get(kind) for kind, *_ in found[:4])  # a flood ends
    assert bounded == 4
