"""`laari serve`."""

import asyncio
import logging
import os
import signal
from dataclasses import replace

import click

from laari.cli.serve.demo import Demo, demo_settings, greeting, prepare
from laari.cli.shop.shared.ports import ShopError
from laari.cli.terminal import fields
from laari.cli.terminal.operation import json_option
from laari.cli.terminal.output import complain, complain_of_defect, say, say_json
from laari.cli.terminal.permission import needs
from laari.process import supervisor
from laari.process.logs import configure_logs
from laari.process.open import open_service
from laari.rules.shapes.envelopes import to_json
from laari.settings import VARIABLES, Settings, default_origin, read_settings, unknown_variables
from laari.store.ledger.seals import check_not_moved
from laari.store.merchants.installation import note_public_url
from laari.store.postgres.pool import connection_to

log = logging.getLogger(__name__)

MAX_WORKERS = 64
USUAL_WORKERS = 4  # the largest default: the database needs processors too


class _ServeCommand(click.Command):
    """Adds the settings to the help."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(each.name, f"{each.meaning}  [{each.default.strip('()')}]") for each in VARIABLES]
        with formatter.section("Settings (environment)"):
            formatter.write_dl(rows)


@click.command("serve", cls=_ServeCommand)
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--port",
    type=fields.integer(0, 65_535),
    default=8000,
    help="Port to listen on; 0 selects a free one.",
)
@click.option(
    "--workers",
    type=fields.integer(1, MAX_WORKERS),
    default=lambda: min(USUAL_WORKERS, os.cpu_count() or 1),
    show_default=f"one per processor, up to {USUAL_WORKERS}",
    help="Number of interface processes.",
)
@click.option("--demo", is_flag=True, help="Create a sandbox merchant and print its credentials.")
@json_option
@needs("service.run")
def serve_command(host: str, port: int, workers: int, demo: bool, as_json: bool) -> None:
    """Run the service: interfaces, pages and webhook delivery."""
    configure_logs()
    asyncio.run(_serve(host, port, workers, demo, as_json))


async def _serve(host: str, port: int, workers: int, demo: bool, as_json: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    asked_for = read_settings(os.environ)  # fails before it takes a port
    if asked_for.webhook_allow_private:  # by the operator; a demo is safe
        log.warning(
            "LAARI_WEBHOOK_ALLOW_PRIVATE is on: webhooks may go to private addresses and over "
            "plain http. Anyone who can set a webhook URL can reach your internal network. "
            "Use this for development only."
        )
    if demo:
        os.environ.update(demo_settings(os.environ, host))  # for the other processes too
    listener = supervisor.listen(host, port)
    port = listener.getsockname()[1]
    settings = read_settings(os.environ, host, port)
    metrics = supervisor.listen_for_metrics(settings)
    async with open_service(settings, "upgrade") as service:
        async with connection_to(service.dsn) as connection:
            await check_not_moved(connection)
            await note_public_url(connection, settings.public_url)
        made = await prepare(replace(service, settings=settings)) if demo else {}
        for name in unknown_variables(os.environ):
            log.warning("%s is not a setting of this version and has no effect", name)
        greetings: list[asyncio.Task[None]] = []  # keeps a reference

        def greet() -> None:
            address = None if metrics is None else metrics.getsockname()[:2]
            origin = default_origin(host, port)
            greetings.append(asyncio.create_task(_greet(origin, address, made, settings, as_json)))

        await supervisor.Supervisor(listener, metrics, settings, workers, stop).run(greet)


async def _greet(
    origin: str,
    metrics: tuple[str, int] | None,
    demo: Demo,
    settings: Settings,
    as_json: bool,
) -> None:
    if demo:
        await _make_samples(origin, demo["secret_key"], settings.sandbox_vpa)
    metrics_url = None
    if metrics is not None:
        host, port = metrics
        metrics_url = f"{default_origin(host, port)}/metrics"
    if as_json:
        say_json(to_json({"url": origin, "metrics_url": metrics_url} | demo))
        return
    text = f"Laari is ready at {origin}"
    if metrics_url is not None:
        usual = supervisor.DEFAULT_METRICS_ADDRESS
        is_expected = metrics == usual or settings.metrics_address is not None
        why = "" if is_expected else f" (port {usual[1]} is in use)"
        text += f"\nIts metrics are at {metrics_url}{why}"
    say(f"{text}\n\n{greeting(demo)}" if demo else text)


async def _make_samples(origin: str, secret_key: str, recipient: str) -> None:
    from laari.cli.serve.demo_samples import make_samples  # noqa: PLC0415  # aiohttp loads slowly

    url = origin.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    try:
        await asyncio.to_thread(make_samples, url, secret_key, recipient)
    except ShopError as error:  # for example, if https is required
        complain(f"the demo has no sample payments: {error}")
    except Exception as error:  # the greeting must still show the credentials
        complain_of_defect(error)
