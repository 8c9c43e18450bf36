"""What the operator does with cases of customers."""

from typing import get_args
from uuid import UUID

from asyncpg import Connection

from laari.operations.fields import Choice, Field, Id, Text
from laari.operations.operation import Operation, Subject, command
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.limits.texts import MAX_CASE
from laari.rules.people.cases import AnswerCase, Outcome
from laari.store.reads.people import cases
from laari.store.reads.people.cases import Reported


async def find(connection: Connection, case_id: UUID) -> Reported | None:
    return await cases.by_id(connection, case_id)


def case_shape(found: Reported) -> dict[str, object]:
    case, line = found.case, found.line
    return {
        "case_id": ids.show_id(ids.CASE, case.id),
        "status": case.status,
        "customer_id": ids.show_id(ids.CUSTOMER, case.customer_id),
        "customer": found.name,
        "account_number": str(line.account),
        "tid": line.tid,
        "time": show_time(line.time),
        "type": line.type,
        "name": line.name,
        "details": line.details,
        "amount": line.amount,
        "text": case.text,
        "opened_at": show_time(case.opened_at),
        "answer": case.answer,
        "answered_at": show_or_none(case.answered_at),
        "answered_by": case.answered_by,
    }


CASE = Subject(
    name="case",
    about="",
    fields=(Field("case_id", Id(ids.CASE, "a case's id"), positional=True),),
    find=find,
    missing="no case has this id",
    shape=case_shape,
)


def _answer(actor: Actor, found: Reported, outcome: Outcome, answer: str) -> AnswerCase:
    case = found.case
    return AnswerCase(actor, case.id, case.customer_id, case.tid, outcome=outcome, answer=answer)


ANSWER = Operation(
    "case.answer",
    needs="customers.change",
    subject=CASE,
    fields=(
        Field("outcome", Choice(get_args(Outcome)), "Whether the customer was right."),
        Field("answer", Text(MAX_CASE), "The customer reads it."),
    ),
    run=command(_answer),
    done="The case is answered. The customer gets the answer.",
    about="""Answer a case of a customer who says of a line "this was not me".

    Money is not moved: refund the payment, correct the wallet, or freeze it separately.
    """,
)
