"""The client for asyncio: does what an exchange asks for, with httpx."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any, Callable, Optional, TypeVar, Union

import httpx

from laari_client import _transport as transport
from laari_client._call import Call, Prepared
from laari_client._config import Config
from laari_client._errors import ConfigurationError, InvalidResponseError
from laari_client._exchange import (
    Authenticate,
    Failure,
    Policy,
    Proof,
    Reply,
    Result,
    Send,
    exchange,
)
from laari_client._tokens import AsyncTokens, Token, read_token

T = TypeVar("T")


class AsyncConnection:
    def __init__(self, config: Config, http: Optional[httpx.AsyncClient]) -> None:
        self.config = config
        self._owned = http is None
        self._http = http if http is not None else httpx.AsyncClient(limits=transport.LIMITS)
        self._tokens = AsyncTokens(self._fetch_token)
        self._loop: Optional[asyncio.AbstractEventLoop] = None  # the first that used it

    def _belongs_here(self) -> None:
        """Connections live in one event loop: in another they fail with an error of their own."""
        running = asyncio.get_running_loop()
        self._loop = self._loop or running
        if running is not self._loop:
            raise ConfigurationError(
                "This AsyncLaari belongs to another event loop, which used it first: make one"
                " for each loop, such as inside the function that asyncio.run() is given."
            )

    async def close(self) -> None:
        self._belongs_here()
        await self._tokens.close()
        if self._owned:
            await self._http.aclose()

    async def run(self, call: Call, read: Callable[[Any], T]) -> T:
        result = await self.fetch(call.prepared())
        try:
            return read(transport.opened(result.value))
        except InvalidResponseError as error:
            error.request_id = result.request_id
            raise

    async def fetch(self, prepared: Prepared, policy: Optional[Policy] = None) -> Result:
        self._belongs_here()
        steps = exchange(prepared, policy or self.config.policy, self.config.origin)
        done: Any = None
        while True:
            try:
                step = steps.send(done)
            except StopIteration as end:
                result: Result = end.value
                return result
            if isinstance(step, Send):
                done = await self._send(step)
            elif isinstance(step, Authenticate):
                done = await self._authenticate(step)
            else:
                done = None
                await asyncio.sleep(step.seconds)

    async def _authenticate(self, step: Authenticate) -> Proof:
        fixed = self.config.proof(step.audience)
        return fixed or await self._tokens.get(step.refused, step.timeout)

    async def _fetch_token(self, timeout: float) -> Token:
        policy = replace(self.config.policy, deadline=timeout)
        asked_at = time.monotonic()
        return read_token((await self.fetch(self.config.token_request, policy)).value, asked_at)

    async def _send(self, step: Send) -> Union[Reply, Failure]:
        try:
            return await asyncio.wait_for(self._attempt(step), step.timeout)
        except httpx.HTTPError as error:
            return transport.failure(error)
        except asyncio.TimeoutError:
            return Failure("the answer takes too long", timed_out=True)

    async def _attempt(self, step: Send) -> Union[Reply, Failure]:
        request = self._http.build_request(
            step.prepared.operation.method,
            transport.url(self.config, step),
            headers=transport.headers(step),
            content=step.prepared.content,
            timeout=step.timeout,
        )
        response = await self._http.send(request, auth=None, follow_redirects=False, stream=True)
        try:
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > transport.MAX_ANSWER_BYTES:
                    return Failure("the answer is too large", lasting=True)
        finally:
            await response.aclose()
        return Reply(response.status_code, transport.reply_headers(response), bytes(content))
