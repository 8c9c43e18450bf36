"""What an import of the bank's statement would do."""

from laari.operations.bank import import_shape
from laari.operations.operation import Shape
from laari.rules.banking.line_targets import Expected
from laari.store.bank_statements import Checked


def would_book(found: Checked) -> Shape:
    return import_shape(found.gaps, [_expected(each) for each in found.lines])


def _expected(each: Expected) -> dict[str, object]:
    line = each.line
    return {
        "reference": line.reference,
        "day": str(line.day),
        "amount": line.amount,
        "use": each.use if each.conflict is None else "conflict",
        "description": line.description,
        "repeated": each.repeated and each.conflict is None,
        "conflict": each.conflict,
    }
