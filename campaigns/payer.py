"""A merchant's program that takes payments at a steady rate, as a process of its own.

    python -m campaigns.payer HOST PORT SECRET_KEY PAYMENTS_PER_SECOND [STEPS]

The steps are `pay` (the sandbox customer pays it, if not told otherwise), or `get` and `list`.

It says `begun`, pays until its standard input ends and then prints what it has seen as JSON. A
payment is begun when its time has come, whether or not those before it are done, and its time
counts from then: a service that stands still is not asked less often for that. Moments are those of
the machine's monotonic clock, which all processes share.
"""

import asyncio
import json
import os
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import uvloop

ADDRESS = "127.0.0.2"  # whatever is held against the address of an attacker is not held against it
TIMEOUT_SECONDS = 10.0
NEXT = {
    "pay": ("POST", "/merchant/sandbox/payments/{}/pay"),
    "get": ("GET", "/merchant/payments/{}"),
    "list": ("GET", "/merchant/payments"),
}


class Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Payer:
    def __init__(
        self, host: str, port: int, secret_key: str, rate: float, steps: Sequence[str] = ("pay",)
    ) -> None:
        self._host, self._port, self._rate, self._steps = host, port, rate, steps
        self._head = f"Host: {host}\r\nX-API-Key: {secret_key}\r\nContent-Type: application/json"
        self._run = secrets.token_hex(4)
        self._idle: deque[Connection] = deque()
        self.samples: list[tuple[float, float]] = []  # when it was due, seconds until answered
        self.failures: list[tuple[float, str]] = []

    async def pay_until(self, ended: threading.Event) -> None:
        print("begun", flush=True)
        paying: set[asyncio.Task[None]] = set()
        began, number = time.monotonic(), 0
        while not ended.is_set():
            due = began + number / self._rate
            await asyncio.sleep(max(due - time.monotonic(), 0))
            task = asyncio.create_task(self._pay(number, due))
            paying.add(task)
            task.add_done_callback(paying.discard)
            number += 1
        await asyncio.gather(*paying)

    async def _pay(self, number: int, due: float) -> None:
        """Makes a payment and does what comes next; the time of each answer is a sample."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                body = json.dumps({"reference": f"{self._run}-{number}", "amount": 100}).encode()
                made = await self._ask("POST", "/merchant/payments", body, 201)
                self._note(due)
                for step in self._steps:
                    began = time.monotonic()
                    method, path = NEXT[step]
                    await self._ask(method, path.format(made["data"]["id"]), b"", 200)
                    self._note(began)
        except Exception as error:
            self.failures.append((time.monotonic(), f"{type(error).__name__}: {error}"))

    def _note(self, since: float) -> None:
        self.samples.append((since, time.monotonic() - since))

    async def _connect(self) -> Connection:
        local = (ADDRESS, 0)
        return Connection(*await asyncio.open_connection(self._host, self._port, local_addr=local))

    async def _ask(self, method: str, path: str, body: bytes, status: int) -> Any:
        connection = self._idle.popleft() if self._idle else await self._connect()
        is_kept = False
        try:
            head = (
                f"{method} {path} HTTP/1.1\r\n{self._head}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            connection.writer.write(head.encode() + body)
            answer = (await connection.reader.readuntil(b"\r\n\r\n")).lower()
            length = int(answer.split(b"\r\ncontent-length: ")[1].split(b"\r\n")[0])
            text = await connection.reader.readexactly(length)
            # nginx closes a connection after a thousand requests, and says so.
            is_kept = b"\r\nconnection: close\r\n" not in answer
        finally:
            if is_kept:
                self._idle.append(connection)
            else:
                connection.writer.close()
        if int(answer[9:12]) != status:
            raise RuntimeError(f"{path} answered {answer[9:12].decode()}: {text[:200]!r}")
        return json.loads(text)


def main() -> None:
    host, port, secret_key, rate, *steps = sys.argv[1:]
    payer = Payer(host, int(port), secret_key, float(rate), steps or ["pay"])
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    uvloop.run(payer.pay_until(ended))
    json.dump({"samples": payer.samples, "failures": payer.failures}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # connections are left to the system


if __name__ == "__main__":
    main()
