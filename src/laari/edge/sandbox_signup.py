"""`POST /sandbox/merchants` makes a sandbox merchant for anybody, if LAARI_SANDBOX_SIGNUP is on."""

import math
import os
import time
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from laari.edge.backend import Backend
from laari.edge.endpoint import Endpoint
from laari.edge.input.fields import Body, Field, amount, choice, described, integer, text
from laari.edge.load.admission import Overloaded
from laari.edge.load.token_buckets import Bucket, named_bucket
from laari.edge.merchant.envelope import read_json_object, refused
from laari.http.client_addresses import client_prefix
from laari.http.messages import NO_STORE, Reply, Request
from laari.rules.actors import Actor
from laari.rules.calendar import show as show_time
from laari.rules.ids import new_merchant_id
from laari.rules.limits.bodies import MAX_BODY_BYTES
from laari.rules.merchants.new_merchants import (
    SANDBOX_BALANCE,
    SANDBOX_TIER,
    MerchantDraft,
    NewMerchant,
    NewOwner,
    SignUpMerchant,
)
from laari.rules.money import MAX_FEE_FIXED
from laari.rules.people.contacts import read_email
from laari.rules.people.persons import NewLogin
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.fields import Timestamp
from laari.rules.webhooks import MAX_URL_LENGTH
from laari.store.counters.sessions import PersonSession
from laari.store.people.passwords import new_password
from laari.store.reads.people.wallet_keys import sandbox_wallet_key

ENDPOINT = Endpoint(
    path="/sandbox/merchants",
    method="POST",
    name="sandbox_sign_up",
    summary="Create a sandbox merchant",
    description="Needs no credentials. The merchant has no live mode until the operator approves "
    "it. Its secrets are shown only now. The body is optional.",
    refusals=(
        "method_not_allowed",
        "https_required",
        "request_too_large",
        "invalid_request",
        "invalid_json",
        "rate_limited",
        "service_unavailable",
        "internal_error",
    ),
)
DEFAULT_NAME = "Sandbox shop"
MAX_NAME = 255
WINDOW_SECONDS = 60.0
LAST = math.inf  # the rank: everybody who logs in goes first
# It does not say why: the address may belong to somebody else.
_OWN_SITES = ("same-origin", "none")


def _email(name: str) -> Field:
    def read(value: object, path: str) -> str | Refusal:
        address = read_email(value) if isinstance(value, str) else None
        if address is None or not address.isprintable():
            return invalid(path, f"{path} must be an email address.")
        return address

    return Field(name, read, {"type": "string", "format": "email"})


class SignUpFields(Struct, frozen=True):
    name: str = DEFAULT_NAME
    mode: Literal["sandbox"] = "sandbox"
    fee_bps: int = 0
    fee_fixed: int = 0
    webhook_url: str | None = None
    email: str | None = None


BODY = Body(
    SignUpFields,
    described(text("name", MAX_NAME), f"Shown to customers; default: `{DEFAULT_NAME}`."),
    described(choice("mode", ("sandbox",)), "Sign-up is only for the sandbox."),
    described(integer("fee_bps", 0, 10_000), "Fee in basis points."),
    described(amount("fee_fixed", 0, MAX_FEE_FIXED), "Fixed fee in laari."),
    described(text("webhook_url", MAX_URL_LENGTH), "The URL to which events are sent."),
    described(_email("email"), "Creates a login for the dashboard and returns its `password`."),
    name="SandboxMerchantCreate",
    examples={
        "defaults": {},
        "with webhooks": {"name": "Bodu Boat", "webhook_url": "https://shop.example.com/hook"},
    },
)


class SandboxCustomer(Struct, frozen=True):
    """The customer who pays this merchant in the sandbox, with the wallet and its names."""

    account_number: str
    api_key: str
    vpa: str
    email: str
    balance: int
    tier: str


class SandboxMerchant(Struct, frozen=True):
    """A new merchant with its secrets, which are shown only now.

    `email` and `password` are a login for the dashboard, if the request had an email.
    """

    merchant_id: str
    name: str
    mode: Literal["sandbox"]
    active: bool
    webhook_url: str | None
    webhooks: bool
    fee_bps: int
    fee_fixed: int
    created_at: Timestamp
    secret_key: str
    webhook_secret: str
    customer: SandboxCustomer
    email: str | UnsetType = UNSET
    password: str | UnsetType = UNSET


