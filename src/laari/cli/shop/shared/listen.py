"""The loop of `listen`: posts and shows each new event."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn
from urllib.parse import urlsplit

from .follow import Follower
from .ports import Answer, AwayError, Json, Part, Receiver, Screen, Service, ShopError

POLL_SECONDS = 1.0
CONNECT_SECONDS = 5.0  # to the receiver, at the start
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 30.0
SHOWN_ANSWER = 200  # characters of a receiver's error
UNAUTHORIZED = 401


def listen(
    service: Service,
    receiver: Receiver | None,
    screen: Screen,
    *,
    live: bool,
    as_json: bool,
) -> None:
    """Runs until Ctrl-C or SIGTERM, which is not an error."""
    with _until_stopped():
        follower = Follower(service)
        follower.begin()  # a wrong key or URL fails at once
        _refuse_live(follower, live)
        if receiver is not None:
            _refuse_silence(receiver.target)
        if not as_json:
            _greet(service, follower, receiver, screen)
        hinted = False
        for event in _events(follower, live, screen):
            if receiver is None:
                _show(event, None, None, screen, as_json=as_json)
                continue
            if not as_json:
                screen.say_meanwhile(f"Posting {event.get('type')}")
            answer = receiver.send(body_of(event))
            _show(event, receiver.target, answer, screen, as_json=as_json)
            if answer.status == UNAUTHORIZED and not hinted:
                hinted = True
                screen.complain(
                    f"{receiver.target} answers 401: check that it verifies with {receiver.signer}"
                )


@contextmanager
def _until_stopped() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _refuse_live(follower: Follower, live: bool) -> None:
    if follower.mode == "live" and not live:
        raise ShopError("this key is in live mode: use --live to follow events of real payments")


def _refuse_silence(target: str) -> None:
    parts = urlsplit(target)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except ConnectionRefusedError:
        raise ShopError(f"connection refused on {target}; is it running?") from None
    except OSError:
        pass  # an unknown name or a slow network: each event reports it


def _greet(service: Service, follower: Follower, receiver: Receiver | None, screen: Screen) -> None:
    screen.say(f"Following the {follower.mode} events of {service.url}. Press Ctrl-C to stop.")
    if receiver is not None:
        screen.say(f"Posting each event to {receiver.target}, signed with {receiver.signer}.")


def _events(follower: Follower, live: bool, screen: Screen) -> Iterator[Json]:
    """Yields new events, oldest first; waits for a service that is away."""
    wait, away = FIRST_RETRY_SECONDS, False
    while True:
        try:
            found = follower.new()
        except AwayError as error:
            if not away:
                screen.complain(f"{error}; trying again")
            away = True
            time.sleep(max(wait, error.wait_seconds))
            wait = min(2 * wait, LAST_RETRY_SECONDS)
            continue
        if away:
            screen.complain("the service is back")
        wait, away = FIRST_RETRY_SECONDS, False
        _refuse_live(follower, live)
        yield from found
        time.sleep(POLL_SECONDS)


def body_of(event: Json) -> bytes:
    """Returns the bytes that a webhook has: the service's order of fields, no spaces."""
    sent = {name: value for name, value in event.items() if name != "delivery"}
    text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"), default=float)
    return text.encode(errors="replace")  # JSON may have half of a surrogate pair


def _show(
    event: Json,
    target: str | None,
    answer: Answer | None,
    screen: Screen,
    *,
    as_json: bool,
) -> None:
    acknowledged = answer is not None and answer.error is None
    if as_json:
        forwarded = None
        if answer is not None:
            forwarded = {
                "url": target,
                "acknowledged": acknowledged,
                "http_status": answer.status,
                "duration_ms": answer.duration_ms,
                "error": answer.error,
                "answer": answer.text,
            }
        screen.say_json({"event": event, "forwarded": forwarded})
        return
    # The most useful part comes first: a terminal of 80 columns has no room for all.
    parts = [Part(time.strftime("%H:%M:%S"), "bright_black")]
    if answer is not None:
        colour = "green" if acknowledged else "red"
        parts.append(Part(f"  {answer.status or answer.error} in {answer.duration_ms} ms", colour))
    parts.append(Part(f"  {event.get('type')}"))
    if answer is not None and not acknowledged and answer.text:
        parts.append(Part(f"  {' '.join(answer.text.split())[:SHOWN_ANSWER]}", "red"))
    parts.append(Part(f"  {event['data'].get('id', '')}"))
    parts.append(Part(f"  {event['id']}", whole=True))
    screen.say_line(parts)
