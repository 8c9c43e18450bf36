"""What strangers and careless people do to a service, as a process of its own.

    python -m campaigns.attacks NAME HOST PORT JSON

It says `begun`, goes on until its standard input ends, then prints a count of what it did and of
what came back as JSON. The numbers of connections, requests and bytes are bounded, and all of it
goes to the loopback. It runs at the lowest priority: the processors of somebody far away would not
be those of the service.
"""

import asyncio
import json
import os
import re
import resource
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import uvloop

HALF_SENT = 6_000
HALF_SENT_OPENED = 4 * HALF_SENT  # in all: those that are closed come again
HALVES = (
    b"POST /merchant/oauth/token HTTP/1.1\r\nHost: laari\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 60\r\n\r\n"
    b"grant_type=client_credentials",
    b"GET /merchant/payments HTTP/1.1\r\nHost: laari\r\nX-API-Key: sk_",
    b"GET /merchant/pay",
)
COOKIES_PER_SECOND = 10
COOKIE = b'Cookie: a="' + b"\\" * 8_000 + b'"\r\n'
COOKIE_PATHS = ("/dashboard", "/app", "/pay/nothing", "/dashboard/login")
LOG_INS_PER_SECOND = 20
LOG_IN_ADDRESSES = 100
READERS = 8  # of each kind
PAGES_PER_SECOND_AND_PERSON = 5
SOUGHT = ("bench", "customer", "large", "other", "1", "a", "7654321", "fill-1")
HEADER_BYTES = 1 << 30  # in all
HEADER_CONNECTIONS = 16
HEADER_PIECE = b"".join(b"X-Filler-%04d: %s\r\n" % (n, b"x" * 1000) for n in range(16))


class Attack:
    def __init__(self, host: str, port: int, arguments: dict[str, Any]) -> None:
        self.host, self.port, self.arguments = host, port, arguments
        self.scale: float = arguments.get("scale", 1.0)  # of what is bounded by a number
        self.came: Counter[str] = Counter()

    async def connect(
        self, address: str = "127.0.1.1"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port, local_addr=(address, 0))

    async def ask(
        self,
        method: str,
        path: str,
        headers: bytes = b"",
        body: bytes = b"",
        address: str = "127.0.1.1",
    ) -> tuple[int, bytes, bytes]:
        """One request on a connection of its own: the status, the head and the whole body."""
        reader, writer = await self.connect(address)
        try:
            length = b"Content-Length: %d\r\n" % len(body) if method == "POST" else b""
            head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n".encode()
            writer.write(head + headers + length + b"Connection: close\r\n\r\n" + body)
            answer = await reader.read(1 << 16)
            while b"\r\n\r\n" not in answer:
                more = await reader.read(1 << 16)
                if not more:
                    raise ConnectionResetError("no answer")
                answer += more
            head, _, text = answer.partition(b"\r\n\r\n")
            kept = [text]
            while chunk := await reader.read(1 << 16):
                if len(kept) < 16:  # of a long export the rest is thrown away
                    kept.append(chunk)
            return int(head[9:12]), head, b"".join(kept)
        finally:
            writer.close()

    async def count(self, name: str, asked: Awaitable[tuple[int, bytes, bytes]]) -> bytes:
        """Counts what was asked and what came back; answers the head."""
        self.came[f"{name} asked"] += 1
        try:
            status, head, _ = await asked
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            self.came[f"{name} {type(error).__name__}"] += 1
            return b""
        self.came[f"{name} {status}"] += 1
        return head


async def half_sent(attack: Attack) -> None:
    """Keeps so many requests open that are never finished, from sixty addresses."""
    left = int(HALF_SENT_OPENED * attack.scale)
    pace = asyncio.Semaphore(64)  # connections being made at a time

    async def hold(number: int) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            try:
                async with pace:
                    reader, writer = await attack.connect(f"127.0.1.{1 + number % 60}")
                    await asyncio.sleep(0.02)
                attack.came["opened"] += 1
                writer.write(HALVES[number % len(HALVES)])
                answer = await reader.read(1 << 16)
                attack.came[f"closed after {answer[9:12].decode() or 'nothing'}"] += 1
                writer.close()
            except OSError as error:
                attack.came[type(error).__name__] += 1
                await asyncio.sleep(1)

    await asyncio.gather(*(hold(number) for number in range(int(HALF_SENT * attack.scale))))


async def cookies(attack: Attack) -> None:
    async def send(number: int) -> None:
        await attack.count("page", attack.ask("GET", COOKIE_PATHS[number % 4], COOKIE))

    await steadily(COOKIES_PER_SECOND, send)


async def log_ins(attack: Attack) -> None:
    """Guesses at people who do not exist, which cost as much, each from one of many addresses."""
    forms: dict[str, tuple[bytes, str]] = {}

    async def send(number: int) -> None:
        address = f"127.0.2.{1 + number % LOG_IN_ADDRESSES}"
        if address not in forms:
            forms[address] = await open_form(attack, address)
        cookie, token = forms[address]
        identity = f"{secrets.token_hex(8)}@example.com"
        fields = {"form_token": token, "identity": identity, "password": "wrong", "next": ""}
        headers = cookie + b"Content-Type: application/x-www-form-urlencoded\r\n"
        asked = attack.ask("POST", "/dashboard/login", headers, urlencode(fields).encode(), address)
        await attack.count("log-in", asked)

    await steadily(LOG_INS_PER_SECOND, send)


