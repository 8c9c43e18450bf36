"""One merchant, or a stranger, that sends one hostile request again and again: its own process.

    python -m campaigns.hostile ROW HOST PORT JSON

ROW names a request of `tests/http/hostile.py`. It says `begun`, sends the request at the given rate
until its standard input ends, each on a connection of its own, and prints a count of the statuses
as JSON. It runs at the lowest priority, like `attacks`.
"""

import asyncio
import json
import os
import sys
import threading
import time
from collections import Counter
from typing import Any

import uvloop

from tests.http.hostile import ROWS

MOST_OPEN = 64
ADDRESS = "127.0.1.1"
PATIENCE_SECONDS = 10.0


class Sender:
    def __init__(self, row: str, host: str, port: int, given: dict[str, Any]) -> None:
        self._row, self._host, self._port = ROWS[row], host, port
        self._key, self._rate = given["key"], given["rate"]
        self.came: Counter[str] = Counter()

    async def run(self, ended: threading.Event) -> None:
        print("begun", flush=True)
        began, number, sending = time.monotonic(), 0, set[asyncio.Task[None]]()
        while not ended.is_set():
            due = int((time.monotonic() - began) * self._rate)
            for _ in range(number, due):
                if len(sending) >= MOST_OPEN:
                    self.came["left out"] += 1
                    continue
                task = asyncio.create_task(self._send())
                sending.add(task)
                task.add_done_callback(sending.discard)
            number = due
            await asyncio.sleep(0.01)

    async def _send(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                self.came[await self._ask()] += 1
        except (OSError, TimeoutError) as error:
            self.came[type(error).__name__] += 1

    async def _ask(self) -> str:
        reader, writer = await asyncio.open_connection(
            self._host, self._port, local_addr=(ADDRESS, 0)
        )
        try:
            writer.write(self._row.as_of(self._key))
            head = await reader.read(1 << 16)
            while await reader.read(1 << 16):
                pass
            return head[9:12].decode() or "nothing"
        finally:
            writer.close()


def main() -> None:
    row, host, port, given = sys.argv[1:]
    os.nice(19)
    sender, ended = Sender(row, host, int(port), json.loads(given)), threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    uvloop.new_event_loop().run_until_complete(sender.run(ended))
    json.dump(sender.came, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # connections are left to the system


if __name__ == "__main__":
    main()
