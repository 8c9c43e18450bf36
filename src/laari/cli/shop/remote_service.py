"""A service and a receiver over HTTP, for the shared `listen` and `trigger`.

Anything except Laari's JSON raises an error of one line.
"""

import asyncio
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import msgspec

from laari import __version__
from laari.cli.shop.shared.ports import Answer, AwayError, Json, Receiver, RefusedError, ShopError
from laari.workers.webhooks.failures import describe, unreached
from laari.workers.webhooks.sender import KEEP_ALIVE_SECONDS, Sender

TIMEOUT_SECONDS = 20.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_TRIES = 5  # of a call that is answered with 429 or 503
LONGEST_WAIT_SECONDS = 30.0


class RemoteService:
    """The shared commands do not use asyncio: each call runs the loop until it has its answer."""

    def __init__(self, runner: asyncio.Runner, session: aiohttp.ClientSession, url: str) -> None:
        self._runner = runner
        self._session = session
        self._url = url

    @property
    def url(self) -> str:
        return self._url

    def get(self, path: str, **query: str) -> Json:
        return self._patiently("GET", path, None, query)

    def post(self, path: str, body: Json | None = None) -> Json:
        return self._patiently("POST", path, body, {})

    def _patiently(self, method: str, path: str, body: Json | None, query: dict[str, str]) -> Json:
        """Repeats a call after the time that the service names."""
        for _ in range(MAX_TRIES - 1):
            try:
                return self._runner.run(self._call(method, path, body, query))
            except AwayError as error:
                if not error.wait_seconds:
                    raise
                time.sleep(min(error.wait_seconds, LONGEST_WAIT_SECONDS))
        return self._runner.run(self._call(method, path, body, query))

    async def _call(self, method: str, path: str, body: Json | None, query: dict[str, str]) -> Json:
        try:
            async with self._session.request(
                method,
                f"{self.url}/merchant{path}",
                params=query,
                json=body,
                allow_redirects=False,
            ) as response:
                status, headers = response.status, response.headers
                content = bytearray()
                async for chunk in response.content.iter_any():
                    content += chunk
                    if len(content) > MAX_ANSWER_BYTES:
                        break
        except TimeoutError:
            raise AwayError(f"{self.url} does not answer") from None
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            raise AwayError(unreached(self.url, describe(error))) from None
        try:
            answer = msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            answer = None
        if 200 <= status <= 299 and isinstance(answer, dict) and "data" in answer:
            return answer
        raise self._refused(status, headers.get("Retry-After", ""), answer)

    def _refused(self, status: int, retry_after: str, answer: object) -> ShopError:
        error = answer.get("error") if isinstance(answer, dict) else None
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            return AwayError(f"{self.url} answers {status}, but is not Laari: check --url")
        if status in (429, 503):
            wait = float(retry_after) if retry_after.isdigit() else 1.0
            return AwayError(f"{self.url}: {error['message']}", max(wait, 0.1))
        if status >= 500:
            return AwayError(f"{self.url}: {error['message']}")
        hint = "; check --key or LAARI_SECRET_KEY" if status == 401 else ""
        message = f"{self.url}: {error['message'].rstrip('.')}{hint}"
        return RefusedError(message, error.get("code"))


@contextmanager
def open_remote_service(runner: asyncio.Runner, url: str, key: str) -> Iterator[RemoteService]:
    session = runner.run(_session(key))
    try:
        yield RemoteService(runner, session, url)
    finally:
        runner.run(session.close())


async def _session(key: str) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        # The loop stands still between calls and does not see that the service closes a connection.
        connector=aiohttp.TCPConnector(keepalive_timeout=KEEP_ALIVE_SECONDS),
        headers={"X-API-Key": key, "User-Agent": f"laari-cli/{__version__}"},
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
    )


@contextmanager
def open_receiver(
    runner: asyncio.Runner, target: str, signer: str, secret: str
) -> Iterator[Receiver]:
    """Yields the developer's program, which gets events as a merchant's webhook would."""
    sender = runner.run(_sender())

    def send(body: bytes) -> Answer:
        answer = runner.run(sender.send(target, secret, body))
        return Answer(answer.status, answer.error, answer.text, answer.duration_ms)

    try:
        yield Receiver(target, signer, send)
    finally:
        runner.run(sender.close())


async def _sender() -> Sender:
    return Sender(allow_private=True)  # needs a running loop
