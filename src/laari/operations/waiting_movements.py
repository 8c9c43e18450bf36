"""What a second person does with movements of money that wait."""

from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.operations.bank import book, booked_shape, make
from laari.operations.fields import Field, Id, reason
from laari.operations.operation import Context, Operation, Otherwise, Shape, Subject, command
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.banking.waiting_movements import Made, RefuseMovement
from laari.rules.banking.wallet_money import MovedMoney
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.records.second_person import PendingMovement
from laari.rules.refusals import Refusal
from laari.store.bank_statements import Ask, Booked
from laari.store.reads.money import movement_lists
from laari.store.reads.money.movement_lists import Waiting


async def find(connection: Connection, movement_id: UUID) -> Waiting | None:
    return await movement_lists.by_id(connection, movement_id)


def movement_shape(found: Waiting) -> dict[str, object]:
    movement, tenant = found.movement, found.tenant
    return {
        "movement_id": ids.show_id(ids.MOVEMENT, movement.id),
        "status": movement.status,
        "type": movement.kind,
        "account_number": None if movement.account is None else str(movement.account),
        "merchant_id": None if tenant is None else tenant.merchant_id,
        "holder": found.holder,
        "amount": movement.amount,
        "details": movement.details,
        "reference": movement.reference,
        "requested_by": movement.requested_by,
        "requested_at": show_time(movement.requested_at),
        "decided_by": movement.decided_by,
        "decided_at": show_or_none(movement.decided_at),
        "reason": movement.reason,
        "tid": movement.tid,
    }


MOVEMENT = Subject(
    name="movement",
    about="",
    fields=(Field("movement_id", Id(ids.MOVEMENT, "a movement's id"), positional=True),),
    find=find,
    missing="no movement has this id",
    shape=movement_shape,
)


class Confirmed(NamedTuple):
    """A confirmed movement; `booked` are the lines of a statement."""

    made: Made
    booked: Booked | None = None


async def _confirm(context: Context, found: Waiting) -> object:
    made = await make(context, found.movement.id)
    if isinstance(made, Refusal) or made.movement.kind != "import":
        return made if isinstance(made, Refusal) else Confirmed(made)
    assert made.movement.reference is not None  # by a constraint of the table
    booked = await book(context, made.movement.reference)
    return Confirmed(made, booked) if isinstance(booked, Booked) else booked


async def _confirmed_shape(ask: Ask, found: Waiting, confirmed: Confirmed) -> Shape:
    made = confirmed.made
    shown = movement_shape(found._replace(movement=made.movement))
    if confirmed.booked is not None:
        shown["statement"] = booked_shape(confirmed.booked)
    if isinstance(made.outcome, MovedMoney):
        shown |= {"balance_before": made.outcome.before, "balance_after": made.outcome.after}
    return shown


def _is_statement(confirmed: Confirmed) -> bool:
    return confirmed.booked is not None


CONFIRM = Operation(
    "movement.confirm",
    needs="wallets.move",
    subject=MOVEMENT,
    fields=(),
    run=_confirm,
    shape=_confirmed_shape,
    logs_in=True,
    done="The money is moved.",
    otherwise=Otherwise(_is_statement, "The statement is imported."),
    about="""Make a movement that another person asked for.

    With LAARI_SECOND_OPERATOR_ABOVE, the second operator logs in for this.
    """,
)


def _refuse(actor: Actor, found: Waiting, reason: str) -> RefuseMovement:
    return RefuseMovement(actor, found.movement.id, reason)


async def _refused_shape(ask: Ask, found: Waiting, refused: PendingMovement) -> Shape:
    return movement_shape(found._replace(movement=refused))


REFUSE = Operation(
    "movement.refuse",
    needs="wallets.move",
    subject=MOVEMENT,
    fields=(reason("always"),),
    run=command(_refuse),
    shape=_refused_shape,
    done="The movement is refused. No money was moved.",
    about="Refuse or withdraw a movement that waits.",
)
