"""Requests as bytes: nothing is tidied up on the way to the service."""

import socket
from http.client import HTTPResponse
from typing import NamedTuple
from urllib.parse import urlsplit


class Response(NamedTuple):
    status: int
    body: bytes


class Wire:
    """One connection, opened again where the service has closed it."""

    def __init__(self, origin: str) -> None:
        address = urlsplit(origin)
        self._place = (address.hostname or "", address.port or 80)
        self._socket: socket.socket | None = None

    def send(self, method: str, target: bytes, headers: dict[str, bytes], body: bytes) -> Response:
        lines = [method.encode() + b" " + target + b" HTTP/1.1", b"Host: fuzz.test"]
        lines += [name.encode() + b": " + value for name, value in headers.items()]
        if body or method == "POST":
            lines.append(b"Content-Length: %d" % len(body))
        sent = b"\r\n".join([*lines, b"", body])
        try:
            return self._exchange(method, sent)
        except (ConnectionError, TimeoutError):
            if self._socket is None:
                raise
            self.close()
            return self._exchange(method, sent)

    def _exchange(self, method: str, sent: bytes) -> Response:
        if self._socket is None:
            self._socket = socket.create_connection(self._place, timeout=30)
        self._socket.sendall(sent)
        response = HTTPResponse(self._socket, method=method)
        response.begin()
        body = response.read()
        if response.will_close:
            self.close()
        return Response(response.status, body)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
