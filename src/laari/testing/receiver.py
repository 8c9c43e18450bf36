"""Receives the webhooks of the tests' merchants over HTTP and verifies their signatures."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, TypeAlias

from laari_client import WebhookVerificationError, verify_webhook
from laari_client.models import Event

SIGNATURE = "Service-Signature"
MAX_BODY_BYTES = 10 * 1024 * 1024
DEFAULT_TIMEOUT_SECONDS = 10.0


class HasId(Protocol):
    @property
    def id(self) -> str: ...


# A resource of the client, its JSON, or its id.
Resource: TypeAlias = str | Mapping[str, object] | HasId


@dataclass(frozen=True)
class ReceivedWebhook:
    """A webhook as it came, with the verified `event`."""

    event: Event
    body: bytes
    headers: Mapping[str, str]
    status: int  # of the answer

    @property
    def id(self) -> str:
        return self.event.id

    @property
    def type(self) -> str:
        return self.event.type

    @property
    def data(self) -> Any:
        return self.event.data

    @property
    def acknowledged(self) -> bool:
        return 200 <= self.status <= 299


Handler = Callable[[bytes, Mapping[str, str]], int | None]


class Inbox:
    """The webhooks of one merchant: `laari_merchant.webhooks`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.secret: str | None = None  # known when the merchant is made
        self._changed = threading.Condition()
        self._deliveries: list[ReceivedWebhook] = []
        self._forged: list[str] = []
        self._awaited: set[int] = set()  # indexes of deliveries that a test has waited for
        self._failures: list[int] = []
        self._handler: Handler | None = None
        self._handling = 0  # calls of the handler that have not returned
        # The first exception of the handler for each event id; None after a test has seen it.
        self._errors: dict[str, BaseException | None] = {}

    @property
    def deliveries(self) -> list[ReceivedWebhook]:
        """All deliveries in order, with failed ones."""
        with self._changed:
            return list(self._deliveries)

    def fail_next(self, times: int = 1, status: int = 500) -> None:
        """Answers the next deliveries with an error; the service makes three attempts for each."""
        with self._changed:
            self._failures += [status] * times

    def handle(self, handler: Handler) -> None:
        """Passes each delivery to the shop: `handler(body, headers)` returns a status or None.

        The handler runs in another thread. Its exception becomes a 500 and fails the test.
        """
        with self._changed:
            self._handler = handler

    def stop_handling(self) -> None:
        """Stops calling the handler, after its current calls have returned."""
        with self._changed:
            self._handler = None
            self._changed.wait_for(lambda: not self._handling, DEFAULT_TIMEOUT_SECONDS)

    def raise_error(self) -> None:
        """Raises the handler's first exception that was not raised yet, once for each event."""
        with self._changed:
            for event_id, error in self._errors.items():
                if error is not None:
                    self._errors[event_id] = None
                    raise error

    def wait_for(
        self, type: str, about: Resource | None = None, *, timeout: float = DEFAULT_TIMEOUT_SECONDS
    ) -> ReceivedWebhook:
        """Waits for the next acknowledged delivery of this type, and returns each one once.

        `about` is the resource of the event, or its id; for the event of a refund also the payment.
        Raises AssertionError after the timeout, and an exception of the shop's handler at once.
        """
        wanted = None if about is None else id_of(about)
        deadline = time.monotonic() + timeout
        with self._changed:
            while (found := self._find(type, wanted)) is None:
                self.raise_error()
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    raise AssertionError(self._missing(type, wanted, timeout))
            self._awaited.add(found)
            return self._deliveries[found]

    def _find(self, type: str, wanted: str | None) -> int | None:
        for place, delivery in enumerate(self._deliveries):
            if place in self._awaited or not delivery.acknowledged or delivery.type != type:
                continue
            about = (id_of(delivery.data), getattr(delivery.data, "payment_id", None))
            if wanted is None or wanted in about:
                return place
        return None

    def _missing(self, type: str, wanted: str | None, timeout: float) -> str:
        about = "" if wanted is None else f" about {wanted}"
        came = [f"{each.type} (answered {each.status})" for each in self._deliveries]
        forged = [f"one with a wrong signature: {why}" for why in self._forged]
        listed = ", ".join(came + forged) or "nothing"
        return f"no {type} webhook{about} came within {timeout:g} s; received: {listed}"

    def take(self, body: bytes, headers: Mapping[str, str]) -> int:
        """Takes one request in a thread of the receiver; returns the status of the answer."""
        with self._changed:
            if self.secret is None:
                return 503  # the secret is not known yet
            try:
                event = verify_webhook(body, headers.get(SIGNATURE), self.secret)
            except WebhookVerificationError as error:
                self._forged.append(str(error))
                self._changed.notify_all()
                return 401
            status = self._failures.pop(0) if self._failures else None
            raised: BaseException | None = None
            handler = self._handler
            self._handling += 1
        if status is None:
            try:
                status = (handler(body, headers) if handler else None) or 200
            except BaseException as error:  # also that of pytest.fail()
                status, raised = 500, error
        with self._changed:
            self._handling -= 1
            if raised is not None:
                raised.add_note(f"raised by the handler of webhooks for {event.type} {event.id}")
                self._errors.setdefault(event.id, raised)
            self._deliveries.append(ReceivedWebhook(event, body, headers, status))
            self._changed.notify_all()
        return status


def id_of(resource: Resource) -> str:
    """The id of a resource of the client, of its JSON, or the id itself."""
    if isinstance(resource, str):
        return resource
    return str(resource["id"] if isinstance(resource, Mapping) else resource.id)


class Receiver:
    """A server on a free local port, with a path for each inbox."""

    def __init__(self) -> None:
        self._inboxes: dict[str, Inbox] = {}
        receiver = self

        class Requests(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60  # of an idle connection

            def do_POST(self) -> None:
                status = receiver._receive(self)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Logs nothing between the results of the tests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def open_inbox(self) -> Inbox:
        path = f"/{secrets.token_urlsafe(16)}"
        inbox = Inbox(f"http://127.0.0.1:{self._server.server_address[1]}{path}")
        self._inboxes[path] = inbox
        return inbox

    def close_inbox(self, inbox: Inbox) -> None:
        """Later deliveries are acknowledged, so that the service does not try again."""
        self._inboxes.pop(inbox.url[inbox.url.rindex("/") :], None)

    def _receive(self, request: BaseHTTPRequestHandler) -> int:
        length = request.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            request.close_connection = True
            return 400
        body = request.rfile.read(int(length))
        inbox = self._inboxes.get(request.path)
        return 200 if inbox is None else inbox.take(body, dict(request.headers.items()))
