"""A service and a receiver over HTTP, for the shared `listen` and `trigger`."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Mapping, Optional

import httpx

from laari_client import Laari, LaariError, errors
from laari_client._call import Call, Operation
from laari_client._transport import opened
from laari_client._webhooks import HEADER, sign
from laari_client.cli._shared.ports import (
    Answer,
    AwayError,
    Json,
    Receiver,
    RefusedError,
    ShopError,
)

KEY_VARIABLE = "LAARI_SECRET_KEY"
POST_SECONDS = 15.0
MAX_ANSWER_BYTES = 1024

_AWAY = (
    errors.ConnectionFailedError,
    errors.InvalidResponseError,
    errors.RateLimitedError,
    errors.ServerError,
)


class ClientService:
    """The answers as JSON: a model does not keep the order of fields that a signature covers."""

    def __init__(self, client: Laari, url: str) -> None:
        self._connection = client._connection
        self._url = url

    @property
    def url(self) -> str:
        return self._url

    def get(self, path: str, **query: str) -> Json:
        return self._call("GET", path, query=query)

    def post(self, path: str, body: Optional[Json] = None) -> Json:
        return self._call("POST", path, body=body)

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, str]] = None,
        body: Optional[Json] = None,
    ) -> Json:
        operation = Operation(
            f"{method} {path}",
            method,
            f"/merchant{path}",
            audience="merchant",
            keyed=False,
            repeatable=method == "GET",
        )
        try:
            result = self._connection.fetch(Call(operation, query=query, body=body).prepared())
            opened(result.value)
        except errors.ConfigurationError:
            raise
        except LaariError as error:
            raise _shop_error(self._url, error) from None
        answer: Dict[str, Any] = result.value
        return answer


def _shop_error(url: str, error: LaariError) -> ShopError:
    message = error.message.rstrip(".")
    if isinstance(error, errors.InvalidResponseError):
        message = f"{url}: {message}; check --url"
    elif isinstance(error, errors.APIError):
        hint = f"; check --key or {KEY_VARIABLE}" if error.status == 401 else ""
        message = f"{url}: {message}{hint}"
    # A page of a proxy has a status and no code of the service.
    if isinstance(error, _AWAY) or error.code.startswith("http_"):
        return AwayError(message, error.retry_after or 0.0)
    return RefusedError(message, error.code)


@contextmanager
def open_receiver(target: str, signer: str, secret: str) -> Iterator[Receiver]:
    """Yields the developer's program, which gets events as a merchant's webhook would."""
    headers = {
        "User-Agent": "Service-Merchant-Webhook/1.0",
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
    }
    with httpx.Client(headers=headers, timeout=POST_SECONDS, trust_env=False) as http:
        yield Receiver(target, signer, lambda body: _post(http, target, secret, body))


def _post(http: httpx.Client, target: str, secret: str, body: bytes) -> Answer:
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
