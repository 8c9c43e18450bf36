"""One merchant's program gone wild, as a process of its own.

    python -m campaigns.flood KIND HOST PORT JSON

It says `begun`, sends requests of one kind at a steady rate until its standard input ends, whether
or not they are answered, and prints a count of the statuses as JSON. The connections are kept and
bounded; a request that finds none free is left out. It runs at the lowest priority, like `attacks`.
"""

import asyncio
import json
import os
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import uvloop

MOST_CONNECTIONS = 128
ADDRESS = "127.0.1.1"


class Asked(NamedTuple):
    method: str
    path: str
    body: bytes = b""
    key: str | None = None  # None: the merchant's own


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _new_payment(amount: object = 100) -> bytes:
    return _json({"reference": f"flood-{secrets.token_hex(8)}", "amount": amount})


KINDS: dict[str, Callable[[dict[str, Any]], Asked]] = {
    "create": lambda given: Asked("POST", "/payments", _new_payment()),
    "charge": lambda given: Asked(
        "POST", f"/authorizations/{given['authorization']}/charge", _new_payment()
    ),
    "get": lambda given: Asked("GET", f"/payments/{given['payment']}"),
    "list": lambda given: Asked("GET", "/payments?limit=100"),
    "filtered list": lambda given: Asked("GET", "/payments?status=paid&terminal_label=Nowhere"),
    "clock": lambda given: Asked("POST", "/sandbox/clock", _json({"advance_seconds": 1})),
    "refused": lambda given: Asked("POST", "/payments", _new_payment("much")),
    "garbage": lambda given: Asked("POST", "/payments", b"{" * 10_000),
    "unknown keys": lambda given: Asked("GET", "/payments", key=f"sk_{secrets.token_hex(24)}"),
}


class Flood:
    def __init__(self, kind: str, host: str, port: int, given: dict[str, Any]) -> None:
        self._make, self._host, self._port, self._given = KINDS[kind], host, port, given
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._open = 0
        self.came: Counter[str] = Counter()

    async def run(self, ended: threading.Event) -> None:
        print("begun", flush=True)
        began, number, sending = time.monotonic(), 0, set[asyncio.Task[None]]()
        while not ended.is_set():
            due = int((time.monotonic() - began) * self._given["rate"])
            for _ in range(number, due):
                task = asyncio.create_task(self._send())
                sending.add(task)
                task.add_done_callback(sending.discard)
            number = due
            await asyncio.sleep(0.005)

    async def _send(self) -> None:
        if not self._idle and self._open >= MOST_CONNECTIONS:
            self.came["left out"] += 1
            return
        asked = self._make(self._given)
        try:
            reader, writer = await self._connection()
        except OSError as error:
            self.came[type(error).__name__] += 1
            return
        try:
            key = asked.key or self._given["key"]
            writer.write(
                f"{asked.method} /merchant{asked.path} HTTP/1.1\r\nHost: {self._host}\r\n"
                f"X-API-Key: {key}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(asked.body)}\r\n\r\n".encode()
                + asked.body
            )
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.split(b"\r\ncontent-length: ")[1].split(b"\r\n")[0]))
            self.came[head[9:12].decode()] += 1
            self._idle.append((reader, writer))
        except (OSError, asyncio.IncompleteReadError) as error:
            self.came[type(error).__name__] += 1
            self._open -= 1
            writer.close()

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._idle:
            return self._idle.pop()
        self._open += 1
        try:
            return await asyncio.open_connection(
                self._host, self._port, local_addr=(ADDRESS, 0), limit=1 << 20
            )
        except OSError:
            self._open -= 1
            raise


def main() -> None:
    kind, host, port, given = sys.argv[1:]
    os.nice(19)
    flood, ended = Flood(kind, host, int(port), json.loads(given)), threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    uvloop.new_event_loop().run_until_complete(flood.run(ended))
    json.dump(flood.came, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # connections are left to the system


if __name__ == "__main__":
    main()
