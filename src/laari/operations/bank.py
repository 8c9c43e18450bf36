"""What the operator does with lines of the bank's statement."""

from laari.operations.fields import Account, Field, Text
from laari.operations.operation import Operation
from laari.rules.banking.bank_matches import UnmatchLine
from laari.rules.banking.bank_statement import MAX_REFERENCE
from laari.rules.banking.open_lines import AssignLine, ChargeLine, SendLineBack
from laari.rules.records import BankLine

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


ASSIGN: Operation[None] = Operation(
    "bank.assign",
    needs="bank.import",
    fields=(_LINE, Field("account", Account(), positional=True)),
    command=AssignLine,
    shape=described,
    done="The money is added to the wallet.",
    about="Add unallocated money to a wallet.",
)
SEND_BACK: Operation[None] = Operation(
    "bank.return",
    needs="bank.import",
    fields=(_LINE,),
    command=SendLineBack,
    shape=described,
    done="The money is recorded as sent back.",
    about="Record that unallocated money was sent back by the bank.",
)
CHARGE: Operation[None] = Operation(
    "bank.charge",
    needs="bank.import",
    fields=(_LINE,),
    command=ChargeLine,
    shape=described,
    done="The charge of the bank is booked.",
    about="Book a line without a use as the bank's own charge.",
)
UNMATCH: Operation[None] = Operation(
    "bank.unmatch",
    needs="bank.import",
    fields=(_LINE,),
    command=UnmatchLine,
    shape=described,
    done="The match is undone. The line waits again.",
    about="Undo a wrong match: the line is open again.",
)
