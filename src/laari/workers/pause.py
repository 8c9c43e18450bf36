"""Waits that an event can end."""

import asyncio
from contextlib import suppress


async def pause(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
