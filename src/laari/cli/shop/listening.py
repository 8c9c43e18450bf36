"""The loop of `laari listen`: signs, posts and shows each new event."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any
from urllib.parse import urlsplit

from laari.cli.shop.api import AwayError, Json, open_api
from laari.cli.shop.follow import Follower
from laari.cli.terminal.output import Part, complain, say, say_json, say_line, say_meanwhile
from laari.errors import LaariError
from laari.rules.shapes.envelopes import to_json
from laari.workers.webhooks.answer import Answer
from laari.workers.webhooks.failures import REFUSED, unreached
from laari.workers.webhooks.sender import Sender
from laari.workers.webhooks.training import UNAUTHORIZED

POLL_SECONDS = 1.0
CONNECT_SECONDS = 5.0  # to the receiver, at the start
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 30.0
SHOWN_ANSWER = 200  # characters of a receiver's error


async def until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """Runs until Ctrl-C or SIGTERM, which is not an error."""
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def listen(
    url: str, key: str, target: str | None, secret: str, live: bool, as_json: bool
) -> None:
    async with open_api(url, key) as api, Sender(allow_private=True) as sender:
        follower = Follower(api)
        signed = "your secret key" if secret == key else "the secret you gave"
        await follower.begin()  # a wrong key or URL fails at once
        _refuse_live(follower.mode, live)
        if target is not None:
            await _refuse_silence(target)
        if not as_json:
            say(f"Following the {follower.mode} events of {url}. Press Ctrl-C to stop.")
            if target is not None:
                say(f"Posting each event to {target}, signed with {signed}.")
        hinted = False
        async for event in _events(follower, live):
            body = to_json({name: v for name, v in event.items() if name != "delivery"})
            if not as_json:
                say_meanwhile(f"Posting {event.get('type')}")
            answer = None if target is None else await sender.send(target, secret, body)
            _show(event, target, answer, as_json)
            if answer is not None and answer.status == UNAUTHORIZED and not hinted:
                hinted = True
                complain(f"{target} answers 401: check that it verifies with {signed}")


def _refuse_live(mode: str, live: bool) -> None:
    if mode == "live" and not live:
        raise LaariError("this key is in live mode: use --live to follow events of real payments")


async def _refuse_silence(target: str) -> None:
    parts = urlsplit(target)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except ConnectionRefusedError:
        raise LaariError(unreached(target, REFUSED)) from None
    except OSError:
        return  # an unknown name or a slow network: each event reports it
    writer.close()


async def _events(follower: Follower, live: bool) -> AsyncIterator[Json]:
    """Yields new events, oldest first; waits for a service that is away."""
    wait, away = FIRST_RETRY_SECONDS, False
    while True:
        try:
            found = await follower.new()
        except AwayError as error:
            if not away:
                complain(f"{error}; trying again")
            away = True
            await asyncio.sleep(max(wait, error.wait_seconds))
            wait = min(2 * wait, LAST_RETRY_SECONDS)
            continue
        if away:
            complain("the service is back")
        wait, away = FIRST_RETRY_SECONDS, False
        _refuse_live(follower.mode, live)
        for event in found:
            yield event
        await asyncio.sleep(POLL_SECONDS)


def _show(event: Json, target: str | None, answer: Answer | None, as_json: bool) -> None:
    if as_json:
        forwarded = answer and answer.described(target or "")
        say_json(to_json({"event": event, "forwarded": forwarded}))
        return
    data = event.get("data")
    about = data.get("id", "") if isinstance(data, dict) else ""
    # The most useful part comes first: a terminal of 80 columns has no room for all.
    parts = [Part(time.strftime("%H:%M:%S"), "bright_black")]
    if answer is not None:
        colour = "green" if answer.acknowledged else "red"
        parts.append(Part(f"  {answer.status or answer.error} in {answer.duration_ms} ms", colour))
    parts.append(Part(f"  {event.get('type')}"))
    if answer is not None and not answer.acknowledged and answer.text:
        parts.append(Part(f"  {' '.join(answer.text.split())[:SHOWN_ANSWER]}", "red"))
    say_line(*parts, Part(f"  {about}"), Part(f"  {event.get('id')}", whole=True))
