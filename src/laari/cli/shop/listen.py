"""`laari listen`: follows a merchant's events and hands them to a receiver on this machine."""

import asyncio

import click

from laari.cli.shop.remote import api_options
from laari.cli.terminal import fields
from laari.cli.terminal.operation import json_option
from laari.cli.terminal.secret_input import secret_options
from laari.rules.webhooks import check_webhook_url


def _receiver(value: str) -> str:
    refusal = check_webhook_url(value, allow_private=True)
    if refusal is not None:
        raise click.BadParameter(refusal.message.replace("webhook_url", "it"))
    return value


@click.command("listen")
@click.option(
    *("--forward-to", "target"),
    type=_receiver,
    metavar="URL",
    help="The receiver, such as http://localhost:3000/hook; without it events are only shown.",
)
@secret_options("secret", "Signs what is forwarded; the secret key where not given", fields.secret)
@click.option("--live", is_flag=True, help="Follow real events, of a key that acts in live mode.")
@api_options
@json_option
def listen_command(
    target: str | None, secret: str | None, live: bool, url: str, key: str, as_json: bool
) -> None:
    """Follow a merchant's events and forward them to a receiver.

    Needs nothing but the merchant's secret key, so the service may be anywhere. Each event from
    now on is signed and posted as a webhook is, once, and shown with the answer; with --json as
    one JSON value on a line. Ctrl-C ends it.
    """
    from laari.cli.shop.listening import listen, until_told  # noqa: PLC0415  # aiohttp takes a while

    asyncio.run(until_told(listen(url, key, target, secret or key, live, as_json)))
