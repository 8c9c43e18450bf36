"""A client of the merchant interface; anything except Laari's JSON raises an error of one line."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, TypeAlias

import aiohttp
import msgspec

from laari import __version__
from laari.errors import LaariError
from laari.workers.webhooks.failures import describe, unreached

TIMEOUT_SECONDS = 20.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_TRIES = 5  # of a call that is answered with 429 or 503
LONGEST_WAIT_SECONDS = 30.0

Json: TypeAlias = dict[str, Any]


class _Clock(msgspec.Struct):
    now: Annotated[datetime, msgspec.Meta(tz=True)]


class ApiError(LaariError):
    """The service refused a call."""

    def __init__(self, message: str, code: object) -> None:
        super().__init__(message)
        self.code = code


class AwayError(LaariError):
    """The service cannot be reached or cannot answer now."""

    def __init__(self, message: str, wait_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class Api:
    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self.url = url

    async def get(self, path: str, **query: str) -> Any:
        return await self._patiently("GET", path, None, query)

    async def post(self, path: str, body: Json | None = None) -> Any:
        return await self._patiently("POST", path, body, {})

    async def create(self, path: str, **body: Any) -> Json:
        made: Json = (await self.post(path, body))["data"]
        return made

    async def sandbox_now(self) -> datetime | None:
        """Returns the sandbox's time; None if the key is in live mode."""
        try:
            clock = await self.post("/sandbox/clock", {"advance_seconds": 0})
        except ApiError as error:
            if error.code == "not_found":
                return None
            raise
        try:
            return msgspec.convert(clock["data"], _Clock).now
        except msgspec.ValidationError:
            raise self._foreign(200) from None

    async def _patiently(self, method: str, path: str, body: Json | None, query: Json) -> Any:
        """Repeats a call after the time that the service names."""
        for _ in range(MAX_TRIES - 1):
            try:
                return await self._call(method, path, body, query)
            except AwayError as error:
                if not error.wait_seconds:
                    raise
                await asyncio.sleep(min(error.wait_seconds, LONGEST_WAIT_SECONDS))
        return await self._call(method, path, body, query)

    async def _call(self, method: str, path: str, body: Json | None, query: Json) -> Any:
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

    def _foreign(self, status: int) -> AwayError:
        return AwayError(f"{self.url} answers {status}, but is not Laari: check --url")

    def _refused(self, status: int, retry_after: str, answer: Any) -> LaariError:
        error = answer.get("error") if isinstance(answer, dict) else None
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            return self._foreign(status)
        if status in (429, 503):
            wait = float(retry_after) if retry_after.isdigit() else 1.0
            return AwayError(f"{self.url}: {error['message']}", max(wait, 0.1))
        if status >= 500:
            return AwayError(f"{self.url}: {error['message']}")
        hint = "; check --key or LAARI_SECRET_KEY" if status == 401 else ""
        message = f"{self.url}: {error['message'].rstrip('.')}{hint}"
        return ApiError(message, error.get("code"))


@asynccontextmanager
async def open_api(url: str, key: str) -> AsyncIterator[Api]:
    headers = {"X-API-Key": key, "User-Agent": f"laari-cli/{__version__}"}
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(
        headers=headers, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield Api(session, url)
