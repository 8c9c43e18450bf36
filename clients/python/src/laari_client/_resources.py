"""The methods of the client.

Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Literal, Mapping, Optional

from laari_client import _operations as ops
from laari_client._call import Call, many
from laari_client._listing import Listing
from laari_client.models import (
    Authorization,
    AuthorizationPayment,
    ChargePreview,
    Event,
    HostedPayment,
    MerchantBalance,
    Payment,
    PaymentRequest,
    Payout,
    PayoutMovement,
    Refund,
    SandboxClock,
    SandboxWallet,
    Usage,
    WalletBalance,
    WalletTransaction,
    read_event,
    read_payment,
)
from laari_client.params import CustomerParams, LimitsParams, Moment

if TYPE_CHECKING:
    from laari_client._sync import Connection


class SandboxPayouts:
    """`client.sandbox.payouts`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self) -> Payout:
        """Pay out all that is available in the sandbox."""
        call = Call(
            ops.SANDBOX_CREATE_PAYOUT,
        )
        return self._connection.run(call, Payout.from_json)

    def settle(self, id: str) -> Payout:
        """Confirm a payout as the bank."""
        call = Call(
            ops.SANDBOX_SETTLE_PAYOUT,
            id=id,
        )
        return self._connection.run(call, Payout.from_json)

    def send_back(self, id: str) -> Payout:
        """Return a payout as the bank; the money is available again."""
        call = Call(
            ops.SANDBOX_RETURN_PAYOUT,
            id=id,
        )
        return self._connection.run(call, Payout.from_json)


class SandboxPayments:
    """`client.sandbox.payments`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def pay(self, id: str) -> HostedPayment:
        """Pay as the sandbox customer."""
        call = Call(
            ops.SANDBOX_PAY_PAYMENT,
            id=id,
        )
        return self._connection.run(call, HostedPayment.from_json)

    def reject(self, id: str) -> HostedPayment:
        """Decline as the sandbox customer."""
        call = Call(
            ops.SANDBOX_REJECT_PAYMENT,
            id=id,
        )
        return self._connection.run(call, HostedPayment.from_json)

    def reserve(self, id: str) -> HostedPayment:
        """Start an attempt to pay that stays in processing."""
        call = Call(
            ops.SANDBOX_RESERVE_PAYMENT,
            id=id,
        )
        return self._connection.run(call, HostedPayment.from_json)

    def release(self, id: str) -> HostedPayment:
        """Release the attempt in processing."""
        call = Call(
            ops.SANDBOX_RELEASE_PAYMENT,
            id=id,
        )
        return self._connection.run(call, HostedPayment.from_json)


class SandboxPaymentRequests:
    """`client.sandbox.payment_requests`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def pay(self, id: str) -> PaymentRequest:
        """Pay a request as the sandbox customer."""
        call = Call(
            ops.SANDBOX_PAY_PAYMENT_REQUEST,
            id=id,
        )
        return self._connection.run(call, PaymentRequest.from_json)

    def reject(self, id: str) -> PaymentRequest:
        """Decline a request as the sandbox customer."""
        call = Call(
            ops.SANDBOX_REJECT_PAYMENT_REQUEST,
            id=id,
        )
        return self._connection.run(call, PaymentRequest.from_json)

    def reserve(self, id: str) -> PaymentRequest:
        """Start an attempt to pay a request that stays in processing."""
        call = Call(
            ops.SANDBOX_RESERVE_PAYMENT_REQUEST,
            id=id,
        )
        return self._connection.run(call, PaymentRequest.from_json)

    def release(self, id: str) -> PaymentRequest:
        """Release the attempt in processing on a request."""
        call = Call(
            ops.SANDBOX_RELEASE_PAYMENT_REQUEST,
            id=id,
        )
        return self._connection.run(call, PaymentRequest.from_json)


