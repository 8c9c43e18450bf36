"""The sandbox's process: `python -m laari.testing.host`.

It reads a line of JSON (`settings`, and `cache` for template databases), and writes one when it
accepts requests (`url`, `directory`). The end of the input ends it, even if its parent was killed.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import uvloop

from laari.engine.embedded import embedded_server
from laari.engine.programs import EngineError
from laari.errors import LaariError
from laari.settings import default_origin, read_settings
from laari.store.merchants.installation import prove_master_key
from laari.store.postgres.migrate import migrate
from laari.testing.templates import CLUSTER, Templates, template_key

HOST = "127.0.0.1"
MASTER_KEY = bytes(range(32))  # of databases without any secret
GRACEFUL_SECONDS = 2.0

# No limit that a shop's tests could reach.
SETTINGS = {
    "LAARI_SANDBOX_SIGNUP": "on",
    "LAARI_SANDBOX_SIGNUPS_PER_MINUTE": "0",
    "LAARI_SANDBOX_MERCHANTS": "1000000",
    "LAARI_MERCHANT_RATE_SANDBOX": "0",
    "LAARI_WEBHOOK_ALLOW_PRIVATE": "on",
    "LAARI_WEBHOOK_RETRY_SECONDS": "0.1,0.2",
}


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which ends this process
    given = json.loads(sys.stdin.buffer.readline())
    try:
        read_settings({**SETTINGS, **given["settings"]})  # a wrong setting fails at once
        with (
            tempfile.TemporaryDirectory(prefix="laari-test-", ignore_cleanup_errors=True) as made,
            ExitStack() as stack,
            ThreadPoolExecutor(1) as background,
        ):
            directory = Path(made)
            cache = Path(given["cache"]) if given["cache"] else None
            engine = background.submit(start_engine, stack, directory, cache)
            _import_all()  # half of the time of a start
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_serve(engine.result(), directory, given["settings"]))
    except LaariError as error:
        sys.exit(f"laari: {error}")


def start_engine(stack: ExitStack, directory: Path, cache: Path | None) -> str:
    """Starts a database with the whole schema until the stack ends; returns its address."""
    templates = Templates(cache, template_key(MASTER_KEY))
    if templates.copy_to(directory):
        try:
            return stack.enter_context(embedded_server(directory, durable=False, create=False))
        except EngineError:  # make another template
            shutil.rmtree(directory / CLUSTER, ignore_errors=True)
            templates.remove()
    with embedded_server(directory, durable=False) as dsn:
        asyncio.run(migrate(dsn))
        asyncio.run(prove_master_key(dsn, MASTER_KEY, "the sandbox's key"))
    templates.keep(directory)
    return stack.enter_context(embedded_server(directory, durable=False, create=False))


def _import_all() -> None:
    import laari.edge.app  # noqa: PLC0415
    import laari.http.server  # noqa: PLC0415
    import laari.process.supervisor  # noqa: PLC0415
    import laari.workers.background  # noqa: F401, PLC0415


async def _serve(dsn: str, directory: Path, given: dict[str, str]) -> None:
    from laari.edge.app import Shared, create_app  # noqa: PLC0415
    from laari.http.server import Server  # noqa: PLC0415
    from laari.process.supervisor import listen  # noqa: PLC0415
    from laari.workers import background  # noqa: PLC0415
    from laari.workers.webhooks.windows import WindowLimits  # noqa: PLC0415

    listener = listen(HOST, 0)
    port = listener.getsockname()[1]
    own = {
        "LAARI_DATABASE_URL": dsn,
        "LAARI_MASTER_KEY": MASTER_KEY.hex(),
        "LAARI_DATA_DIR": str(directory),
    }
    settings = read_settings({**SETTINGS, **given, **own}, HOST, port)
    stop = asyncio.Event()
    _stop_with_parent(stop)
    app = create_app(dsn, MASTER_KEY, settings, Shared())
    server = Server(app, settings.trusted_proxies)
    await app.open()
    limits = WindowLimits(poll_seconds=0.1, round_seconds=0.002)
    delivering = asyncio.create_task(background.run(dsn, MASTER_KEY, settings, stop, limits))
    try:
        await server.start([listener])
        ready = {"url": default_origin(HOST, port), "directory": str(directory)}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await asyncio.wait(
            [delivering, asyncio.create_task(stop.wait())], return_when=asyncio.FIRST_COMPLETED
        )
        stop.set()
        await server.stop(GRACEFUL_SECONDS)
        await delivering
    finally:
        await app.close()


def _stop_with_parent(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)

    def read() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            stop.set()

    loop.add_reader(0, read)


if __name__ == "__main__":
    main()
