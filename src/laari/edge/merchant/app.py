"""The merchant interface: every request takes the same way through the same checks.

Route and method, HTTPS, version, authentication, rate, scope, idempotency key, body size, content
type, JSON object, then the operation: its key's saved response, its fields, and the stored state.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable
from typing import Any

from laari.edge.backend import Backend
from laari.edge.http import Header, Receive, Reply, Request, Scope, read_request
from laari.edge.merchant import authorizations, events, payment_requests, payments, sandbox
from laari.edge.merchant.auth import authenticate
from laari.edge.merchant.envelope import API_VERSION, HEADERS, refused
from laari.edge.merchant.oauth import TOKEN_PATH, TokenEndpoint
from laari.edge.merchant.operations import Call, Caller, Operation
from laari.edge.strict_json import read_object
from laari.rules.idempotency import Keyed, Response, fingerprint, is_valid_key
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes import Data, refusal_body, to_json

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 512 * 1024

OPERATIONS: tuple[Operation, ...] = (
    *payments.OPERATIONS,
    *payment_requests.OPERATIONS,
    *authorizations.OPERATIONS,
    *events.OPERATIONS,
    *sandbox.OPERATIONS,
)


class Routes:
    """Finds the operations of a path by its segments; `{id}` stands for any one of them."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._by_segments: dict[tuple[str, ...], dict[str, Operation]] = {}
        self._lengths_with_id: dict[int, set[int]] = {}
        for operation in operations:
            segments = tuple(operation.path.split("/")[1:])
            methods = self._by_segments.setdefault(segments, {})
            methods[operation.method] = operation
            if operation.scope is None and operation.method == "GET":
                # Public ones are links: whoever embeds an image may ask for its headers first.
                methods["HEAD"] = operation
            if "{id}" in segments:
                places = self._lengths_with_id.setdefault(len(segments), set())
                places.add(segments.index("{id}"))

    def find(self, path: str) -> tuple[dict[str, Operation], str] | None:
        """The operations of the path by method, and the id it names."""
        segments = tuple(path.split("/")[1:])
        methods = self._by_segments.get(segments)
        if methods is not None and "{id}" not in segments:
            return methods, ""
        for place in self._lengths_with_id.get(len(segments), ()):
            pattern = (*segments[:place], "{id}", *segments[place + 1 :])
            methods = self._by_segments.get(pattern)
            if methods is not None and segments[place]:
                return methods, segments[place]
        return None


ROUTES = Routes(OPERATIONS)


class MerchantInterface:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._tokens = TokenEndpoint(backend)

    async def __call__(self, scope: Scope, receive: Receive, path: str) -> None:
        request = read_request(scope, receive, path, self._backend.settings.trusted_proxies)
        if path == TOKEN_PATH:  # it has its own checks, shape and headers
            await self._tokens(request)
            return
        await self._backend.admission.serve(request, self._answer, refused, *HEADERS)

    async def _answer(self, request: Request) -> Reply:
        found = ROUTES.find(request.path)
        if found is None:
            return refused(refuse("not_found"))
        methods, path_id = found
        operation = methods.get(request.method)
        if operation is None:
            allowed = ", ".join(sorted(methods)).encode()
            return refused(refuse("method_not_allowed"), (b"allow", allowed))
        request.exchange.operation = operation.name
        refusal = self._check_transport(request)
        if refusal is not None:
            return refused(refusal)
        if operation.scope is None:
            # Nobody's: public operations look at neither caller nor body.
            return await self._read(operation, Call(self._backend, request, None, path_id))  # type: ignore[arg-type]
        caller = await authenticate(self._backend, request)
        if isinstance(caller, Refusal):
            return refused(caller)
        wait = self._over_rate(caller)
        if wait:
            return refused(refuse("rate_limited")._replace(retry_after=math.ceil(wait)))
        if not caller.may(operation.scope):
            return refused(caller.lacks(operation.scope))
        if operation.sandbox_only and caller.tenant.mode != "sandbox":
            return refused(refuse("not_found"))
        call = Call(self._backend, request, caller, path_id)
        if operation.command is None:
            return await self._read(operation, call)
        return await self._write(operation, call)

    def _check_transport(self, request: Request) -> Refusal | None:
        if self._backend.settings.require_https and not request.secure:
            return refuse("https_required")
        version = request.headers.get(b"service-version")
        if version is not None and version != API_VERSION:
            return refuse(
                "unsupported_api_version",
                f"This API version is not supported; the latest is {API_VERSION}.",
            )
        return None

    def _over_rate(self, caller: Caller) -> float:
        tenant, settings = caller.tenant, self._backend.settings
        live = tenant.mode == "live"
        rate = settings.merchant_rate_live if live else settings.merchant_rate_sandbox
        return self._backend.rates.take(tenant.id, rate, time.monotonic())

    async def _read(self, operation: Operation, call: Call) -> Reply:
        query = operation.query.read(call.request.query) if operation.query else {}
        if isinstance(query, Refusal):
            return refused(query)
        assert operation.answer is not None
        answer = await operation.answer(call, query)
        return refused(answer) if isinstance(answer, Refusal) else answer

    async def _write(self, operation: Operation, call: Call) -> Reply:
        key = call.request.headers.get(b"idempotency-key") if operation.keyed else None
        if key is not None and not is_valid_key(key):
            return refused(refuse("invalid_idempotency_key"))
        body = await _read_json_object(call.request) if operation.body is not None else {}
        if isinstance(body, Refusal):
            return refused(body)
        command = _command(operation, call, body)
        if key is None:
            if isinstance(command, Refusal):
                return refused(command)
            outcome = await self._backend.spine.submit(command)
            if operation.watch is not None:
                operation.watch(call, outcome)
            if isinstance(outcome, Refusal):
                return refused(outcome)
            response = self._render(operation, outcome)
        else:
            keyed = Keyed(
                tenant=call.caller.tenant,
                operation=operation.name,
                key=key,
                fingerprint=fingerprint((call.path_id, API_VERSION), body),
                inner=command,
                render=lambda outcome: self._render(operation, outcome),
            )
            outcome = await self._backend.spine.submit(keyed)
            response = (
                outcome if isinstance(outcome, Response) else self._render(operation, outcome)
            )
        return _reply(response)

    def _render(self, operation: Operation, outcome: Any) -> Response:
        if isinstance(outcome, Refusal):
            return Response(outcome.status, refusal_body(outcome))
        assert operation.shape is not None
        shape = operation.shape(outcome, self._backend)
        return Response(operation.status, to_json(Data(shape)))


def _command(operation: Operation, call: Call, body: dict[str, Any]) -> Any:
    """What the spine is asked to decide, or why the fields do not allow it."""
    fields = operation.body.read(body) if operation.body is not None else {}
    if isinstance(fields, Refusal):
        return fields
    assert operation.command is not None
    return operation.command(call, fields)


async def _read_json_object(request: Request) -> dict[str, Any] | Refusal:
    body = await request.body(MAX_BODY_BYTES)
    if body is None:
        return refuse("request_too_large")
    media_type = request.headers.get(b"content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        return refuse("invalid_request", "Content-Type must be application/json.")
    return read_object(body)


def _reply(response: Response) -> Reply:
    headers: tuple[Header, ...] = ()
    if response.replayed:
        headers = ((b"idempotent-replayed", b"true"),)
    elif response.status in (429, 503):
        headers = ((b"retry-after", b"1"),)
    return Reply(response.status, response.body, headers)
