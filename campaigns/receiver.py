"""A merchant's webhook receiver: it acknowledges everything and remembers when it first came.

It takes its time, so that a service that is killed always has deliveries under way and in line.
"""

import asyncio
import json
import time

from aiohttp import web

ANSWER_SECONDS = 0.2


class Receiver:
    def __init__(self, address: str) -> None:
        self._address = address
        self._runner: web.AppRunner | None = None
        self.url = ""
        self.first: dict[tuple[str, str], float] = {}  # type and object, and when
        self.times: list[float] = []  # of every delivery
        self.ids: set[str] = set()  # of the events

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/hook", self._receive)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._address, 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://{self._address}:{port}/hook"

    async def _receive(self, request: web.Request) -> web.Response:
        event = json.loads(await request.read())
        now = time.monotonic()
        self.first.setdefault((event["type"], event["data"]["id"]), now)
        self.times.append(now)
        self.ids.add(event["id"])
        await asyncio.sleep(ANSWER_SECONDS)
        return web.Response(status=204)

    def after(self, moment: float) -> float | None:
        return next((at for at in self.times if at > moment), None)

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
