"""Cases: a customer says of a line of their history "this was not me", and the operator answers."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor, is_themselves
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.limits.texts import OPEN_CASES
from laari.rules.messages import CaseContent, send
from laari.rules.needs import Needs
from laari.rules.people.permissions import lacks
from laari.rules.records.people import Case
from laari.rules.records.tenants import Mode
from laari.rules.records.wallets import Transaction
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

Outcome = Literal["resolved", "rejected"]


def can_be_reported(line: Transaction, mode: Mode) -> bool:
    """Whether it is one of the lines that a thief would cause: also an attempt that failed."""
    return mode == "live" and line.amount < 0


@dataclass(frozen=True, slots=True)
class OpenCase(Command[Case]):
    """Opens a case about a line of one's own wallet: one for each line, a few at a time."""

    actor: Actor
    customer_id: UUID
    account: int
    tid: str
    text: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.customers, self.customer_id)
        needs.read(World.line_cases, self.tid)
        needs.read(World.open_cases, self.customer_id)
        needs.read(World.lines, self.tid)

    def decide(self, world: World) -> Case | Refusal:
        customer, line = world.customers[self.customer_id], world.lines.get(self.tid)
        is_own = line is not None and line.account == self.account
        if not is_own or not is_themselves(self.actor, self.customer_id):
            return refuse("not_found")
        assert line is not None
        if not can_be_reported(line, customer.mode) or self.tid in world.line_cases:
            return refuse("conflict", "This line has a case already, or cannot have one.")
        if world.open_cases[self.customer_id] >= OPEN_CASES:
            return refuse("rate_limited", "You cannot have more open cases.")
        case = Case(world.new_id(), self.customer_id, self.tid, self.text, world.now)
        world.line_cases[self.tid] = case.id
        world.open_cases[self.customer_id] += 1
        write_setting(world, World.cases, case, Act(self.actor, "case.open"), mode=customer.mode)
        return case


@dataclass(frozen=True, slots=True)
class AnswerCase(Command[Case]):
    """Ends a case with an answer, which the customer gets as a message and reads in the wallet."""

    actor: Actor
    case_id: UUID
    customer_id: UUID
    tid: str
    outcome: Outcome
    answer: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.customers, self.customer_id)
        needs.lock(World.cases, self.case_id)
        needs.read(World.lines, self.tid)

    def decide(self, world: World) -> Case | Refusal:
        refusal = lacks(self.actor, "customers.change")
        if refusal is not None:
            return refusal
        case, customer = world.cases[self.case_id], world.customers[self.customer_id]
        if case.status != "open":
            return refuse("conflict", "This case was answered already.")
        answered = replace(
            case,
            status=self.outcome,
            answer=self.answer,
            answered_at=world.now,
            answered_by=self.actor.name,
        )
        act = Act(self.actor, "case.answer", self.answer)
        write_setting(world, World.cases, answered, act, mode=customer.mode)
        line = world.lines[self.tid]
        link = f"{world.origin}/app/transactions/{self.tid}"
        content = CaseContent(abs(line.amount), line.name or line.details, self.answer, link)
        send(world, customer.recipient, "case_answered", content, object_id=case.id)
        return answered
