"""`laari-client listen`: signs each new event again, posts it and shows the answer."""

from __future__ import annotations

import json
import socket
import time
from typing import Iterator, NamedTuple, Optional
from urllib.parse import urlsplit

import httpx

from laari_client import Laari, LaariError, errors
from laari_client._webhooks import HEADER, sign
from laari_client.cli._follow import Follower, Json
from laari_client.cli._terminal import complain, say, say_json

POLL_SECONDS = 1.0
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 30.0
LOOK_SECONDS = 5.0  # for a receiver, at the beginning
POST_SECONDS = 15.0
MAX_ANSWER_BYTES = 1024
SHOWN_ANSWER = 200  # characters

AWAY = (
    errors.ConnectionFailedError,
    errors.InvalidResponseError,
    errors.RateLimitedError,
    errors.ServerError,
)


class Answer(NamedTuple):
    status: Optional[int]
    error: Optional[str]
    text: Optional[str]
    duration_ms: int

    @property
    def acknowledged(self) -> bool:
        return self.error is None


def listen(
    client: Laari,
    url: str,
    target: Optional[str],
    secret: str,
    signer: str,
    live: bool,
    quiet: bool,
) -> None:
    """Never returns; `quiet` prints JSON and nothing else."""
    follower = Follower(client)
    follower.begin()
    _refuse_live(follower, live)
    if target is not None:
        _refuse_silence(target)
    if not quiet:
        say(f"Following the {follower.mode} events of {url}. Press Ctrl-C to stop.")
        if target is not None:
            say(f"Posting each event to {target}, signed with {signer}.")
    hinted = False
    with _receiver_client() as http:
        for event in _events(follower, live):
            answer = None if target is None else _post(http, target, secret, event)
            if quiet:
                say_json({"event": event, "forwarded": answer and _told(target, answer)})
            else:
                say(_line(event, answer))
            if answer is not None and answer.status == 401 and not hinted:
                hinted = True
                complain(f"{target} answers 401: check that it verifies with {signer}")


def _refuse_live(follower: Follower, live: bool) -> None:
    if follower.mode == "live" and not live:
        raise LaariError("this key is in live mode: use --live to follow events of real payments")


def _refuse_silence(target: str) -> None:
    """Without a receiver, the first event would be the first sign of it."""
    parts = urlsplit(target)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), LOOK_SECONDS).close()
    except ConnectionRefusedError:
        raise LaariError(f"connection refused on {target}; is it running?") from None
    except OSError:
        pass  # a slow network, or a name that is not known yet: each event reports it


def _events(follower: Follower, live: bool) -> Iterator[Json]:
    """New events, the oldest first, without an end; waits for a service that is away."""
    wait, away = FIRST_RETRY_SECONDS, False
    while True:
        try:
            found = follower.new()
        except LaariError as error:
            if not isinstance(error, AWAY) and not error.code.startswith("http_"):
                raise
            if not away:
                complain(f"{error.message.rstrip('.')}; trying again")
            away = True
            time.sleep(max(wait, error.retry_after or 0.0))
            wait = min(2 * wait, LAST_RETRY_SECONDS)
            continue
        if away:
            complain("the service is back")
        wait, away = FIRST_RETRY_SECONDS, False
        _refuse_live(follower, live)
        yield from found
        time.sleep(POLL_SECONDS)


def _receiver_client() -> httpx.Client:
    headers = {
        "User-Agent": "Service-Merchant-Webhook/1.0",
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
    }
    return httpx.Client(headers=headers, timeout=POST_SECONDS, trust_env=False)


def _post(http: httpx.Client, target: str, secret: str, event: Json) -> Answer:
    sent = {name: value for name, value in event.items() if name != "delivery"}
    body = json.dumps(sent, ensure_ascii=False, separators=(",", ":"), default=float).encode()
    status, error, content = None, None, b""
    started = time.perf_counter()
    try:
        signed = {HEADER: sign(secret, str(int(time.time())), body)}
        with http.stream("POST", target, content=body, headers=signed) as response:
            status = response.status_code
            if not 200 <= status <= 299:
                error = f"answered {status}"
            for part in response.iter_raw():
                content += part
                if len(content) >= MAX_ANSWER_BYTES:
                    break
    except httpx.HTTPError as problem:
        if status is None:  # otherwise an answer that breaks off does not change its status
            error = str(problem) or type(problem).__name__
    duration_ms = int((time.perf_counter() - started) * 1000)
    text = None if status is None else content[:MAX_ANSWER_BYTES].decode("utf-8", "replace")
    return Answer(status, error, text, duration_ms)


def _told(target: Optional[str], answer: Answer) -> Json:
    return {
        "url": target,
        "acknowledged": answer.acknowledged,
        "http_status": answer.status,
        "duration_ms": answer.duration_ms,
        "error": answer.error,
        "answer": answer.text,
    }


def _line(event: Json, answer: Optional[Answer]) -> str:
    parts = [time.strftime("%H:%M:%S")]
    if answer is not None:
        parts.append(f"{answer.status or answer.error} in {answer.duration_ms} ms")
    parts.append(str(event.get("type")))
    if answer is not None and not answer.acknowledged and answer.text:
        parts.append(" ".join(answer.text.split())[:SHOWN_ANSWER])
    return "  ".join([*parts, str(event["data"].get("id", "")), event["id"]])
