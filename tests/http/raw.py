"""Bytes on a socket: what is sent piece by piece, and what comes back, read strictly."""

import json
import re
import socket
import time
from typing import Any, NamedTuple

PATIENCE_SECONDS = 15.0
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n")


class Response(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Answer(NamedTuple):
    """Everything that came back on one connection."""

    responses: list[Response]
    closed: bool  # by the server, or by the proxy before it

    @property
    def statuses(self) -> list[int]:
        return [response.status for response in self.responses]


def exchange(
    address: tuple[str, int],
    pieces: list[bytes],
    *,
    count: int,
    half_close: bool = False,
    pause_seconds: float = 0.03,
    heads: bool = False,
    quiet_seconds: float = 0.15,
) -> Answer:
    """Sends the pieces and reads `count` responses, and whatever else comes or the end.

    A response too many, or bytes that are none, are an error wherever they come from.
    """
    with socket.create_connection(address, PATIENCE_SECONDS) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _send(client, pieces, pause_seconds, half_close)
        received = bytearray()
        responses: list[Response] = []
        closed = False
        while not closed:
            # Once all have come, a little longer: nothing more may follow.
            client.settimeout(quiet_seconds if len(responses) >= count else PATIENCE_SECONDS)
            try:
                data = client.recv(65536)
            except TimeoutError:
                break
            except ConnectionResetError:
                data = b""
            closed = not data
            received += data
            while (found := _take(received, heads, closed)) is not None:
                if found.status >= 200:
                    responses.append(found)
        if received:
            raise AssertionError(f"bytes that are no response: {bytes(received[:200])!r}")
        return Answer(responses, closed)


def _send(
    client: socket.socket, pieces: list[bytes], pause_seconds: float, half_close: bool
) -> None:
    try:
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(pause_seconds)
            client.sendall(piece)
        if half_close:
            client.shutdown(socket.SHUT_WR)
    except (BrokenPipeError, ConnectionResetError):
        pass  # it was refused before all of it was sent


def _take(received: bytearray, heads: bool, closed: bool) -> Response | None:
    """The first whole response of what was received."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = bytes(received[: end + 2])
    status = _STATUS.match(head)
    assert status is not None, head
    headers = {
        name.decode().lower(): value.decode("latin-1").strip()
        for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:-1])
    }
    code = int(status[1])
    if heads or code < 200 or code in (204, 304):
        size = 0
    elif headers.get("transfer-encoding") == "chunked":
        return _take_chunked(received, end + 4, code, headers)
    elif "content-length" in headers:
        size = int(headers["content-length"])
    elif closed:
        size = len(received) - end - 4
    else:
        return None
    if len(received) < end + 4 + size:
        return None
    body = bytes(received[end + 4 : end + 4 + size])
    del received[: end + 4 + size]
    return Response(code, headers, body)


def _take_chunked(
    received: bytearray, at: int, code: int, headers: dict[str, str]
) -> Response | None:
    body = b""
    while True:
        end = received.find(b"\r\n", at)
        if end < 0:
            return None
        size = int(received[at:end], 16)
        if len(received) < end + 2 + size + 2:
            return None
        body += received[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
        if size == 0:
            del received[:at]
            return Response(code, headers, body)