class SandboxAuthorizations:
    """`client.sandbox.authorizations`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def approve(self, id: str) -> Authorization:
        """Approve as the sandbox customer."""
        call = Call(
            ops.SANDBOX_APPROVE_AUTHORIZATION,
            id=id,
        )
        return self._connection.run(call, Authorization.from_json)

    def reject(self, id: str) -> Authorization:
        """Decline as the sandbox customer."""
        call = Call(
            ops.SANDBOX_REJECT_AUTHORIZATION,
            id=id,
        )
        return self._connection.run(call, Authorization.from_json)

    def suspend(self, id: str) -> Authorization:
        """Stop charges until the authorization is resumed."""
        call = Call(
            ops.SANDBOX_SUSPEND_AUTHORIZATION,
            id=id,
        )
        return self._connection.run(call, Authorization.from_json)

    def resume(self, id: str) -> Authorization:
        """Allow charges again."""
        call = Call(
            ops.SANDBOX_RESUME_AUTHORIZATION,
            id=id,
        )
        return self._connection.run(call, Authorization.from_json)


class Payments:
    """`client.payments`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self,
        *,
        limit: Optional[int] = None,
        status: Optional[
            Literal["pending", "paid", "rejected", "expired", "cancelled", "refunded"]
        ] = None,
        terminal_label: Optional[str] = None,
        bill_number: Optional[str] = None,
        created_from: Optional[Moment] = None,
        created_to: Optional[Moment] = None,
        reference: Optional[str] = None,
    ) -> Listing[Payment]:
        """List payments, newest first.

        `limit`: Values outside 1 to 100 become the nearest of the two.
        `terminal_label`: The exact label.
        `bill_number`: The exact bill number. May contain only letters, digits, space, - _ . and /.
        `created_from`: Created at or after this time. A date means midnight; the default offset is
            +05:00.
        `created_to`: Created before this time. A date means midnight; the default offset is +05:00.
        `reference`: The exact reference: at most one payment has it.
        """
        call = Call(
            ops.LIST_PAYMENTS,
            query={
                "limit": limit,
                "status": status,
                "terminal_label": terminal_label,
                "bill_number": bill_number,
                "created_from": created_from,
                "created_to": created_to,
                "reference": reference,
            },
        )
        return Listing(self._connection, call, read_payment)

    def create(
        self,
        *,
        reference: str,
        amount: int,
        title: Optional[str] = None,
        description: Optional[str] = None,
        terminal_label: Optional[str] = None,
        bill_number: Optional[str] = None,
        return_url: Optional[str] = None,
        expires_at: Optional[Moment] = None,
        metadata: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> HostedPayment:
        """Create a hosted payment.

        `reference`: Your name for the payment, unique among your payments, charges and payment
            requests.
        `amount`: In laari: `12500` is MVR 125.00.
        `title`: The purpose of the payment.
        `terminal_label`: The till; need not be unique.
        `bill_number`: May contain only letters, digits, space, - _ . and /.
        `return_url`: The customer's browser goes here from the checkout page. An absolute http or
            https URL without credentials.
        `expires_at`: In the future; default: 24 hours from now. RFC 3339; the default offset is
            +05:00.
        `metadata`: Your own strings, stored as sent; the customer does not see them.
        `idempotency_key`: A call that is repeated with the same key counts once. Default: a new key
            for each call, which its retries keep.
        """
        call = Call(
            ops.CREATE_PAYMENT,
            body={
                "reference": reference,
                "amount": amount,
                "title": title,
                "description": description,
                "terminal_label": terminal_label,
                "bill_number": bill_number,
                "return_url": return_url,
                "expires_at": expires_at,
                "metadata": metadata,
            },
            key=idempotency_key,
        )
        return self._connection.run(call, HostedPayment.from_json)

    def get(self, id: str) -> Payment:
        """Get a payment."""
        call = Call(
            ops.GET_PAYMENT,
            id=id,
        )
        return self._connection.run(call, read_payment)

    def cancel(self, id: str) -> HostedPayment:
        """Cancel a pending payment."""
        call = Call(
            ops.CANCEL_PAYMENT,
            id=id,
        )
        return self._connection.run(call, HostedPayment.from_json)

    def qr(self, id: str) -> bytes:
        """QR image of a payment link."""
        call = Call(
            ops.GET_QR,
            id=id,
        )
        return self._connection.run(call, bytes)

    def refunds(self, id: str, *, limit: Optional[int] = None) -> Listing[Refund]:
        """List the refunds of a payment, newest first.

        `limit`: Values outside 1 to 100 become the nearest of the two.
        """
        call = Call(
            ops.LIST_PAYMENT_REFUNDS,
            id=id,
            query={"limit": limit},
        )
        return Listing(self._connection, call, Refund.from_json)

    def refund(
        self,
        id: str,
        *,
        amount: Optional[int] = None,
        reason: Optional[
            Literal["requested_by_customer", "duplicate", "fraudulent", "other"]
        ] = None,
        note: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Refund:
        """Refund a payment, or a part of it.

        `amount`: In laari; default: all that is left.
        `note`: For you; the customer does not see it.
        `idempotency_key`: A call that is repeated with the same key counts once. Default: a new key
            for each call, which its retries keep.
        """
        call = Call(
            ops.REFUND_PAYMENT,
            id=id,
            body={"amount": amount, "reason": reason, "note": note},
            key=idempotency_key,
        )
        return self._connection.run(call, Refund.from_json)


class Refunds:
    """`client.refunds`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, id: str) -> Refund:
        """Get a refund."""
        call = Call(
            ops.GET_REFUND,
            id=id,
        )
        return self._connection.run(call, Refund.from_json)


class Balance:
    """`client.balance`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self) -> MerchantBalance:
        """Get your balance."""
        call = Call(
            ops.GET_BALANCE,
        )
        return self._connection.run(call, MerchantBalance.from_json)


class Payouts:
    """`client.payouts`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self,
        *,
        limit: Optional[int] = None,
        created_from: Optional[Moment] = None,
        created_to: Optional[Moment] = None,
        status: Optional[
            Literal["requested", "approved", "sent", "settled", "returned", "cancelled"]
        ] = None,
    ) -> Listing[Payout]:
        """List payouts, newest first.

        `limit`: Values outside 1 to 100 become the nearest of the two.
        `created_from`: Created at or after this time. A date means midnight; the default offset is
            +05:00.
        `created_to`: Created before this time. A date means midnight; the default offset is +05:00.
        """
        call = Call(
            ops.LIST_PAYOUTS,
            query={
                "limit": limit,
                "created_from": created_from,
                "created_to": created_to,
                "status": status,
            },
        )
        return Listing(self._connection, call, Payout.from_json)

    def get(self, id: str) -> Payout:
        """Get a payout."""
        call = Call(
            ops.GET_PAYOUT,
            id=id,
        )
        return self._connection.run(call, Payout.from_json)

    def movements(self, id: str, *, limit: Optional[int] = None) -> Listing[PayoutMovement]:
        """List the movements of a payout, newest first.

        `limit`: Values outside 1 to 100 become the nearest of the two.
        """
        call = Call(
            ops.LIST_PAYOUT_MOVEMENTS,
            id=id,
            query={"limit": limit},
        )
        return Listing(self._connection, call, PayoutMovement.from_json)


class PaymentRequests:
    """`client.payment_requests`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self,
        *,
        limit: Optional[int] = None,
        status: Optional[
            Literal["pending", "paid", "rejected", "expired", "cancelled", "refunded"]
        ] = None,
        terminal_label: Optional[str] = None,
        bill_number: Optional[str] = None,
        created_from: Optional[Moment] = None,
        created_to: Optional[Moment] = None,
    ) -> Listing[PaymentRequest]:
        """List payment requests, newest first.

        `limit`: Values outside 1 to 100 become the nearest of the two.
        `terminal_label`: The exact label.
        `bill_number`: The exact bill number. May contain only letters, digits, space, - _ . and /.
        `created_from`: Created at or after this time. A date means midnight; the default offset is
            +05:00.
        `created_to`: Created before this time. A date means midnight; the default offset is +05:00.
        """
        call = Call(
            ops.LIST_PAYMENT_REQUESTS,
            query={
                "limit": limit,
                "status": status,
                "terminal_label": terminal_label,
                "bill_number": bill_number,
                "created_from": created_from,
                "created_to": created_to,
            },
        )
        return Listing(self._connection, call, PaymentRequest.from_json)

    def create(
        self,
        *,
        reference: str,
        amount: int,
        customer: CustomerParams,
        title: Optional[str] = None,
        description: Optional[str] = None,
        terminal_label: Optional[str] = None,
        bill_number: Optional[str] = None,
        return_url: Optional[str] = None,
        expires_at: Optional[Moment] = None,
    ) -> PaymentRequest:
        """Request a payment from a customer.

        `reference`: Your name for the payment, unique among your payments, charges and payment
            requests.
        `amount`: In laari: `12500` is MVR 125.00.
        `title`: The purpose of the payment.
        `terminal_label`: The till; need not be unique.
        `bill_number`: May contain only letters, digits, space, - _ . and /.
        `return_url`: The customer's browser goes here from the wallet application. An absolute http
            or https URL without credentials.
        `expires_at`: In the future; default: 24 hours from now. RFC 3339; the default offset is
            +05:00.
        """
        call = Call(
            ops.CREATE_PAYMENT_REQUEST,
            body={
                "reference": reference,
                "amount": amount,
                "customer": customer,
                "title": title,
                "description": description,
                "terminal_label": terminal_label,
                "bill_number": bill_number,
                "return_url": return_url,
                "expires_at": expires_at,
            },
        )
        return self._connection.run(call, PaymentRequest.from_json)

    def get(self, id: str) -> PaymentRequest:
        """Get a payment request."""
        call = Call(
            ops.GET_PAYMENT_REQUEST,
            id=id,
        )
        return self._connection.run(call, PaymentRequest.from_json)

    def cancel(self, id: str) -> PaymentRequest:
        """Cancel a pending payment request."""
        call = Call(
            ops.CANCEL_PAYMENT_REQUEST,
            id=id,
        )
        return self._connection.run(call, PaymentRequest.from_json)


