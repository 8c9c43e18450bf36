"""`laari serve`."""

import asyncio
import logging
import os
import signal
from dataclasses import replace

import click

from laari.cli.serve.demo import demo_settings, prepare
from laari.cli.serve.greeting import Greeting
from laari.cli.terminal import fields
from laari.cli.terminal.operation import json_option
from laari.errors import LaariError
from laari.process.logs import configure_logs
from laari.process.open import Service, open_service
from laari.process.supervisor import Supervisor, listen, listen_for_metrics
from laari.settings import VARIABLES, default_origin, read_settings, unknown_variables
from laari.store.ledger.xid_horizon import check_not_moved
from laari.store.people.installation import note_public_url
from laari.store.people.signup import is_live
from laari.store.postgres.pool import connection_to

log = logging.getLogger(__name__)

MAX_WORKERS = 64
USUAL_WORKERS = 4  # at most, where none are asked for: the database wants processors too


class _ServeCommand(click.Command):
    """Its help ends with the settings, from their one declaration."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Settings (environment)"):
            formatter.write_dl(
                [
                    (variable.name, f"{variable.meaning}  [{variable.default.strip('()')}]")
                    for variable in VARIABLES
                ]
            )


@click.command("serve", cls=_ServeCommand)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    *("--port", "port"),
    type=fields.integer(0, 65_535),
    metavar="NUMBER",
    default=8000,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--workers",
    type=fields.integer(1, MAX_WORKERS),
    metavar="NUMBER",
    default=lambda: min(USUAL_WORKERS, os.cpu_count() or 1),
    show_default=f"one per processor, up to {USUAL_WORKERS}",
    help="Interface processes.",
)
@click.option("--demo", is_flag=True, help="Make a sandbox merchant once and print how to use it.")
@json_option
def serve_command(host: str, port: int, workers: int, demo: bool, as_json: bool) -> None:
    """Run the service.

    One process tree: interfaces, pages, webhook delivery.
    """
    configure_logs()
    asyncio.run(_serve(host, port, workers, demo, as_json))


async def _serve(host: str, port: int, workers: int, demo: bool, as_json: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # What is wrong with them is worth saying before anything is taken.
    asked_for = read_settings(os.environ)
    if asked_for.webhook_allow_private:  # by the operator: a demo takes it for this machine alone
        log.warning(
            "LAARI_WEBHOOK_ALLOW_PRIVATE is on: webhooks may go to private addresses and over "
            "plain http. Anyone who can set a webhook URL can reach your internal network. "
            "Use this for development only."
        )
    if demo:
        os.environ.update(demo_settings(os.environ, host))  # for the other processes too
    listener = listen(host, port)
    port = listener.getsockname()[1]
    settings = read_settings(os.environ, host, port)
    metrics = listen_for_metrics(settings)
    async with open_service(settings, "upgrade") as service:
        if settings.sandbox_signup and await _is_live(service):
            _close_signup(asked_for.sandbox_signup)
            settings = read_settings(os.environ, host, port)
        async with connection_to(service.dsn) as connection:
            await check_not_moved(connection)
            await note_public_url(connection, settings.public_url)
        made = await prepare(replace(service, settings=settings)) if demo else None
        greeting = Greeting(
            default_origin(host, port),
            None if metrics is None else f"{default_origin(*metrics.getsockname()[:2])}/metrics",
            made,
            settings,
        )
        for name in unknown_variables(os.environ):
            log.warning("%s is no setting of this version, and has no effect", name)
        supervisor = Supervisor(listener, metrics, settings, workers, stop)
        await supervisor.run(lambda: greeting.give(as_json))


async def _is_live(service: Service) -> bool:
    async with connection_to(service.dsn) as connection:
        return await is_live(connection)


def _close_signup(asked_for: bool) -> None:
    """Nobody who moves real money wants strangers to make merchants beside it."""
    if asked_for:
        raise LaariError(
            "LAARI_SANDBOX_SIGNUP is on, and this installation has live merchants: "
            "sign-up is for an installation that is a sandbox"
        )
    os.environ["LAARI_SANDBOX_SIGNUP"] = "off"  # a demo does without
