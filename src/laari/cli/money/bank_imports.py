"""Books a statement of the bank, and shows what became of its lines."""

from datetime import UTC, datetime

from laari.cli.terminal.operation import deciding
from laari.errors import LaariError
from laari.operations.bank import described
from laari.process.open import Service
from laari.rules.actors import Actor
from laari.rules.banking.bank_balances import Gap
from laari.rules.banking.bank_lines import Expected
from laari.rules.banking.bank_statement import StatementError
from laari.rules.calendar import local_day
from laari.rules.records import PendingMovement
from laari.rules.refusals import Refusal
from laari.store import bank_statements
from laari.store.bank_statements import Checked, asking
from laari.store.postgres.pool import connection_to


async def book_statement(
    service: Service, importer: Actor, digest: str
) -> dict[str, object] | PendingMovement:
    """Books a statement that was kept, or asks a second person for it."""
    today = local_day(datetime.now(UTC))
    async with connection_to(service.dsn) as connection, deciding(service) as decide:
        ask = asking(connection)
        try:
            outcome = await bank_statements.book(ask, decide, importer, digest, today)
        except StatementError as error:
            raise LaariError(str(error)) from None
    if isinstance(outcome, Refusal):
        raise LaariError(outcome.message)
    if isinstance(outcome, PendingMovement):
        return outcome
    lines = [{**described(each.line), "repeated": each.repeated} for each in outcome.lines]
    return _summary(outcome.gaps, lines)


def would_book(found: Checked) -> dict[str, object]:
    return _summary(found.gaps, [_expected(each) for each in found.lines])


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


def _summary(gaps: list[Gap], lines: list[dict[str, object]]) -> dict[str, object]:
    new = [line for line in lines if not line["repeated"]]
    return {
        "lines": len(lines),
        "new": len(new),
        **{
            use: sum(1 for line in new if line["use"] == use)
            for use in ("topup", "receipt", "settled", "returned", "none", "conflict")
        },
        "gaps": described_gaps(gaps),
        "booked": lines,
    }


def described_gaps(gaps: list[Gap]) -> list[dict[str, object]]:
    """Where lines of the statement are missing: the balance jumps."""
    return [{"day": str(gap.day), "from": gap.before, "to": gap.after} for gap in gaps]
