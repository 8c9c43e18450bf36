"""Cases: whose they are, how many, and who answers them once."""

import dataclasses
import os
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.limits.texts import OPEN_CASES
from laari.rules.messages import CaseContent
from laari.rules.people.cases import AnswerCase, OpenCase
from laari.rules.records.people import Case
from laari.rules.records.wallets import Transaction
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import KEYS
from tests.rules.test_contact_changes import AISHA, THEMSELVES

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
ACCOUNT = 7_700_000_000_001
TID = "0123456789ABCDEF"
LINE = Transaction(TID, ACCOUNT, NOW, "payment", "Seagull", "Tea", -500, "success")
OPEN = OpenCase(THEMSELVES, AISHA.id, ACCOUNT, TID, "I was at sea.")


def world_of(line: Transaction = LINE, opened: int = 0, mode: Any = "live") -> World:
    world = World(NOW, "http://laari.test", os.urandom, frozenset({"email", "sms"}), KEYS)
    world.customers.lock(AISHA.id, replace(AISHA, mode=mode))
    world.open_cases[AISHA.id] = opened
    world.lines[TID] = line
    return world


def opened_in(world: World) -> Case:
    case = OPEN.decide(world)
    assert isinstance(case, Case)
    return case


def answer(case: Case, actor: Actor = OPERATOR) -> AnswerCase:
    return AnswerCase(actor, case.id, AISHA.id, TID, "resolved", "It is refunded.")


def test_a_case_is_opened_once_and_answered_once() -> None:
    world = world_of()
    case = opened_in(world)
    again = OPEN.decide(world)
    assert isinstance(again, Refusal)
    assert again.code == "conflict"
    answered = answer(case).decide(world)
    assert isinstance(answered, Case)
    assert (answered.status, answered.answer) == ("resolved", "It is refunded.")
    assert [entry.action for entry in world.journal] == ["case.open", "case.answer"]
    [message] = world.messages
    assert (message.kind, message.recipient) == ("case_answered", "a@example.mv")
    assert json.decode(message.parameters, type=CaseContent) == CaseContent(
        500, "Seagull", "It is refunded.", link=f"http://laari.test/app/transactions/{TID}"
    )
    second = answer(case).decide(world)
    assert isinstance(second, Refusal)
    assert second.code == "conflict"


@pytest.mark.parametrize(
    ("world", "command", "code"),
    [
        (world_of(replace(LINE, account=ACCOUNT + 1)), OPEN, "not_found"),
        (world_of(), dataclasses.replace(OPEN, actor=OPERATOR), "not_found"),
        (world_of(replace(LINE, type="topup", amount=500)), OPEN, "conflict"),
        (world_of(mode="sandbox"), OPEN, "conflict"),
        (world_of(opened=OPEN_CASES), OPEN, "rate_limited"),
    ],
)
def test_customers_report_their_own_spending_a_few_at_a_time(
    world: World, command: OpenCase, code: str
) -> None:
    refused = command.decide(world)
    assert isinstance(refused, Refusal)
    assert refused.code == code
    assert world.journal == []


@pytest.mark.parametrize("role", ["finance", "owner", None])
def test_support_answers_and_nobody_without_the_permission(role: str | None) -> None:
    world = world_of()
    case = opened_in(world)
    stranger = Actor("operator", "eve@laari.test", role)
    for actor in (stranger, THEMSELVES):
        refused = answer(case, actor).decide(world)
        assert isinstance(refused, Refusal)
        assert refused.status == 403
    assert not isinstance(answer(case, replace(stranger, role="support")).decide(world), Refusal)
