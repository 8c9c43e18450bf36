"""What the operator does with lines of the bank's statement."""

from datetime import date
from typing import get_args
from uuid import UUID

from laari.operations.fields import Account, Amount, Choice, Day, Field, Text
from laari.operations.operation import Context, Operation, Shape, command, plain
from laari.rules.actors import Actor
from laari.rules.banking.bank_balances import Gap
from laari.rules.banking.bank_lines import ImportLine, SignFloat
from laari.rules.banking.bank_statement import MAX_REFERENCE, StatementError
from laari.rules.banking.manual_matches import MatchLine, UnmatchLine
from laari.rules.banking.open_lines import AssignLine, ChargeLine, SendLineBack
from laari.rules.banking.waiting_movements import Made
from laari.rules.calendar import local_day
from laari.rules.limits.texts import MAX_NOTE
from laari.rules.money import MAX_MONEY
from laari.rules.records.bank import BankLine, BankMovementKind
from laari.rules.records.second_person import PendingMovement
from laari.rules.refusals import Refusal, refuse
from laari.store import bank_statements
from laari.store.bank_statements import Booked
from laari.store.reads.money.float_days import float_of

_LINE = Field("reference", Text(MAX_REFERENCE), positional=True)


def described(line: BankLine) -> dict[str, object]:
    return {
        "reference": line.reference,
        "day": str(line.day),
        "amount": line.amount,
        "use": line.use,
        "account": None if line.account is None else str(line.account),
        "order": line.order_reference,
        "description": line.description,
    }


# == The import of a statement ====================================================================


def gap_shapes(gaps: list[Gap]) -> list[Shape]:
    """Where lines of the statement are missing: the balance jumps."""
    return [{"day": str(gap.day), "from": gap.before, "to": gap.after} for gap in gaps]


def import_shape(gaps: list[Gap], lines: list[dict[str, object]]) -> Shape:
    new = [line for line in lines if not line["repeated"]]
    return {
        "lines": len(lines),
        "new": len(new),
        **{
            use: sum(1 for line in new if line["use"] == use)
            for use in ("topup", "receipt", "settled", "returned", "none", "conflict")
        },
        "gaps": gap_shapes(gaps),
        "booked": lines,
    }


def booked_shape(booked: Booked) -> Shape:
    lines = [{**described(each.line), "repeated": each.repeated} for each in booked.lines]
    return import_shape(booked.gaps, lines)


async def book(context: Context, digest: str) -> Booked | PendingMovement | Refusal:
    """Books a statement that was kept, or asks a second person for it."""
    today = local_day(context.now)
    try:
        return await bank_statements.book(context.ask, context.submit, context.actor, digest, today)
    except StatementError as error:  # such as a day that is too long ago now
        return refuse("invalid_request", in_a_sentence(error))


async def make(context: Context, movement_id: UUID) -> Made | Refusal:
    """Makes a movement that waits: of a statement, as it would be booked now."""
    today = local_day(context.now)
    try:
        return await bank_statements.make(
            context.ask, context.submit, context.actor, movement_id, today
        )
    except StatementError as error:
        return refuse("invalid_request", in_a_sentence(error))


def in_a_sentence(error: StatementError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


# The digest names a statement that a face has kept before: a file, or a text on a page.
IMPORT: Operation[None] = Operation(
    "bank.import",
    needs=ImportLine.permission,
    fields=(Field("digest", Text(64), of_page=True),),
    run=book,
    shape=plain(booked_shape),
    done="The statement is imported.",
    about="""Import the bank's statement from a CSV file.

    Its columns are date, reference, description, debit, credit and balance. A line with the number
    of a wallet becomes a top-up. A line with the reference of an order answers it. Other money is
    unallocated until you assign it. Each line counts once, and a wrong file changes nothing. Above
    LAARI_SECOND_OPERATOR_ABOVE, all of it waits for a second person.
    """,
)

# == One line =====================================================================================

ASSIGN: Operation[None] = Operation(
    "bank.assign",
    needs=AssignLine.permission,
    fields=(_LINE, Field("account", Account(), positional=True)),
    run=command(AssignLine),
    shape=plain(described),
    done="The money is added to the wallet.",
    about="Add unallocated money to a wallet.",
)
SEND_BACK: Operation[None] = Operation(
    "bank.return",
    needs=SendLineBack.permission,
    fields=(_LINE,),
    run=command(SendLineBack),
    shape=plain(described),
    done="The money is recorded as sent back.",
    about="Record that unallocated money was sent back by the bank.",
)
CHARGE: Operation[None] = Operation(
    "bank.charge",
    needs=ChargeLine.permission,
    fields=(_LINE,),
    run=command(ChargeLine),
    shape=plain(described),
    done="The charge of the bank is booked.",
    about="Book a line without a use as the bank's own charge.",
)
UNMATCH: Operation[None] = Operation(
    "bank.unmatch",
    needs=UnmatchLine.permission,
    fields=(_LINE,),
    run=command(UnmatchLine),
    shape=plain(described),
    done="The match is undone. The line waits again.",
    about="Undo a wrong match: the line is open again.",
)


def _match(actor: Actor, reference: str, kind: BankMovementKind, name: str) -> MatchLine:
    return MatchLine(actor, reference, (kind, name))


MATCH: Operation[None] = Operation(
    "bank.match",
    needs=MatchLine.permission,
    fields=(
        _LINE,
        Field("kind", Choice(get_args(BankMovementKind)), of_page=True),
        Field("name", Text(MAX_REFERENCE), of_page=True),
    ),
    run=command(_match),
    shape=plain(described),
    done="The line is matched. Nothing was booked.",
    about="""Close a line whose money the books have sent before.

    This is a receipt that was sent back, a sweep of fees, or an order for which the books have only
    the return. The amounts must be equal. Nothing is booked. Without an option, the movements of
    this amount are named.
    """,
)

# == A day ========================================================================================


async def _sign(context: Context, day: date, bank_closing: int, note: str | None) -> object:
    found = await context.ask(float_of, day)
    return await context.submit(SignFloat(context.actor, day, found.closing, bank_closing, note))


SIGN: Operation[None] = Operation(
    "float.sign",
    needs=SignFloat.permission,
    fields=(
        Field("day", Day(), "Day in Maldivian time; yesterday if omitted.", "on pages"),
        Field(
            "bank_closing",
            Amount(-MAX_MONEY, MAX_MONEY),
            "The bank's closing balance in laari: signs the day off.",
            "on pages",
        ),
        Field("note", Text(MAX_NOTE), "Explains a difference.", "never"),
    ),
    run=_sign,
    logs_in=True,
    done="The day is signed off.",
    typed="float",
    about="""Show a day of the live bank account, and sign it off.

    Shows the opening balance, sums in and out, and the closing balance of the books, by the days of
    the bank's lines. The closing balance of the statement is shown beside it. A difference needs a
    note. With LAARI_SECOND_OPERATOR_ABOVE, the operator logs in to sign off.
    """,
)
