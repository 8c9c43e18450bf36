"""The operations of the interface.

Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.
"""

from __future__ import annotations

from laari_client._call import Operation

API_VERSION = "2027-07-01"

LIST_PAYMENTS = Operation(
    "list_payments",
    "GET",
    "/merchant/payments",
    audience="merchant",
    keyed=False,
    repeatable=True,
    cursor="after",
)
CREATE_PAYMENT = Operation(
    "create_payment", "POST", "/merchant/payments", audience="merchant", keyed=True, repeatable=True
)
GET_PAYMENT = Operation(
    "get_payment",
    "GET",
    "/merchant/payments/{id}",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
CANCEL_PAYMENT = Operation(
    "cancel_payment",
    "POST",
    "/merchant/payments/{id}/cancel",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
GET_QR = Operation(
    "get_qr",
    "GET",
    "/merchant/public/qr/{id}",
    audience="public",
    keyed=False,
    repeatable=True,
    binary=True,
)
LIST_PAYMENT_REFUNDS = Operation(
    "list_payment_refunds",
    "GET",
    "/merchant/payments/{id}/refunds",
    audience="merchant",
    keyed=False,
    repeatable=True,
    cursor="after",
)
REFUND_PAYMENT = Operation(
    "refund_payment",
    "POST",
    "/merchant/payments/{id}/refunds",
    audience="merchant",
    keyed=True,
    repeatable=True,
)
GET_REFUND = Operation(
    "get_refund", "GET", "/merchant/refunds/{id}", audience="merchant", keyed=False, repeatable=True
)
GET_BALANCE = Operation(
    "get_balance", "GET", "/merchant/balance", audience="merchant", keyed=False, repeatable=True
)
LIST_PAYOUTS = Operation(
    "list_payouts",
    "GET",
    "/merchant/payouts",
    audience="merchant",
    keyed=False,
    repeatable=True,
    cursor="after",
)
GET_PAYOUT = Operation(
    "get_payout", "GET", "/merchant/payouts/{id}", audience="merchant", keyed=False, repeatable=True
)
LIST_PAYOUT_MOVEMENTS = Operation(
    "list_payout_movements",
    "GET",
    "/merchant/payouts/{id}/movements",
    audience="merchant",
    keyed=False,
    repeatable=True,
    cursor="after",
)
SANDBOX_CREATE_PAYOUT = Operation(
    "sandbox_create_payout",
    "POST",
    "/merchant/sandbox/payouts",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_SETTLE_PAYOUT = Operation(
    "sandbox_settle_payout",
    "POST",
    "/merchant/sandbox/payouts/{id}/settle",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_RETURN_PAYOUT = Operation(
    "sandbox_return_payout",
    "POST",
    "/merchant/sandbox/payouts/{id}/return",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
LIST_PAYMENT_REQUESTS = Operation(
    "list_payment_requests",
    "GET",
    "/merchant/payment-requests",
    audience="merchant",
    keyed=False,
    repeatable=True,
    cursor="after",
)
CREATE_PAYMENT_REQUEST = Operation(
    "create_payment_request",
    "POST",
    "/merchant/payment-requests",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
GET_PAYMENT_REQUEST = Operation(
    "get_payment_request",
    "GET",
    "/merchant/payment-requests/{id}",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
CANCEL_PAYMENT_REQUEST = Operation(
    "cancel_payment_request",
    "POST",
    "/merchant/payment-requests/{id}/cancel",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
LIST_AUTHORIZATIONS = Operation(
    "list_authorizations",
    "GET",
    "/merchant/authorizations",
    audience="merchant",
    keyed=False,
    repeatable=True,
    cursor="after",
)
CREATE_AUTHORIZATION = Operation(
    "create_authorization",
    "POST",
    "/merchant/authorizations",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
GET_AUTHORIZATION = Operation(
    "get_authorization",
    "GET",
    "/merchant/authorizations/{id}",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
CHARGE_AUTHORIZATION = Operation(
    "charge_authorization",
    "POST",
    "/merchant/authorizations/{id}/charge",
    audience="merchant",
    keyed=True,
    repeatable=True,
)
PREVIEW_CHARGE = Operation(
    "preview_charge",
    "GET",
    "/merchant/authorizations/{id}/charge-preview",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
LIST_AUTHORIZATION_PAYMENTS = Operation(
    "list_authorization_payments",
    "GET",
    "/merchant/authorizations/{id}/payments",
    audience="merchant",
    keyed=False,
    repeatable=True,
    cursor="after",
)
CANCEL_AUTHORIZATION = Operation(
    "cancel_authorization",
    "POST",
    "/merchant/authorizations/{id}/cancel",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
LIST_EVENTS = Operation(
    "list_events",
    "GET",
    "/merchant/events",
    audience="merchant",
    keyed=False,
    repeatable=True,
    cursor="after",
)
GET_EVENT = Operation(
    "get_event", "GET", "/merchant/events/{id}", audience="merchant", keyed=False, repeatable=True
)
SANDBOX_PAY_PAYMENT = Operation(
    "sandbox_pay_payment",
    "POST",
    "/merchant/sandbox/payments/{id}/pay",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_REJECT_PAYMENT = Operation(
    "sandbox_reject_payment",
    "POST",
    "/merchant/sandbox/payments/{id}/reject",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_RESERVE_PAYMENT = Operation(
    "sandbox_reserve_payment",
    "POST",
    "/merchant/sandbox/payments/{id}/reserve",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_RELEASE_PAYMENT = Operation(
    "sandbox_release_payment",
    "POST",
    "/merchant/sandbox/payments/{id}/release",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_PAY_PAYMENT_REQUEST = Operation(
    "sandbox_pay_payment_request",
    "POST",
    "/merchant/sandbox/payment-requests/{id}/pay",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_REJECT_PAYMENT_REQUEST = Operation(
    "sandbox_reject_payment_request",
    "POST",
    "/merchant/sandbox/payment-requests/{id}/reject",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_RESERVE_PAYMENT_REQUEST = Operation(
    "sandbox_reserve_payment_request",
    "POST",
    "/merchant/sandbox/payment-requests/{id}/reserve",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_RELEASE_PAYMENT_REQUEST = Operation(
    "sandbox_release_payment_request",
    "POST",
    "/merchant/sandbox/payment-requests/{id}/release",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_APPROVE_AUTHORIZATION = Operation(
    "sandbox_approve_authorization",
    "POST",
    "/merchant/sandbox/authorizations/{id}/approve",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_REJECT_AUTHORIZATION = Operation(
    "sandbox_reject_authorization",
    "POST",
    "/merchant/sandbox/authorizations/{id}/reject",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_SUSPEND_AUTHORIZATION = Operation(
    "sandbox_suspend_authorization",
    "POST",
    "/merchant/sandbox/authorizations/{id}/suspend",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_RESUME_AUTHORIZATION = Operation(
    "sandbox_resume_authorization",
    "POST",
    "/merchant/sandbox/authorizations/{id}/resume",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
SANDBOX_SET_WALLET = Operation(
    "sandbox_set_wallet",
    "POST",
    "/merchant/sandbox/wallet",
    audience="merchant",
    keyed=False,
    repeatable=True,
)
SANDBOX_MOVE_CLOCK = Operation(
    "sandbox_move_clock",
    "POST",
    "/merchant/sandbox/clock",
    audience="merchant",
    keyed=False,
    repeatable=False,
)
WALLET_BALANCE = Operation(
    "wallet_balance", "GET", "/wallet/balance", audience="wallet", keyed=False, repeatable=True
)
WALLET_USAGE = Operation(
    "wallet_usage", "GET", "/wallet/usage", audience="wallet", keyed=False, repeatable=True
)
WALLET_TRANSACTIONS = Operation(
    "wallet_transactions",
    "GET",
    "/wallet/transactions",
    audience="wallet",
    keyed=False,
    repeatable=True,
    cursor="before",
)