async def open_form(attack: Attack, address: str) -> tuple[bytes, str]:
    """The cookie and the token of the log-in form, as a browser gets them."""
    _, head, page = await attack.ask("GET", "/dashboard/login", address=address)
    cookie = re.search(rb"(?i)\r\nset-cookie: ([^;]*)", head)
    token = re.search(rb'name="form_token" value="([^"]*)"', page)
    assert cookie, head
    assert token, page
    return b"Cookie: " + cookie[1] + b"\r\n", token[1].decode()


async def reading(attack: Attack) -> None:
    """Eight people at the overview, eight exports and eight searches, each again and again."""
    persons = [f"Cookie: {cookie}\r\n".encode() for cookie in attack.arguments["cookies"]]

    async def read(number: int, name: str, path: Callable[[], str]) -> None:
        cookie = persons[number % len(persons)]
        while True:
            head = await attack.count(name, attack.ask("GET", path(), cookie))
            wait = re.search(rb"(?i)\r\nretry-after: (\d+)", head)
            await asyncio.sleep(min(int(wait[1]), 1) if wait else 0.005)

    pages: str = attack.arguments["pages"]
    kinds: dict[str, Callable[[], str]] = {
        "overview": lambda: pages,
        "export": lambda: f"{pages}/payments/export.csv",
        "search": lambda: f"{pages}/payments?q={quote(f'fill-{secrets.randbelow(99)}')}",
    }
    await asyncio.gather(
        *(read(number, name, path) for name, path in kinds.items() for number in range(READERS))
    )


async def long_pages(attack: Attack) -> None:
    """Six people of one merchant, each within the rate of one person."""
    pages: str = attack.arguments["pages"]
    kinds = (
        lambda: f"{pages}/payments?limit=100",
        lambda: f"{pages}/journal",
        lambda: f"{pages}/payments/movements?first=2026-01-{1 + secrets.randbelow(28):02}",
        lambda: f"{pages}/payments?q={quote(f'fill-{secrets.randbelow(99)}')}",
    )
    await _open_steadily(attack, kinds)


async def desk_searches(attack: Attack) -> None:
    """Six operators, each within the rate of one person."""
    await _open_steadily(attack, (lambda: f"/operator?q={secrets.choice(SOUGHT)}",))


async def _open_steadily(attack: Attack, kinds: Sequence[Callable[[], str]]) -> None:
    persons = [f"Cookie: {cookie}\r\n".encode() for cookie in attack.arguments["cookies"]]

    async def send(number: int) -> None:
        path = kinds[number % len(kinds)]()
        await attack.count("page", attack.ask("GET", path, persons[number % len(persons)]))

    await steadily(PAGES_PER_SECOND_AND_PERSON * len(persons), send)


async def headers(attack: Attack) -> None:
    """A gigabyte of headers in all, on connections that are opened again when they are closed."""
    left = every = int(HEADER_BYTES * attack.scale)

    async def send() -> None:
        nonlocal left
        while left > 0:
            try:
                reader, writer = await attack.connect()
                writer.write(b"GET /merchant/payments HTTP/1.1\r\nHost: laari\r\n")
                while left > 0 and not reader.at_eof() and not writer.transport.is_closing():
                    writer.write(HEADER_PIECE)
                    left -= len(HEADER_PIECE)
                    attack.came["MiB"] = (every - left) >> 20
                    await writer.drain()
                    await asyncio.sleep(0)
                answer = await asyncio.wait_for(reader.read(1 << 16), 10)
                attack.came[f"closed after {answer[9:12].decode() or 'nothing'}"] += 1
                writer.close()
            except (OSError, TimeoutError) as error:
                attack.came[type(error).__name__] += 1

    await asyncio.gather(*(send() for _ in range(HEADER_CONNECTIONS)))


async def steadily(rate: float, send: Callable[[int], Awaitable[None]]) -> None:
    """Begins so many a second, whether or not those before are done."""
    sending: set[asyncio.Task[None]] = set()
    for number in range(1_000_000):

        async def one(number: int = number) -> None:
            await send(number)

        task = asyncio.create_task(one())
        sending.add(task)
        task.add_done_callback(sending.discard)
        await asyncio.sleep(1 / rate)


ATTACKS = {
    "half_sent": half_sent,
    "cookies": cookies,
    "log_ins": log_ins,
    "reading": reading,
    "long_pages": long_pages,
    "desk_searches": desk_searches,
    "headers": headers,
}


async def run(attack: Attack, name: str, ended: threading.Event) -> None:
    print("begun", flush=True)
    task = asyncio.create_task(ATTACKS[name](attack))
    while not ended.is_set() and not task.done():
        await asyncio.wait([task], timeout=0.1)
    if task.done():
        task.result()
    await asyncio.to_thread(ended.wait)


def main() -> None:
    name, host, port, arguments = sys.argv[1:]
    os.nice(19)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    attack, ended = Attack(host, int(port), json.loads(arguments)), threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    uvloop.new_event_loop().run_until_complete(run(attack, name, ended))
    json.dump(attack.came, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # connections are left to the system


if __name__ == "__main__":
    main()
