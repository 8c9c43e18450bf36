"""The merchant interface. Every request goes through the same checks, in this order:

route and method, HTTPS, version, authentication, rate, scope, idempotency key, body size, content
type, JSON object, then the operation: its key's saved response, its fields, and the stored state.
"""

import math
import time
from typing import TypeVar

from laari.edge.backend import Backend
from laari.edge.input.warnings import warned
from laari.edge.load.admission import credential_of
from laari.edge.load.token_buckets import Bucket
from laari.edge.merchant import (
    authorizations,
    events,
    payment_requests,
    payments,
    payouts,
    refunds,
    sandbox,
)
from laari.edge.merchant.auth import authenticate
from laari.edge.merchant.envelope import (
    API_VERSION,
    CHALLENGE,
    HEADERS,
    REPLAYED,
    read_json_object,
    refused,
)
from laari.edge.merchant.operations import Caller, Context, Operation, Public, Read, Write
from laari.http.messages import Reply, Request, read_parameters, refusal_headers
from laari.http.router import Router
from laari.rules.idempotency import Keyed, Response, fingerprint, is_valid_key
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.envelopes import Data, refusal_body, to_json

B = TypeVar("B")
Q = TypeVar("Q")
T = TypeVar("T")

# For this time a credential over its rate is refused without a look-up. It is short, so that a
# revoked key is soon refused as such.
REMEMBERED_SECONDS = 0.1
MOST_REMEMBERED = 1000  # credentials
# A long body or response (a page of a hundred payments can have 16 MB) is charged as several
# requests, up to a minute of the rate. The longest metadata in ASCII has 28 KB: one request.
BODY_BYTES_OF_A_REQUEST = 32 * 1024
BYTES_OF_A_REQUEST = 256 * 1024
OWING_SECONDS = 60.0

OPERATIONS: tuple[Operation, ...] = (
    *payments.OPERATIONS,
    *refunds.OPERATIONS,
    *payouts.OPERATIONS,
    *payment_requests.OPERATIONS,
    *authorizations.OPERATIONS,
    *events.OPERATIONS,
    *sandbox.OPERATIONS,
)
BASE_PATH = "/merchant"
ROUTER: Router[Operation] = Router()
for _operation in OPERATIONS:
    # Public ones are links: a program that embeds an image may send HEAD first.
    _is_link = isinstance(_operation, Public)
    ROUTER.add(BASE_PATH + _operation.path, _operation.method, _operation, head=_is_link)


class MerchantInterface:
    headers = HEADERS

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.admission = backend.admission
        # Until when a credential that was over its rate is refused without a look-up.
        self._over_until: dict[object, float] = {}

    def refused(self, refusal: Refusal) -> Reply:
        return refused(refusal)

    async def handle(self, request: Request) -> Reply:
        found = ROUTER.find(request.path)
        if found is None:
            return refused(refuse("not_found"))
        operation = found.methods.get(request.method)
        if operation is None:
            return refused(refuse("method_not_allowed"), (b"allow", found.allowed))
        request.operation = operation.name
        refusal = self._check_transport(request)
        if refusal is not None:
            return refused(refusal)
        written_id = found.parameters.get("id", "")
        if isinstance(operation, Public):
            return _shown(await operation.get(self._backend, written_id))
        wait = self._known_over_rate(request)
        if wait:
            return _too_fast(wait)
        caller = await authenticate(self._backend, request)
        if isinstance(caller, Refusal):
            return refused(caller)
        wait = self._over_rate(caller, request)
        if wait:
            return _too_fast(wait)
        self._charge(caller.tenant, request.received // BODY_BYTES_OF_A_REQUEST)
        if not caller.may(operation.scope):
            return refused(caller.lacks(operation.scope))
        with self.admission.share(caller.tenant.id):  # over all of its credentials
            context = Context(self._backend, caller, written_id)
            reply = await self._serve(operation, context, request)
        self._charge(caller.tenant, len(reply.body) // BYTES_OF_A_REQUEST)
        return reply

    async def _serve(
        self, operation: Read[Q] | Write[B, T], context: Context, request: Request
    ) -> Reply:
        given = read_parameters(request.query)
        if isinstance(operation, Read):
            query = operation.query.read(given)
            reply = (
                refused(query)
                if isinstance(query, Refusal)
                else _shown(await operation.get(context, query))
            )
            return warned(reply, given, operation.query.fields)
        if not operation.exists_for(context.tenant):
            return refused(refuse("not_found"))
        return warned(await self._write(operation, context, request), given)

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

    def _over_rate(self, caller: Caller, request: Request) -> float:
        now = time.monotonic()
        wait = self._backend.rates.take(self._bucket(caller.tenant), now)
        if wait:
            if len(self._over_until) >= MOST_REMEMBERED:
                self._over_until.clear()
            self._over_until[credential_of(request)] = now + min(wait, REMEMBERED_SECONDS)
        return wait

    def _charge(self, tenant: Tenant, requests: int) -> None:
        """Charges a long request as several."""
        if requests:
            self._backend.rates.charge(self._bucket(tenant), time.monotonic(), requests)

    def _bucket(self, tenant: Tenant) -> Bucket:
        settings = self._backend.settings
        live = tenant.mode == "live"
        rate = settings.merchant_rate_live if live else settings.merchant_rate_sandbox
        return Bucket(tenant.id, rate, owing=OWING_SECONDS)

    def _known_over_rate(self, request: Request) -> float:
        """How long this credential must wait, if known without a look-up: floods are cheap."""
        credential = credential_of(request)
        until = self._over_until.get(credential)
        if until is None:
            return 0.0
        wait = until - time.monotonic()
        if wait <= 0:
            del self._over_until[credential]
        return max(wait, 0.0)

    async def _write(self, operation: Write[B, T], context: Context, request: Request) -> Reply:
        key = request.headers.get(b"idempotency-key") if operation.is_keyed else None
        if key is not None and not is_valid_key(key):
            return refused(refuse("invalid_idempotency_key"))
        body = read_json_object(request) if operation.body.fields else {}
        if isinstance(body, Refusal):
            return refused(body)
        if key is None:
            outcome = await operation.run(context, body)
            if isinstance(outcome, Refusal):
                return refused(outcome)
            return _reply(_render(operation, outcome, self._backend))
        keyed = Keyed(
            tenant=context.tenant,
            operation=operation.name,
            key=key,
            fingerprint=fingerprint((context.written_id, API_VERSION), body),
            inner=operation.prepare(context, body),
            render=lambda outcome: _render(operation, outcome, self._backend),
        )
        response = await self._backend.spine.submit(keyed)
        return refused(response) if isinstance(response, Refusal) else _reply(response)


def _too_fast(wait_seconds: float) -> Reply:
    return refused(refuse("rate_limited")._replace(retry_after=math.ceil(wait_seconds)))


def _shown(found: Reply | Refusal) -> Reply:
    return refused(found) if isinstance(found, Refusal) else found


def _render(operation: Write[B, T], outcome: T | Refusal, backend: Backend) -> Response:
    if isinstance(outcome, Refusal):
        body, code = refusal_body(outcome), outcome.public_code
        return Response(outcome.status, body, code, outcome.retry_after)
    resource_id = None if operation.resource_id is None else operation.resource_id(outcome)
    body = to_json(Data(operation.show(outcome, backend)))
    return Response(operation.status, body, resource_id=resource_id)


def _reply(response: Response) -> Reply:
    status, body, code, retry_after, replayed, _ = response
    headers = refusal_headers(status, retry_after, CHALLENGE)
    return Reply(status, body, (REPLAYED,) if replayed else headers, code=code)
