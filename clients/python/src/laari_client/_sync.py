"""The client that blocks: does what an exchange asks for, with httpx."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Callable, Optional, TypeVar, Union

import httpx

from laari_client import _transport as transport
from laari_client._call import Call, Prepared
from laari_client._config import Config
from laari_client._errors import InvalidResponseError
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
from laari_client._tokens import Token, Tokens, read_token

T = TypeVar("T")


class Connection:
    def __init__(self, config: Config, http: Optional[httpx.Client]) -> None:
        self.config = config
        self._owned = http is None
        self._http = http if http is not None else httpx.Client(limits=transport.LIMITS)
        self._https = config.origin.startswith("https:")
        self._tokens = Tokens(self._fetch_token)

    def close(self) -> None:
        if self._owned:
            self._http.close()

    def run(self, call: Call, read: Callable[[Any], T]) -> T:
        result = self.fetch(call.prepared())
        try:
            return read(transport.opened(result.value))
        except InvalidResponseError as error:
            error.request_id = result.request_id
            raise

    def fetch(self, prepared: Prepared, policy: Optional[Policy] = None) -> Result:
        steps = exchange(prepared, policy or self.config.policy, self.config.origin)
        done: Any = None
        while True:
            try:
                step = steps.send(done)
            except StopIteration as end:
                result: Result = end.value
                return result
            if isinstance(step, Send):
                done = self._send(step)
            elif isinstance(step, Authenticate):
                done = self._authenticate(step)
            else:
                done = None
                time.sleep(step.seconds)

    def _authenticate(self, step: Authenticate) -> Proof:
        fixed = self.config.proof(step.audience)
        return fixed or self._tokens.get(step.refused, step.timeout)

    def _fetch_token(self, timeout: float) -> Token:
        policy = replace(self.config.policy, deadline=timeout)
        asked_at = time.monotonic()
        return read_token(self.fetch(self.config.token_request, policy).value, asked_at)

    def _send(self, step: Send) -> Union[Reply, Failure]:
        try:
            return self._attempt(step)
        except httpx.HTTPError as error:
            return transport.failure(error)

    def _attempt(self, step: Send) -> Union[Reply, Failure]:
        ends_at = time.monotonic() + step.timeout
        request = self._http.build_request(
            step.prepared.operation.method,
            transport.url(self.config, step),
            headers=transport.headers(step),
            content=step.prepared.content,
            extensions={"timeout": transport.TimeLeft(ends_at, https=self._https)},
        )
        response = self._http.send(request, auth=None, follow_redirects=False, stream=True)
        try:
            content = bytearray()
            for part in response.iter_bytes():
                content += part
                if time.monotonic() > ends_at:  # httpx counts from one part to the next
                    return Failure("the answer goes on and on", timed_out=True)
                if len(content) > transport.MAX_ANSWER_BYTES:
                    return Failure("the answer is too large", lasting=True)
        finally:
            response.close()
        return Reply(response.status_code, transport.reply_headers(response), bytes(content))