class Authorizations:
    """`client.authorizations`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self,
        *,
        limit: Optional[int] = None,
        status: Optional[
            Literal[
                "pending",
                "active",
                "rejected",
                "revoked",
                "expired",
                "cancelled",
                "suspended",
                "consumed",
            ]
        ] = None,
    ) -> Listing[Authorization]:
        """List authorizations, newest first.

        `limit`: Values outside 1 to 100 become the nearest of the two.
        """
        call = Call(
            ops.LIST_AUTHORIZATIONS,
            query={"limit": limit, "status": status},
        )
        return Listing(self._connection, call, Authorization.from_json)

    def create(
        self,
        *,
        reference: str,
        title: str,
        description: Optional[str] = None,
        type: Optional[Literal["recurring", "unscheduled", "one_time"]] = None,
        limits: Optional[LimitsParams] = None,
        expires_at: Optional[Moment] = None,
        return_url: Optional[str] = None,
    ) -> Authorization:
        """Create an authorization for the customer to approve.

        `reference`: Your unique name for the authorization.
        `title`: The purpose that the customer agrees to.
        `type`: Default: `unscheduled`.
        `limits`: All given limits apply together.
        `expires_at`: The end of all charges; default: never. RFC 3339; the default offset is
            +05:00.
        `return_url`: The customer's browser goes here after the decision. An absolute http or https
            URL without credentials.
        """
        call = Call(
            ops.CREATE_AUTHORIZATION,
            body={
                "reference": reference,
                "title": title,
                "description": description,
                "type": type,
                "limits": limits,
                "expires_at": expires_at,
                "return_url": return_url,
            },
        )
        return self._connection.run(call, Authorization.from_json)

    def get(self, id: str) -> Authorization:
        """Get an authorization."""
        call = Call(
            ops.GET_AUTHORIZATION,
            id=id,
        )
        return self._connection.run(call, Authorization.from_json)

    def charge(
        self,
        id: str,
        *,
        reference: str,
        amount: int,
        title: Optional[str] = None,
        description: Optional[str] = None,
        bill_number: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> AuthorizationPayment:
        """Charge an active authorization.

        `reference`: Your name for the payment, unique among your payments, charges and payment
            requests.
        `amount`: In laari: `12500` is MVR 125.00.
        `title`: The purpose of the payment.
        `bill_number`: May contain only letters, digits, space, - _ . and /.
        `idempotency_key`: A call that is repeated with the same key counts once. Default: a new key
            for each call, which its retries keep.
        """
        call = Call(
            ops.CHARGE_AUTHORIZATION,
            id=id,
            body={
                "reference": reference,
                "amount": amount,
                "title": title,
                "description": description,
                "bill_number": bill_number,
            },
            key=idempotency_key,
        )
        return self._connection.run(call, AuthorizationPayment.from_json)

    def preview_charge(self, id: str, *, amount: int) -> ChargePreview:
        """Preview a charge, and show the rest of each limit.

        `amount`: In laari: `12500` is MVR 125.00.
        """
        call = Call(
            ops.PREVIEW_CHARGE,
            id=id,
            query={"amount": amount},
        )
        return self._connection.run(call, ChargePreview.from_json)

    def payments(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        status: Optional[Literal["paid", "refunded"]] = None,
        bill_number: Optional[str] = None,
        created_from: Optional[Moment] = None,
        created_to: Optional[Moment] = None,
    ) -> Listing[AuthorizationPayment]:
        """List the payments of an authorization, newest first.

        `limit`: Values outside 1 to 100 become the nearest of the two.
        `bill_number`: The exact bill number. May contain only letters, digits, space, - _ . and /.
        `created_from`: Created at or after this time. A date means midnight; the default offset is
            +05:00.
        `created_to`: Created before this time. A date means midnight; the default offset is +05:00.
        """
        call = Call(
            ops.LIST_AUTHORIZATION_PAYMENTS,
            id=id,
            query={
                "limit": limit,
                "status": status,
                "bill_number": bill_number,
                "created_from": created_from,
                "created_to": created_to,
            },
        )
        return Listing(self._connection, call, AuthorizationPayment.from_json)

    def cancel(self, id: str) -> Authorization:
        """Cancel a pending authorization, revoke an approved one."""
        call = Call(
            ops.CANCEL_AUTHORIZATION,
            id=id,
        )
        return self._connection.run(call, Authorization.from_json)


class Events:
    """`client.events`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self,
        *,
        limit: Optional[int] = None,
        type: Optional[
            Literal[
                "payment.created",
                "payment.paid",
                "payment.cancelled",
                "payment.expired",
                "payment.refunded",
                "payment_request.created",
                "payment_request.paid",
                "payment_request.rejected",
                "payment_request.cancelled",
                "payment_request.expired",
                "authorization.created",
                "authorization.approved",
                "authorization.rejected",
                "authorization.cancelled",
                "authorization.revoked",
                "payout.sent",
                "payout.settled",
                "payout.returned",
            ]
        ] = None,
        delivered: Optional[bool] = None,
        created_from: Optional[Moment] = None,
        created_to: Optional[Moment] = None,
    ) -> Listing[Event]:
        """List events, newest first.

        `limit`: Values outside 1 to 100 become the nearest of the two.
        `created_from`: Created at or after this time. A date means midnight; the default offset is
            +05:00.
        `created_to`: Created before this time. A date means midnight; the default offset is +05:00.
        """
        call = Call(
            ops.LIST_EVENTS,
            query={
                "limit": limit,
                "type": type,
                "delivered": delivered,
                "created_from": created_from,
                "created_to": created_to,
            },
        )
        return Listing(self._connection, call, read_event)

    def get(self, id: str) -> Event:
        """Get an event."""
        call = Call(
            ops.GET_EVENT,
            id=id,
        )
        return self._connection.run(call, read_event)


