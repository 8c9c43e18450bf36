"""An interface process: the HTTP server on listeners that all interface processes share."""

import asyncio
import os
import socket

from laari.edge.app import PROMPT_PATHS, Shared, create_app
from laari.http.server import Server
from laari.process.gc import collect_seldom
from laari.process.heartbeat import tell_ready
from laari.process.open import Service

GRACEFUL_SECONDS = 20  # for requests in flight; shorter than STOP_SECONDS of the supervisor


async def serve(service: Service, stop: asyncio.Event) -> None:
    collect_seldom()
    listeners = [socket.socket(fileno=int(os.environ["LAARI_LISTEN_FD"]))]
    metrics_listener = None
    if own := os.environ.get("LAARI_METRICS_LISTEN_FD"):
        listeners.append(socket.socket(fileno=int(own)))
        metrics_listener = listeners[1].getsockname()[:2]
    names = ("LAARI_RATE_FD", "LAARI_METRICS_FD", "LAARI_PROCESS")
    rate_fd, metrics_fd, process = (int(os.environ[name]) for name in names)
    shared = Shared(rate_fd, metrics_fd, process, metrics_listener)
    settings = service.settings
    app = create_app(service.dsn, service.master_key, settings, shared)
    server = Server(app, settings.trusted_proxies, prompt_paths=PROMPT_PATHS)
    await app.open()
    try:
        await server.start(listeners)
        tell_ready()
        await stop.wait()
        app.wake()
        await server.stop(GRACEFUL_SECONDS)
    finally:
        await app.close()
