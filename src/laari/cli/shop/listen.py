"""`laari listen`: follows a merchant's events and forwards them to a receiver."""

import asyncio

import click

from laari.cli.shop.remote import api_options
from laari.cli.terminal.operation import json_option
from laari.cli.terminal.permission import needs
from laari.cli.terminal.secret_input import secret_options
from laari.rules.webhooks import check_webhook_url


def _receiver(value: str) -> str:
    refusal = check_webhook_url(value, allow_private=True)
    if refusal is not None:
        raise click.BadParameter(refusal.message.replace("webhook_url", "the URL"))
    return value


@click.command("listen")
@click.option(
    "--forward-to",
    "target",
    type=_receiver,
    metavar="URL",
    help="The receiver, such as http://localhost:3000/hook. Without it, events are only shown.",
)
@secret_options("secret", "Signs forwarded events instead of the secret key")
@click.option("--live", is_flag=True, help="Follow the events of real payments.")
@api_options
@json_option
@needs("shop.develop")
def listen_command(
    target: str | None, secret: str | None, live: bool, url: str, key: str, as_json: bool
) -> None:
    """Follow a merchant's events and forward them to a receiver.

    The service may be anywhere; this needs only the merchant's secret key. It signs each new event,
    posts it once like a webhook, and shows the answer. With --json it prints one JSON value per
    line. Press Ctrl-C to stop.
    """
    from laari.cli.shop.listening import listen, until_stopped  # noqa: PLC0415  # aiohttp is slow

    asyncio.run(until_stopped(listen(url, key, target, secret or key, live, as_json)))
