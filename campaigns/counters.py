"""Paired tills whose counters are open, as a process of its own.

    python -m campaigns.counters NAME HOST PORT JSON

The JSON has `tills`: the cookie of each device, and the secret key of its merchant. `selling` sells
all the time, a sale every `every` seconds at each till, and the sandbox customer pays at once;
`waiting` leaves the keypad open.

It says `begun` when all keypads are open, goes on until its standard input ends and then prints
what it has seen as JSON. Moments are those of the machine's monotonic clock.
"""

import asyncio
import json
import os
import random
import re
import secrets
import sys
import threading
import time
from collections.abc import Collection
from typing import Any, NamedTuple
from urllib.parse import urlencode

import uvloop

ADDRESSES = 100  # of the tills
CUSTOMERS = "127.0.3.1"
TIMEOUT_SECONDS = 40.0  # the service answers a page that waits after 25 at most
RETRY_SECONDS = 2.0  # as the page does
PAYMENT = re.compile(r"/counter/sales/(pay_[0-9a-f]{32})")


class Answer(NamedTuple):
    status: int
    location: str
    text: str

    def found(self, pattern: str) -> str:
        found = re.search(pattern, self.text)
        assert found is not None, f"{pattern} is not in {self.text[:300]}"
        return found[1]


class Browser:
    """Sends requests one after the other, on one connection."""

    def __init__(self, host: str, port: int, address: str, *headers: str) -> None:
        self._host, self._port, self._address = host, port, address
        self._headers = "".join(f"{header}\r\n" for header in headers)
        self._opened: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self,
        method: str,
        path: str,
        form: dict[str, str] | None = None,
        *,
        wanted: Collection[int] = (200,),
    ) -> Answer:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            answer = await self._ask(method, path, urlencode(form or {}).encode())
        if answer.status not in wanted:
            raise RuntimeError(f"{path} answered {answer.status}: {answer.text[:200]}")
        return answer

    async def _ask(self, method: str, path: str, body: bytes) -> Answer:
        if self._opened is None:
            self._opened = await asyncio.open_connection(
                self._host, self._port, local_addr=(self._address, 0)
            )
        reader, writer = self._opened
        length = f"Content-Length: {len(body)}\r\n" if method == "POST" else ""
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\n"
            f"{self._headers}{length}\r\n".encode()
            + body
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lengths = re.search(r"(?i)\r\ncontent-length: (\d+)", head)
        text = await reader.readexactly(int(lengths[1]) if lengths else 0)
        if "\r\nconnection: close\r\n" in head.lower():
            writer.close()
            self._opened = None
        location = re.search(r"(?i)\r\nlocation: (\S+)", head)
        return Answer(int(head[9:12]), location[1] if location else "", text.decode())


class Till:
    def __init__(self, host: str, port: int, number: int, cookie: str, secret_key: str) -> None:
        address = f"127.0.2.{number % ADDRESSES + 1}"
        self._device = Browser(
            host, port, address, f"Cookie: {cookie}", "Sec-Fetch-Site: same-origin"
        )
        self._customer = Browser(host, port, CUSTOMERS, f"X-API-Key: {secret_key}")

    async def sell(self, token: str) -> float:
        """Seconds from the pressed button until the page shows that it is paid."""
        began = time.monotonic()
        form = {
            "form_token": token,
            "amount": "45.50",
            "reference": f"SALE-{secrets.token_hex(8).upper()}",
        }
        made = await self._device.ask("POST", "/counter/sales", form, wanted=(303,))
        payment = PAYMENT.fullmatch(made.location)
        assert payment is not None, made.location
        await self._device.ask("GET", made.location)
        paying = asyncio.create_task(
            self._customer.ask("POST", f"/merchant/sandbox/payments/{payment[1]}/pay")
        )
        state = "pending"
        while state in ("pending", "processing"):
            asked = await self._device.ask("GET", f"{made.location}/status?status={state}")
            state = json.loads(asked.text)["status"]
        took = time.monotonic() - began
        await paying
        assert state == "paid", state
        return took

    async def open(self) -> Answer:
        return await self._device.ask("GET", "/counter")

    async def news(self, mark: str) -> str | None:
        """None if the service has too much to do."""
        path = f"/counter/news?status={mark}"
        answer = await self._device.ask("GET", path, wanted=(200, 503))
        return str(json.loads(answer.text)["status"]) if answer.status == 200 else None


class Counters:
    def __init__(self, host: str, port: int, arguments: dict[str, Any]) -> None:
        self.tills = [
            Till(host, port, number, *till) for number, till in enumerate(arguments["tills"])
        ]
        self.every: float = arguments.get("every", 0.0)
        self.samples: list[tuple[float, float]] = []  # when it was begun or heard, and seconds
        self.failures: list[str] = []
        self.refused = 0  # answers 503 to pages that wait

    async def _guarded(self, name: str, till: Till, page: Answer, ended: threading.Event) -> None:
        try:
            await (self.selling if name == "selling" else self.waiting)(till, page, ended)
        except Exception as error:
            self.failures.append(f"{type(error).__name__}: {error}")

    async def selling(self, till: Till, page: Answer, ended: threading.Event) -> None:
        token = page.found(r'name="form_token" value="([0-9a-f]+)"')
        await asyncio.sleep(random.uniform(0, self.every))  # shops do not sell in step
        while not ended.is_set():
            began = time.monotonic()
            self.samples.append((began, await till.sell(token)))
            await till.open()
            await asyncio.sleep(max(began + self.every - time.monotonic(), 0))

    async def waiting(self, till: Till, page: Answer, ended: threading.Event) -> None:
        """Waits for news of the till; a sample is the end of the device."""
        mark = page.found(r'data-status="([^"]+)"')
        while not ended.is_set():
            found = await till.news(mark)
            if found is None:
                self.refused += 1
                await asyncio.sleep(RETRY_SECONDS)
                continue
            mark = found
            if mark == "ended":
                self.samples.append((time.monotonic(), 0.0))
                return
            await asyncio.sleep(0.2)  # as the page does

    async def go_on(self, name: str, ended: threading.Event) -> None:
        pages = [await till.open() for till in self.tills]
        works = [
            asyncio.create_task(self._guarded(name, till, page, ended))
            for till, page in zip(self.tills, pages, strict=True)
        ]
        print("begun", flush=True)
        while not ended.is_set():
            await asyncio.sleep(0.1)
        if name == "selling":
            await asyncio.gather(*works)


def main() -> None:
    name, host, port, arguments = sys.argv[1:]
    counters = Counters(host, int(port), json.loads(arguments))
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    uvloop.run(counters.go_on(name, ended))
    seen = {name: getattr(counters, name) for name in ("samples", "failures", "refused")}
    json.dump(seen, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # connections are left to the system


if __name__ == "__main__":
    main()
