"""An admin cannot be the second person of their own movement by a log-in that they gave."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.banking.bank_lines import ImportLine, SignFloat
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.payout_runs import JoinRun, OpenRun
from laari.rules.banking.waiting_movements import Made, MakeMovement
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.limits.second_person import RECENT
from laari.rules.people.log_ins import ResetPassword
from laari.rules.people.memberships import AddMember, RemoveMember, SetRole
from laari.rules.people.password_links import HandOverPasswordLink
from laari.rules.people.persons import Enrolled, NewLogin
from laari.rules.people.second_factors import RemoveFactor
from laari.rules.records.bank_accounts import BankDetails
from laari.rules.records.people import PersonId
from laari.rules.records.second_person import PendingMovement
from laari.rules.refusals import Refusal
from laari.store.batch.runner import BatchRunner
from laari.store.reads.people import helps
from laari.store.secrets import keys_of
from tests.actors import ANYBODY, MASTER, change
from tests.days import yesterday
from tests.store.payout_books import Shop, a_shop

ANN = Actor("operator", "ann@laari.test", "admin")
BEA = Actor("operator", "bea@laari.test", "admin")
ROOT = Actor("command_line", "root", "admin")
LIMIT = 1_000
LINKED = "In the last 30 days you or operator ann@laari.test got a role or log-in from the other"


@asynccontextmanager
async def shop_with_keys(dsn: str) -> AsyncIterator[Shop]:
    async with a_shop(dsn) as shop:
        await shop.runner.close()
        shop.runner = BatchRunner(
            dsn,
            "http://laari.test",
            channels=frozenset({"email"}),
            keys=keys_of(MASTER),
            second_operator_above=LIMIT,
        )
        yield shop


async def added(shop: Shop, actor: Actor, person: Actor) -> PersonId:
    role: Any = person.role
    command = AddMember(actor, None, person.name, role, None, NewLogin("hash"))
    made = await shop.run(command)
    assert isinstance(made, Enrolled), made
    return PersonId(made.id)


async def asked(shop: Shop, actor: Actor = ANN) -> PendingMovement:
    amount = LIMIT + 1
    movement = await shop.run(MoveMoney(actor, None, shop.payer.account, "topup", amount, "Bank"))
    assert isinstance(movement, PendingMovement)
    return movement


async def confirmed(shop: Shop, movement: PendingMovement, actor: Actor = BEA) -> Any:
    outcome = await shop.run(MakeMovement(actor, movement.id))
    return outcome.message if isinstance(outcome, Refusal) else outcome


async def by_adding_again(shop: Shop, bea: PersonId) -> None:
    await shop.run(RemoveMember(ANN, None, bea.id))
    await added(shop, ANN, BEA)


async def by_promotion(shop: Shop, bea: PersonId) -> None:
    await shop.run(SetRole(ANN, None, bea.id, "support"))
    await shop.run(SetRole(ANN, None, bea.id, "finance"))


async def by_password(shop: Shop, bea: PersonId) -> None:
    await shop.run(ResetPassword(ANN, bea, "known"))


async def by_link(shop: Shop, bea: PersonId) -> None:
    await shop.run(HandOverPasswordLink(ANN, bea, "shown"))


async def by_removed_factor(shop: Shop, bea: PersonId) -> None:
    await change(
        shop.connection,
        "INSERT INTO second_factors (person_id, seed_encrypted, created_at) VALUES ($1, '', now())",
        bea.id,
    )
    assert await shop.run(RemoveFactor(ANN, bea)) is True


HELPS: list[Callable[[Shop, PersonId], Awaitable[None]]] = [
    by_adding_again,
    by_promotion,
    by_password,
    by_link,
    by_removed_factor,
]


@pytest.mark.parametrize("give", HELPS)
async def test_who_gives_a_role_or_a_log_in_has_no_second_person_in_it(
    dsn: str, give: Callable[[Shop, PersonId], Awaitable[None]]
) -> None:
    async with shop_with_keys(dsn) as shop:
        await added(shop, ROOT, ANN)
        bea = await added(shop, ROOT, BEA)
        before, movement = await asked(shop), await asked(shop)
        assert isinstance(await confirmed(shop, before), Made)
        await give(shop, bea)
        assert LINKED in await confirmed(shop, movement)
        # Nor does the admin confirm what they asked for as the other one.
        assert "operator bea@laari.test got" in await confirmed(shop, await asked(shop, BEA), ANN)
        if give is not by_removed_factor:  # made by hand
            assert await shop.differences() == []


async def test_a_link_by_message_and_a_smaller_role_give_nothing(dsn: str) -> None:
    async with shop_with_keys(dsn) as shop:
        await added(shop, ROOT, ANN)
        bea = await added(shop, ROOT, BEA)
        sent = await shop.run(HandOverPasswordLink(ANN, bea, "message"))
        assert sent.sent_to == BEA.name
        await shop.run(SetRole(ANN, None, bea.id, "finance"))
        assert await helps.recent(shop.connection) == ()
        assert isinstance(await confirmed(shop, await asked(shop)), Made)


async def test_removed_people_still_have_their_helpers(dsn: str) -> None:
    """A puppet that asked, or added another one, is not forgotten by its removal."""
    async with shop_with_keys(dsn) as shop:
        await added(shop, ROOT, ANN)
        bea = await added(shop, ANN, BEA)
        movement = await asked(shop, BEA)
        await shop.run(RemoveMember(ANN, None, bea.id))
        assert "got a role or log-in" in await confirmed(shop, movement, ANN)


async def test_operators_of_the_server_are_two_people_at_once(dsn: str) -> None:
    shell = Actor("command_line", "ann", "admin")
    async with shop_with_keys(dsn) as shop:
        for each in (ANN, BEA):
            await added(shop, shell, each)
        assert isinstance(await confirmed(shop, await asked(shop)), Made)


async def test_runs_and_sign_offs_need_two_people_too(dsn: str) -> None:
    async with shop_with_keys(dsn) as shop:
        await added(shop, ROOT, ANN)
        await added(shop, ANN, BEA)
        details = BankDetails("Aisha", "BML", "1111")
        await shop.run(AddBankAccount(ANYBODY, shop.payer.account, details))
        made = await shop.run(RequestWithdrawal(ANYBODY, shop.payer.account, 700))
        run = await shop.run(OpenRun(ANN, "live", yesterday()))
        await shop.run(JoinRun(ANN, made.id, run.id))
        approval = await shop.approval(run.id, BEA)
        assert LINKED in (await shop.run(approval)).message
        line = StatementLine(2, yesterday(), "FT1", "Money", 500, None)
        await shop.run(ImportLine(ANN, line))
        signed = await shop.run(SignFloat(BEA, yesterday(), 1, 2, "A difference"))
        assert LINKED in signed.message


async def test_a_log_in_of_31_days_ago_counts_no_more(dsn: str) -> None:
    async with shop_with_keys(dsn) as shop:
        await added(shop, ROOT, ANN)
        await added(shop, ANN, BEA)
        movement = await asked(shop)
        later = datetime.now(UTC) + RECENT + timedelta(minutes=1)
        runner = BatchRunner(
            dsn, "http://laari.test", clock=lambda: later, second_operator_above=LIMIT
        )
        [outcome] = await runner.run([MakeMovement(BEA, movement.id)], 1.0)
        await runner.close()
        assert isinstance(outcome, Made)
