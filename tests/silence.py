"""A way to PostgreSQL that can go silent: no answer, no reset, as a machine that is frozen."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

T = TypeVar("T")


class Proxy:
    """Forwards from a port of its own to the socket of the tests' server, in its own thread."""

    def __init__(self, dsn: str) -> None:
        parts = urlsplit(dsn)
        query = parse_qs(parts.query)
        self._target = f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}"
        self._database = parts.path
        self._open: set[Way] = set()
        self._silent = False
        self._refusing = False
        self._after: bytes | None = None
        self.made = 0  # connections since the start
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def dsn(self) -> str:
        return f"postgresql://laari@127.0.0.1:{self.port}{self._database}"

    def silence(self) -> None:
        """From now on nothing comes through, on any connection."""
        self._silent = True
        self.silence_open()

    def silence_open(self) -> None:
        """The connections that are open now go silent; new ones work."""
        for way in list(self._open):
            way.silent = True

    def silence_after(self, request: bytes) -> None:
        """The connection on which this is asked next hears no answer, though it is done."""
        self._after = request

    def refuse(self) -> None:
        """As a server that is not running: connections end, and no new one is let in."""
        self._refusing = True
        self._loop.call_soon_threadsafe(lambda: [way.end() for way in list(self._open)])

    def heal(self) -> None:
        """New connections work again; those that went silent stay so."""
        self._silent = self._refusing = False

    def close(self) -> None:
        async def end() -> None:
            self._server.close()
            for way in list(self._open):
                way.end()
            await asyncio.sleep(0.01)

        self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        self.made += 1
        way = Way(writer, self._silent)
        self._open.add(way)
        try:
            from_server, to_server = await asyncio.open_unix_connection(self._target)
            way.writers.append(to_server)
            await asyncio.gather(
                self._forward(way, reader, to_server, asking=True),
                self._forward(way, from_server, writer, asking=False),
            )
        except OSError:
            pass
        finally:
            way.end()
            self._open.discard(way)

    async def _forward(
        self,
        way: Way,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        asking: bool,
    ) -> None:
        while data := await reader.read(1 << 16):
            if way.silent:
                continue  # heard by nobody
            if asking and self._after is not None and self._after in data:
                self._after = None
                way.silent = True
                writer.write(data)
                continue
            writer.write(data)
            await writer.drain()
        if not way.silent:  # a machine that is frozen does not say that it closes
            way.end()


class Way:
    def __init__(self, writer: asyncio.StreamWriter, silent: bool) -> None:
        self.writers = [writer]
        self.silent = silent

    def end(self) -> None:
        for writer in self.writers:
            with suppress(Exception):
                writer.transport.abort()


@contextmanager
def proxy_to(dsn: str) -> Iterator[Proxy]:
    proxy = Proxy(dsn)
    try:
        yield proxy
    finally:
        proxy.close()
