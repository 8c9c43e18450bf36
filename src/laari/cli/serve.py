"""`laari serve`."""

from __future__ import annotations

import asyncio
import os
import signal

import click

from laari.cli import fields
from laari.cli.logs import configure_logs
from laari.cli.open import Service, open_service
from laari.cli.supervisor import Supervisor, listen
from laari.cli.terminal import say
from laari.errors import LaariError
from laari.settings import VARIABLES, default_origin, read_settings
from laari.store.database import connection_to
from laari.store.signup import is_live

MAX_WORKERS = 64
USUAL_WORKERS = 4  # at most, where none are asked for: the database wants processors too


class _ServeCommand(click.Command):
    """Its help ends with the settings, from the one table there is of them."""

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
def serve_command(host: str, port: int, workers: int, demo: bool) -> None:
    """Run the service.

    One process tree: interfaces, pages, webhook delivery.
    """
    configure_logs()
    asyncio.run(_serve(host, port, workers, demo))


async def _serve(host: str, port: int, workers: int, demo: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    read_settings(os.environ)  # what is wrong with them is worth saying before anything is taken
    listener = listen(host, port)
    port = listener.getsockname()[1]
    settings = read_settings(os.environ, host, port)
    metrics = None if settings.metrics_address is None else listen(*settings.metrics_address)
    async with open_service(settings, "upgrade") as service:
        if settings.sandbox_signup:
            await _refuse_where_live(service)
        greeting = f"Laari is ready at {default_origin(host, port)}"
        if metrics is not None:
            greeting += f"\nIts metrics are at {default_origin(*metrics.getsockname()[:2])}/metrics"
        if demo:
            from laari.cli.demo import prepare  # noqa: PLC0415  # only a demo pays for it

            greeting += "\n\n" + await prepare(service)
        await Supervisor(listener, metrics, settings, workers, stop).run(lambda: say(greeting))


async def _refuse_where_live(service: Service) -> None:
    """Nobody who moves real money wants strangers to make merchants beside it."""
    async with connection_to(service.dsn) as connection:
        if await is_live(connection):
            raise LaariError(
                "LAARI_SANDBOX_SIGNUP is on, and this installation has live merchants: "
                "sign-up is for an installation that is a sandbox"
            )
