"""Requests as the server hands them over, made without a connection."""

import asyncio

from laari.http.client_addresses import Networks
from laari.http.head import Fields, Head
from laari.http.messages import Address, Request


def sent(
    path: str = "/",
    method: str = "GET",
    *,
    fields: tuple[tuple[bytes, bytes], ...] = (),
    body: bytes = b"",
    client: str = "192.0.2.1",
    local: Address = ("192.0.2.9", 8000),
    trusted_proxies: Networks = (),
    **headers: str,
) -> Request:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    pairs = [*fields, *named]
    by_name = {name: value.decode("latin-1") for name, value in pairs}
    read = Fields(b"", pairs, by_name, [b"a"], len(body), closes=False, expects_continue=False)
    head = Head(
        method,
        path,
        path.encode(),
        b"",
        read,
        len(body),
        keep_alive=True,
        expects_continue=False,
        http_version="1.1",
    )
    peer = (client, 40_000) if client else None
    return Request(head, body, peer, local, asyncio.Event().wait, trusted_proxies=trusted_proxies)
