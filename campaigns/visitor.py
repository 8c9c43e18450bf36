"""Somebody who opens a page at a steady rate, as a process of its own.

    python -m campaigns.visitor HOST PORT COOKIE PATH PAGES_PER_SECOND

It says `begun`, opens the page until its standard input ends and then prints what it has seen as
JSON: the moment when each page was asked for, the seconds until it was there, and its status. The
next page is asked for when its time has come and the one before is there.
"""

import asyncio
import json
import os
import sys
import threading
import time

import uvloop

ADDRESS = "127.0.0.4"
TIMEOUT_SECONDS = 30.0


class Visitor:
    def __init__(self, host: str, port: int, cookie: str, path: str, rate: float) -> None:
        self._host, self._port, self._rate = host, port, rate
        head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n"
        self._request = f"{head}\r\n".encode()
        self.samples: list[tuple[float, float, str]] = []

    async def visit_until(self, ended: threading.Event) -> None:
        print("begun", flush=True)
        while not ended.is_set():
            began = time.monotonic()
            await self._visit(began)
            await asyncio.sleep(max(began + 1 / self._rate - time.monotonic(), 0))

    async def _visit(self, began: float) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                status = await self._ask()
        except (OSError, TimeoutError) as error:
            status = type(error).__name__
        self.samples.append((began, time.monotonic() - began, status))

    async def _ask(self) -> str:
        reader, writer = await asyncio.open_connection(
            self._host, self._port, local_addr=(ADDRESS, 0)
        )
        try:
            writer.write(self._request)
            return (await reader.read(-1))[9:12].decode() or "nothing"
        finally:
            writer.close()


def main() -> None:
    host, port, cookie, path, rate = sys.argv[1:]
    visitor = Visitor(host, int(port), cookie, path, float(rate))
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    uvloop.run(visitor.visit_until(ended))
    json.dump(visitor.samples, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # connections are left to the system


if __name__ == "__main__":
    main()