class Sandbox:
    """`client.sandbox`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.authorizations = SandboxAuthorizations(connection)
        self.payment_requests = SandboxPaymentRequests(connection)
        self.payments = SandboxPayments(connection)
        self.payouts = SandboxPayouts(connection)

    def set_wallet(
        self, *, balance: Optional[int] = None, tier: Optional[str] = None
    ) -> SandboxWallet:
        """Set the sandbox customer's balance and tier.

        `balance`: In laari.
        `tier`: The verification tier, which sets the wallet's limits.
        """
        call = Call(
            ops.SANDBOX_SET_WALLET,
            body={"balance": balance, "tier": tier},
        )
        return self._connection.run(call, SandboxWallet.from_json)

    def move_clock(
        self, *, advance_seconds: Optional[int] = None, reset: Optional[bool] = None
    ) -> SandboxClock:
        """Move the sandbox's time.

        `advance_seconds`: Added to the present offset of the clock.
        `reset`: `true` returns to real time.
        """
        call = Call(
            ops.SANDBOX_MOVE_CLOCK,
            body={"advance_seconds": advance_seconds, "reset": reset},
        )
        return self._connection.run(call, SandboxClock.from_json)


class Wallet:
    """`client.wallet`"""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def balance(self) -> List[WalletBalance]:
        """Read the balances."""
        call = Call(
            ops.WALLET_BALANCE,
        )
        return self._connection.run(call, many(WalletBalance.from_json))

    def usage(self) -> Usage:
        """Read limits and usage."""
        call = Call(
            ops.WALLET_USAGE,
        )
        return self._connection.run(call, Usage.from_json)

    def transactions(self, *, limit: Optional[int] = None) -> Listing[WalletTransaction]:
        """Read the history, newest first.

        `limit`: The number of transactions on a page.
        """
        call = Call(
            ops.WALLET_TRANSACTIONS,
            query={"limit": limit},
        )
        return Listing(self._connection, call, WalletTransaction.from_json)


class Resources:
    """Everything the interface offers, by what it is about."""

    def __init__(self, connection: Connection) -> None:
        self.payments = Payments(connection)
        self.refunds = Refunds(connection)
        self.balance = Balance(connection)
        self.payouts = Payouts(connection)
        self.payment_requests = PaymentRequests(connection)
        self.authorizations = Authorizations(connection)
        self.events = Events(connection)
        self.sandbox = Sandbox(connection)
        self.wallet = Wallet(connection)
