"""`laari statement`: a merchant's statement of a month or of any days."""

from datetime import UTC, date, datetime

import click
from msgspec.structs import asdict

from laari.cli.terminal import fields
from laari.cli.terminal.operation import operation
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules.calendar import local_day, show
from laari.rules.day_ranges import Days, preset
from laari.rules.records.tenants import Mode, Tenant, local_time
from laari.store.merchants import merchants
from laari.store.postgres.pool import connection_to
from laari.store.reads import fees, tenants
from laari.store.reads.merchants import applications
from laari.store.reads.money import statements
from laari.store.reads.money.statements import OTHERS, Movements, Statement


@click.command("statement")
@click.argument("merchant_id")
@click.option("--month", type=fields.month, metavar="YYYY-MM", help="Month; default: last month.")
@click.option("--from", "first", type=fields.day, metavar="DAY", help="First day instead.")
@click.option("--to", "last", type=fields.day, metavar="DAY", help="Last day.")
@click.option("--mode", type=fields.MODE, default="live", help="Mode of its money.")
@operation
@needs("statements.read")
async def statement_command(
    service: Service,
    merchant_id: str,
    month: Days | None,
    first: date | None,
    last: date | None,
    *,
    mode: Mode,
) -> dict[str, object]:
    """Print the statement of a merchant.

    Days are those on which money moved, in Maldives time. Amounts are laari.
    """
    if month is not None and (first is not None or last is not None):
        raise LaariError("give either --month or --from and --to")
    tenant = await tenant_of(service, merchant_id, mode)
    now = local_time(datetime.now(UTC), tenant)
    days = month or _days(first, last, local_day(now))
    async with connection_to(service.dsn) as connection:
        found = await statements.of_days(connection, tenant.id, days)
        profile = await applications.profile_of(connection, merchant_id)
        terms = await fees.in_force(connection, merchant_id, days)
    return {
        "merchant_id": merchant_id,
        "merchant": tenant.merchant_name,
        **asdict(profile),
        "mode": mode,
        **_described(found),
        "fee_terms": [
            {"since": show(each.since), "fee_bps": each.fee_bps, "fee_fixed": each.fee_fixed}
            for each in terms
        ],
        "final": days.is_final(now),
    }


async def tenant_of(service: Service, merchant_id: str, mode: Mode) -> Tenant:
    """The merchant in this mode, if it has it."""
    async with connection_to(service.dsn) as connection:
        merchant = await merchants.show(connection, merchant_id)
        if mode == "live" and not merchant.has_live:
            raise LaariError("the merchant has no live mode: give --mode sandbox")
        return await tenants.of_merchant(connection, merchant_id, mode)


def _days(first: date | None, last: date | None, today: date) -> Days:
    if first is None and last is None:
        last_month = preset("last_month", today)
        assert last_month is not None
        return last_month
    begin, end = first or last, last or first
    assert begin is not None
    assert end is not None
    if end < begin:
        raise LaariError("--to must not be before --from")
    return Days(begin, end)


def _described(found: Statement) -> dict[str, object]:
    return {
        "first_day": found.days.first,
        "last_day": found.days.last,
        "opening_balance": found.opening,
        **_moved(found.moved),
        "closing_balance": found.closing,
        "days": [
            {
                "day": each.day,
                "opening_balance": each.opening,
                **_moved(each.moved),
                "closing_balance": each.closing,
            }
            for each in found.by_day
        ],
    }


def _moved(moved: Movements) -> dict[str, object]:
    sums = moved.figures
    return {
        "payments": sums.payments,
        "gross": sums.gross,
        "fees": sums.fees,
        "refunds": sums.refunds,
        "refunded": sums.refunded,
        **{kind: moved.others[kind].amount if kind in moved.others else 0 for kind in OTHERS},
    }