class SignUp:
    headers = (NO_STORE,)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.admission = backend.admission

    def refused(self, refusal: Refusal) -> Reply:
        return refused(refusal)

    async def handle(self, request: Request) -> Reply:
        request.operation = ENDPOINT.name
        if request.method != ENDPOINT.method:
            return refused(refuse("method_not_allowed"), (b"allow", b"POST"))
        if self._backend.settings.require_https and not request.secure:
            return refused(refuse("https_required"))
        if request.headers.get(b"sec-fetch-site", "none") not in _OWN_SITES:
            return refused(
                refuse("invalid_request", "Requests from other websites are not allowed.")
            )
        fields = _read_fields(request)
        if isinstance(fields, Refusal):
            return refused(fields)
        password = None if fields.email is None else new_password()
        made = await make_merchant(self._backend, request, fields, password)
        if isinstance(made, Refusal):
            return refused(made)
        shown = self._shown(made, fields.email, password)
        return Reply(201, to_json(shown))

    def _shown(self, made: NewMerchant, email: str | None, password: str | None) -> SandboxMerchant:
        """The output of `laari merchant create --json`, and the customer for a first test."""
        merchant, account = made.merchant, made.merchant.sandbox_account
        settings = self._backend.settings
        customer = SandboxCustomer(
            account_number=str(account),
            api_key=sandbox_wallet_key(self._backend.master_key, account),
            vpa=settings.sandbox_vpa,
            email=settings.sandbox_email,
            balance=SANDBOX_BALANCE,
            tier=SANDBOX_TIER,
        )
        return SandboxMerchant(
            merchant_id=merchant.id,
            name=merchant.name,
            mode="sandbox",
            active=merchant.active,
            webhook_url=merchant.webhook_url,
            webhooks=merchant.webhooks_enabled,
            fee_bps=merchant.fee_bps,
            fee_fixed=merchant.fee_fixed,
            created_at=show_time(merchant.created_at),
            secret_key=made.secret_key,
            webhook_secret=made.secret_key,  # webhooks are signed with the secret key
            customer=customer,
            email=email or UNSET,
            password=password or UNSET,
        )


def _read_fields(request: Request) -> SignUpFields | Refusal:
    if request.body(MAX_BODY_BYTES) == b"":
        return SignUpFields()
    sent = read_json_object(request)
    return sent if isinstance(sent, Refusal) else BODY.read(sent)


async def make_merchant(
    backend: Backend,
    request: Request,
    fields: SignUpFields,
    password: str | None = None,
    owner: PersonSession | None = None,
) -> NewMerchant | Refusal:
    """A merchant for the sender of the request, or a refusal; the sign-up page uses it too.

    `owner` is a person who has logged in. Nobody else can sign up with an email that a person has.
    """
    if not fields.name.isprintable():
        return invalid("name", "name must have only printable characters.")
    rate = backend.settings.sandbox_signups_per_minute / WINDOW_SECONDS
    key = named_bucket("sandbox sign-up", client_prefix(request.client))
    wait = backend.rates.take(Bucket(key, rate, WINDOW_SECONDS), time.monotonic())
    if wait > 0:
        return refuse("rate_limited")._replace(retry_after=math.ceil(wait))
    actor = Actor("service", "sign-up", address=request.client)
    if owner is not None:
        actor = Actor("person", owner.email, "owner", request.client)
    new_owner = None if owner is None else NewOwner(owner.email)
    try:
        if fields.email is not None:
            assert password is not None  # the caller has chosen or made it
            password_hash = await backend.hashing.hash(
                password, rank=LAST, disconnected=request.disconnected
            )
            new_owner = NewOwner(fields.email, NewLogin(password_hash, proven=False))
    except Overloaded as full:
        return refuse("service_unavailable")._replace(retry_after=full.retry_after)
    draft = MerchantDraft(
        name=fields.name,
        mode="sandbox",
        fee_bps=fields.fee_bps,
        fee_fixed=fields.fee_fixed,
        webhook_url=fields.webhook_url,
    )
    merchant_id, most = new_merchant_id(os.urandom), backend.settings.sandbox_merchants
    command = SignUpMerchant(
        actor,
        merchant_id,
        draft,
        most,
        new_owner,
        private_webhooks=backend.settings.webhook_allow_private,
    )
    return await backend.spine.submit(command)
