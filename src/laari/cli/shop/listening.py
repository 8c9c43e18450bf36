"""What `laari listen` does: each new event signed, posted and shown with its answer."""

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
from laari.workers.webhooks.exercises import UNAUTHORIZED
from laari.workers.webhooks.failures import REFUSED, unreached
from laari.workers.webhooks.sender import Answer, Sender

POLL_SECONDS = 1.0
LOOK_SECONDS = 5.0  # for a receiver at the beginning
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 30.0
SHOWN_ANSWER = 200  # characters of what a receiver replied to what it did not accept


async def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Runs until it ends, or Ctrl-C or SIGTERM does, which is no error."""
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def listen(
    url: str, key: str, target: str | None, secret: str, live: bool, as_json: bool
) -> None:
    async with open_api(url, key) as api, _sender() as sender:
        follower = Follower(api)
        signed = "your secret key" if secret == key else "the secret you gave"
        mode = await follower.begin()  # a wrong key or address is worth an error at once
        _refuse_live(mode, live)
        if target is not None:
            await _refuse_silence(target)
        if not as_json:
            say(f"Following the {mode} events of {url}; Ctrl-C ends it.")
            if target is not None:
                say(f"Each is posted to {target}, signed with {signed}.")
        hinted = False
        async for event in _events(follower, live):
            body = to_json({name: v for name, v in event.items() if name != "delivery"})
            if not as_json:
                say_meanwhile(f"{event.get('type')} is being posted")
            answer = None if target is None else await sender.send(target, secret, body)
            _show(event, target, answer, as_json)
            if answer is not None and answer.status == UNAUTHORIZED and not hinted:
                hinted = True
                complain(f"{target} answers 401: does it verify with {signed}?")


def _refuse_live(mode: str, live: bool) -> None:
    if mode == "live" and not live:
        raise LaariError("this key acts in live mode: --live forwards the events of real payments")


async def _refuse_silence(target: str) -> None:
    """Nothing listens there: whoever starts this would wait in vain for the first event."""
    parts = urlsplit(target)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except ConnectionRefusedError:
        raise LaariError(unreached(target, REFUSED)) from None
    except OSError:
        return  # a name that is not known yet, or a network that is slow: each event says it
    writer.close()


@contextlib.asynccontextmanager
async def _sender() -> AsyncIterator[Sender]:
    sender = Sender(allow_private=True)
    try:
        yield sender
    finally:
        await sender.close()


async def _events(follower: Follower, live: bool) -> AsyncIterator[Json]:
    """New events for ever, the oldest first; a service that is away is waited for."""
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
        forwarded = answer and {
            "url": target,
            "acknowledged": answer.acknowledged,
            "http_status": answer.status,
            "duration_ms": answer.duration_ms,
            "error": answer.error,
            "answer": answer.text,
        }
        say_json(to_json({"event": event, "forwarded": forwarded}))
        return
    data = event.get("data")
    about = data.get("id", "") if isinstance(data, dict) else ""
    # The most useful comes first: a terminal of 80 columns has no room for all of it.
    parts = [Part(time.strftime("%H:%M:%S"), "bright_black")]
    if answer is not None:
        colour = "green" if answer.acknowledged else "red"
        parts.append(Part(f"  {answer.status or answer.error} in {answer.duration_ms} ms", colour))
    parts.append(Part(f"  {event.get('type')}"))
    if answer is not None and not answer.acknowledged and answer.text:
        parts.append(Part(f"  {' '.join(answer.text.split())[:SHOWN_ANSWER]}", "red"))
    say_line(*parts, Part(f"  {about}"), Part(f"  {event.get('id')}", whole=True))
