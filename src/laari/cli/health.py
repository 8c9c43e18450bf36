"""`laari health` and `laari volume`: the state of the service, and its sales by day."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import click

from laari.cli.money.payouts import require_absent, write_new
from laari.cli.terminal import fields
from laari.cli.terminal.operation import database_operation, in_service, json_option, show
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules.calendar import local_day, show_or_none
from laari.rules.calendar import show as show_time
from laari.rules.health import checks
from laari.rules.records.tenants import Mode
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads import health
from laari.store.reads.money import volume


@click.command("health")
@json_option
@needs("merchants.read")
def health_command(as_json: bool) -> None:
    """Show what the person on call looks at first.

    The exit status is 1 if a check is not ok.
    """
    found, failed = in_service(_health)
    show(found, as_json)
    if failed:
        raise LaariError(f"not ok: {', '.join(failed)}")


async def _health(service: Service) -> tuple[dict[str, object], list[str]]:
    """What to show, and the names of the checks that are not ok."""
    async with connection_to(service.dsn) as connection:
        found = await health.read(connection)
    settings = service.settings
    checked = checks(
        found, datetime.now(UTC), settings.second_operator_above, settings.sms_per_hour
    )
    failed = [check.name for check in checked if not check.ok]
    shown = {
        "ok": not failed,
        "checks": [{**check._asdict(), "at": show_or_none(check.at)} for check in checked],
        "processes": [
            {
                "role": each.role,
                "pid": each.pid,
                "machine": each.machine,
                "connected_at": show_time(each.connected_at),
                "last_used_at": show_time(each.last_used_at),
            }
            for each in found.processes
        ],
        "failing_webhooks": [
            {"merchant_id": each.merchant_id, "mode": each.mode, "waiting": each.waiting}
            for each in found.failing
        ],
    }
    return shown, failed


@click.command("volume")
@click.option("--from", "first", type=fields.day, metavar="DAY", help="Default: six days earlier.")
@click.option("--to", "last", type=fields.day, metavar="DAY", help="Last day; default: today.")
@click.option("--mode", type=fields.MODE, default="live", help="Mode of the money.")
@click.option(
    "--csv", "out", type=click.Path(path_type=Path, dir_okay=False), help="Write a CSV file."
)
@database_operation
@needs("exports.read")
async def volume_command(
    connection: Connection, first: date | None, last: date | None, mode: Mode, out: Path | None
) -> list[dict[str, object]]:
    """List sales, refunds and fees by day and merchant, in laari.

    Days are Maldivian days of payment. The figures are a few seconds behind.
    """
    require_absent(out)
    last = last or local_day(datetime.now(UTC))
    first = first or last - timedelta(days=6)
    if not first <= last < first + timedelta(days=volume.MOST_DAYS):
        raise LaariError(f"give 1 to {volume.MOST_DAYS} days")
    rows = await volume.by_day(connection, mode, first, last)
    if len(rows) > volume.MOST:
        raise LaariError("these days have too many rows: choose fewer days")
    if out is not None:
        from laari.edge.pages.operator.volume_file import volume_csv  # noqa: PLC0415  # loads slowly

        write_new(out, volume_csv(mode, rows))
    return [
        {
            "day": str(row.day),
            "mode": mode,
            "merchant_id": row.merchant_id,
            "merchant": row.merchant_name,
            **row.figures._asdict(),
            "net": row.figures.net,
        }
        for row in rows
    ]
