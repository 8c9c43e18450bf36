"""`laari trigger`: makes an event happen in a merchant's sandbox."""

import asyncio

import click

from laari.cli.shop.options import api_options
from laari.cli.shop.screen import Terminal
from laari.cli.shop.shared.trigger import SCENARIOS, trigger
from laari.cli.terminal.operation import json_option
from laari.cli.terminal.permission import needs


@click.command("trigger")
@click.argument("event", type=click.Choice(list(SCENARIOS)), metavar="EVENT")
@api_options
@json_option
@needs("shop.develop")
def trigger_command(event: str, url: str, key: str, as_json: bool) -> None:
    """Make an event happen in the sandbox, such as payment.paid.

    Creates a payment, payment request or authorization and does what the event needs. The service
    sends its webhooks as usual. Refuses a key in live mode.
    """
    from laari.cli.shop.remote_service import open_remote_service  # noqa: PLC0415  # aiohttp is slow

    with asyncio.Runner() as runner, open_remote_service(runner, url, key) as service:
        trigger(service, event, Terminal(), as_json=as_json)
