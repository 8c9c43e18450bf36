"""`laari listen`: follows a merchant's events and forwards them to a receiver."""

import asyncio
from contextlib import ExitStack

import click

from laari.cli.shop.options import api_options
from laari.cli.shop.screen import Terminal
from laari.cli.shop.shared.listen import listen
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
    target: str | None, secret: str | None, live: bool, url: str, key: str, *, as_json: bool
) -> None:
    """Follow a merchant's events and forward them to a receiver.

    The service may be anywhere; this needs only the merchant's secret key. It signs each new event,
    posts it once like a webhook, and shows the answer. With --json it prints one JSON value per
    line. Press Ctrl-C to stop.
    """
    from laari.cli.shop.remote_service import (  # noqa: PLC0415  # aiohttp is slow
        open_receiver,
        open_remote_service,
    )

    with ExitStack() as opened:
        runner = opened.enter_context(asyncio.Runner())
        service = opened.enter_context(open_remote_service(runner, url, key))
        receiver = None
        if target is not None:
            signer = "your secret key" if secret in (None, key) else "the secret you gave"
            receiver = opened.enter_context(open_receiver(runner, target, signer, secret or key))
        listen(service, receiver, Terminal(), live=live, as_json=as_json)
