"""The two clients."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type

import httpx

from laari_client._async import AsyncConnection
from laari_client._async_resources import AsyncResources
from laari_client._config import make_config
from laari_client._resources import Resources
from laari_client._sync import Connection

TIMEOUT_SECONDS = 15.0
DEADLINE_SECONDS = 60.0
MAX_ATTEMPTS = 8


class Laari(Resources):
    """The merchant and wallet interfaces of one service, for one merchant or wallet.

    `base_url` is the service's address. Give `secret_key`, or `client_id` and `client_secret` of
    an OAuth client, or `wallet_key`, or that beside one of the others.

    One attempt takes at most `timeout` seconds; all attempts and the waits between them take
    `deadline` seconds. `http_client` brings proxies, certificates and limits of its own, and stays
    open. Safe to share between threads.
    """

    def __init__(
        self,
        base_url: str,
        secret_key: Optional[str] = None,
        *,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        scope: Optional[str] = None,
        wallet_key: Optional[str] = None,
        timeout: float = TIMEOUT_SECONDS,
        deadline: float = DEADLINE_SECONDS,
        max_attempts: int = MAX_ATTEMPTS,
        allow_http: bool = False,
        http_client: Optional[httpx.Client] = None,
    ) -> None:
        config = make_config(
            base_url,
            secret_key=secret_key,
            client_id=client_id,
            client_secret=client_secret,
            scope=scope,
            wallet_key=wallet_key,
            timeout=timeout,
            deadline=deadline,
            max_attempts=max_attempts,
            allow_http=allow_http,
        )
        self._connection = Connection(config, http_client)
        super().__init__(self._connection)

    def close(self) -> None:
        """Closes the connections; a client given as `http_client` stays open."""
        self._connection.close()

    def __enter__(self) -> Laari:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Laari {self._connection.config}>"


class AsyncLaari(AsyncResources):
    """As `Laari`, for asyncio: methods are awaited, lists are read with `async for`.

    Belongs to the event loop that first uses it.
    """

    def __init__(
        self,
        base_url: str,
        secret_key: Optional[str] = None,
        *,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        scope: Optional[str] = None,
        wallet_key: Optional[str] = None,
        timeout: float = TIMEOUT_SECONDS,
        deadline: float = DEADLINE_SECONDS,
        max_attempts: int = MAX_ATTEMPTS,
        allow_http: bool = False,
        http_client: Optional[httpx.AsyncClient] = None,
    ) -> None:
        config = make_config(
            base_url,
            secret_key=secret_key,
            client_id=client_id,
            client_secret=client_secret,
            scope=scope,
            wallet_key=wallet_key,
            timeout=timeout,
            deadline=deadline,
            max_attempts=max_attempts,
            allow_http=allow_http,
        )
        self._connection = AsyncConnection(config, http_client)
        super().__init__(self._connection)

    async def close(self) -> None:
        """Closes the connections; a client given as `http_client` stays open."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncLaari:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncLaari {self._connection.config}>"
