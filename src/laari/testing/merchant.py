"""A merchant of the sandbox with its customer, its clock and its webhooks: `laari_merchant`."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import httpx

from laari.rules.ids import AUTHORIZATION, PAYMENT, PAYMENT_REQUEST
from laari.testing.receiver import Inbox, Resource, id_of
from laari_client import Laari
from laari_client.models import Authorization, HostedPayment, PaymentRequest, SandboxWallet

Made: TypeAlias = Mapping[str, Any]  # the answer of `POST /sandbox/merchants`


class SandboxMerchant:
    """`client` speaks for the merchant; `customer` and `clock` are what only a sandbox has."""

    def __init__(self, url: str, made: Made, inbox: Inbox, http: httpx.Client) -> None:
        self.url = url
        self.id: str = made["merchant_id"]
        self.name: str = made["name"]
        self.secret_key: str = made["secret_key"]
        self.webhook_secret: str = made["webhook_secret"]
        self.client = Laari(
            url, self.secret_key, wallet_key=made["customer"]["api_key"], http_client=http
        )
        self.customer = SandboxCustomer(self.client, made["customer"])
        self.clock = Clock(self.client)
        self.webhooks = inbox
        inbox.secret = self.webhook_secret

    def __repr__(self) -> str:
        return f"<SandboxMerchant {self.id} at {self.url}>"


class SandboxCustomer:
    """The customer of this merchant's sandbox."""

    def __init__(self, client: Laari, made: Made) -> None:
        self._client = client
        self.account_number: str = made["account_number"]
        self.api_key: str = made["api_key"]  # of the wallet interface
        self.vpa: str = made["vpa"]
        self.email: str = made["email"]

    @property
    def recipient(self) -> dict[str, str]:
        """The `customer` of a payment request to this customer."""
        return {"type": "vpa", "value": self.vpa}

    def pay(self, asked: Resource) -> HostedPayment | PaymentRequest:
        """Pays a payment or a payment request; takes the resource or its id."""
        sandbox, wanted = self._client.sandbox, id_of(asked)
        if wanted.startswith(PAYMENT_REQUEST):
            return sandbox.payment_requests.pay(wanted)
        return sandbox.payments.pay(_known(wanted, PAYMENT))

    def decline(self, asked: Resource) -> HostedPayment | PaymentRequest | Authorization:
        """Declines a payment, a payment request or an authorization."""
        sandbox, wanted = self._client.sandbox, id_of(asked)
        if wanted.startswith(PAYMENT_REQUEST):
            return sandbox.payment_requests.reject(wanted)
        if wanted.startswith(AUTHORIZATION):
            return sandbox.authorizations.reject(wanted)
        return sandbox.payments.reject(_known(wanted, PAYMENT))

    def approve(self, authorization: Resource) -> Authorization:
        """Approves an authorization."""
        wanted = _known(id_of(authorization), AUTHORIZATION)
        return self._client.sandbox.authorizations.approve(wanted)

    @property
    def wallet(self) -> SandboxWallet:
        return self._client.sandbox.set_wallet()

    @property
    def balance(self) -> int:
        """In laari."""
        return self.wallet.balance

    def set(self, *, balance: int | None = None, tier: str | None = None) -> SandboxWallet:
        """Sets the balance in laari, the verification tier, or both."""
        return self._client.sandbox.set_wallet(balance=balance, tier=tier)


class Clock:
    """This merchant's time."""

    def __init__(self, client: Laari) -> None:
        self._client = client

    @property
    def now(self) -> datetime:
        return self._client.sandbox.move_clock(advance_seconds=0).now

    def advance(self, delta: timedelta | None = None, **parts: float) -> datetime:
        """Advances by a timedelta or by its parts, `advance(days=31)`; returns the new time."""
        if (delta is None) == (not parts):
            raise TypeError("give a timedelta, or parts of one such as days=31")
        moved = timedelta(**parts) if delta is None else delta
        seconds = round(moved.total_seconds())
        return self._client.sandbox.move_clock(advance_seconds=seconds).now

    def reset(self) -> datetime:
        """Returns to real time."""
        return self._client.sandbox.move_clock(reset=True).now


def _known(wanted: str, prefix: str) -> str:
    if not wanted.startswith(prefix):
        raise TypeError(f"{wanted!r} is not an id that begins with {prefix}")
    return wanted
