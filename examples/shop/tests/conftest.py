"""The shop as its tests have it: on a port of its own, with a merchant of Laari's sandbox.

`laari_merchant` comes from `laari[testing]`. Its webhooks are handed on to the shop, as Laari would
send them: signed, from another thread, and again until they are acknowledged.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from reef.app import create_app
from reef.shop import Settings, Shop


@pytest.fixture
def shop(laari_merchant: Any, tmp_path: Path) -> Iterator[Shop]:
    """The shop, with its pages at `settings.shop_url`."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        shop = Shop(
            Settings(laari_merchant.url, laari_merchant.secret_key, url, tmp_path / "reef.db")
        )
        config = uvicorn.Config(create_app(shop), log_level="warning", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()

        def hand_on(body: bytes, headers: Mapping[str, str]) -> int:
            signature = {"Service-Signature": headers["Service-Signature"]}
            return httpx.post(f"{url}/hook", content=body, headers=signature).status_code

        laari_merchant.webhooks.handle(hand_on)
        yield shop
        server.should_exit = True
        thread.join()


@pytest.fixture
def visitor(shop: Shop) -> Iterator[httpx.Client]:
    """A customer's browser, that does not follow redirects by itself."""
    with httpx.Client(base_url=shop.settings.shop_url, timeout=30) as visitor:
        yield visitor
