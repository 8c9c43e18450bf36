"""Every error: one class for each code of the service, under one for each kind of status.

Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.
"""

from __future__ import annotations

from typing import Dict, Type

from laari_client._errors import (
    APIError,
    BadRequestError,
    ConfigurationError,
    ConflictError,
    ConnectionFailedError,
    ForbiddenError,
    InvalidResponseError,
    LaariError,
    NotFoundError,
    RateLimitedError,
    RequestTimeoutError,
    ServerError,
    UnauthorizedError,
    WebhookVerificationError,
)


class AuthorizationExpiredError(ConflictError):
    """`authorization_expired`, HTTP 409"""


class AuthorizationInactiveError(ConflictError):
    """`authorization_inactive`, HTTP 409"""


class AuthorizationNotCancellableError(ConflictError):
    """`authorization_not_cancellable`, HTTP 409"""


class AuthorizationNotFoundError(NotFoundError):
    """`authorization_not_found`, HTTP 404"""


class AuthorizationNotPendingError(ConflictError):
    """`authorization_not_pending`, HTTP 409"""


class AuthorizationUnapprovedError(ConflictError):
    """`authorization_unapproved`, HTTP 409"""


class AuthorizationUnavailableError(ConflictError):
    """`authorization_unavailable`, HTTP 409"""


class CurrencyMismatchError(ConflictError):
    """`currency_mismatch`, HTTP 409"""


class CustomerNotFoundError(BadRequestError):
    """`customer_not_found`, HTTP 400"""


class IdempotencyConflictError(ConflictError):
    """`idempotency_conflict`, HTTP 409"""


class IdempotencyInProgressError(ConflictError):
    """`idempotency_in_progress`, HTTP 409"""


class IdempotencyUnavailableError(ServerError):
    """`idempotency_unavailable`, HTTP 503"""


class InsufficientBalanceError(APIError):
    """`insufficient_balance`, HTTP 402"""


class InsufficientMerchantBalanceError(ConflictError):
    """`insufficient_merchant_balance`, HTTP 409"""


class InsufficientScopeError(ForbiddenError):
    """`insufficient_scope`, HTTP 403"""


class InternalError(ServerError):
    """`internal_error`, HTTP 500"""


class InvalidIdempotencyKeyError(BadRequestError):
    """`invalid_idempotency_key`, HTTP 400"""


class InvalidJsonError(BadRequestError):
    """`invalid_json`, HTTP 400"""


class InvalidPaginationError(BadRequestError):
    """`invalid_pagination`, HTTP 400"""


class InvalidRequestError(BadRequestError):
    """`invalid_request`, HTTP 400"""


class MethodNotAllowedError(APIError):
    """`method_not_allowed`, HTTP 405"""


class PaymentConflictError(ConflictError):
    """`payment_conflict`, HTTP 409"""


class PaymentCountLimitExceededError(ConflictError):
    """`payment_count_limit_exceeded`, HTTP 409"""


class PaymentInProgressError(ConflictError):
    """`payment_in_progress`, HTTP 409"""


class PaymentNotCancellableError(ConflictError):
    """`payment_not_cancellable`, HTTP 409"""


class PaymentNotRefundableError(ConflictError):
    """`payment_not_refundable`, HTTP 409"""


class PaymentRequestNotCancellableError(ConflictError):
    """`payment_request_not_cancellable`, HTTP 409"""


class PaymentRequestNotFoundError(NotFoundError):
    """`payment_request_not_found`, HTTP 404"""


class PayoutConflictError(ConflictError):
    """`payout_conflict`, HTTP 409"""


class PayoutNotPossibleError(ConflictError):
    """`payout_not_possible`, HTTP 409"""


class PerPaymentLimitExceededError(ConflictError):
    """`per_payment_limit_exceeded`, HTTP 409"""


class PeriodLimitExceededError(ConflictError):
    """`period_limit_exceeded`, HTTP 409"""


class ReferenceConflictError(ConflictError):
    """`reference_conflict`, HTTP 409"""


class RefundExceedsPaymentError(ConflictError):
    """`refund_exceeds_payment`, HTTP 409"""


class RequestTooLargeError(BadRequestError):
    """`request_too_large`, HTTP 400"""


class SandboxRecipientNotAllowedError(BadRequestError):
    """`sandbox_recipient_not_allowed`, HTTP 400"""


class ServiceUnavailableError(ServerError):
    """`service_unavailable`, HTTP 503"""


class TotalLimitExceededError(ConflictError):
    """`total_limit_exceeded`, HTTP 409"""


class UnsupportedApiVersionError(BadRequestError):
    """`unsupported_api_version`, HTTP 400"""


class WalletLimitExceededError(APIError):
    """`wallet_limit_exceeded`, HTTP 422"""


class InvalidClientError(UnauthorizedError):
    """`invalid_client`, HTTP 401"""


class InvalidScopeError(BadRequestError):
    """`invalid_scope`, HTTP 400"""


class TemporarilyUnavailableError(RateLimitedError):
    """`temporarily_unavailable`, HTTP 429"""


class UnsupportedGrantTypeError(BadRequestError):
    """`unsupported_grant_type`, HTTP 400"""


BY_CODE: Dict[str, Type[APIError]] = {
    "authorization_expired": AuthorizationExpiredError,
    "authorization_inactive": AuthorizationInactiveError,
    "authorization_not_cancellable": AuthorizationNotCancellableError,
    "authorization_not_found": AuthorizationNotFoundError,
    "authorization_not_pending": AuthorizationNotPendingError,
    "authorization_unapproved": AuthorizationUnapprovedError,
    "authorization_unavailable": AuthorizationUnavailableError,
    "currency_mismatch": CurrencyMismatchError,
    "customer_not_found": CustomerNotFoundError,
    "idempotency_conflict": IdempotencyConflictError,
    "idempotency_in_progress": IdempotencyInProgressError,
    "idempotency_unavailable": IdempotencyUnavailableError,
    "insufficient_balance": InsufficientBalanceError,
    "insufficient_merchant_balance": InsufficientMerchantBalanceError,
    "insufficient_scope": InsufficientScopeError,
    "internal_error": InternalError,
    "invalid_idempotency_key": InvalidIdempotencyKeyError,
    "invalid_json": InvalidJsonError,
    "invalid_pagination": InvalidPaginationError,
    "invalid_request": InvalidRequestError,
    "method_not_allowed": MethodNotAllowedError,
    "not_found": NotFoundError,
    "payment_conflict": PaymentConflictError,
    "payment_count_limit_exceeded": PaymentCountLimitExceededError,
    "payment_in_progress": PaymentInProgressError,
    "payment_not_cancellable": PaymentNotCancellableError,
    "payment_not_refundable": PaymentNotRefundableError,
    "payment_request_not_cancellable": PaymentRequestNotCancellableError,
    "payment_request_not_found": PaymentRequestNotFoundError,
    "payout_conflict": PayoutConflictError,
    "payout_not_possible": PayoutNotPossibleError,
    "per_payment_limit_exceeded": PerPaymentLimitExceededError,
    "period_limit_exceeded": PeriodLimitExceededError,
    "rate_limited": RateLimitedError,
    "reference_conflict": ReferenceConflictError,
    "refund_exceeds_payment": RefundExceedsPaymentError,
    "request_too_large": RequestTooLargeError,
    "sandbox_recipient_not_allowed": SandboxRecipientNotAllowedError,
    "service_unavailable": ServiceUnavailableError,
    "total_limit_exceeded": TotalLimitExceededError,
    "unauthorized": UnauthorizedError,
    "unsupported_api_version": UnsupportedApiVersionError,
    "wallet_limit_exceeded": WalletLimitExceededError,
    "invalid_client": InvalidClientError,
    "invalid_scope": InvalidScopeError,
    "server_error": ServerError,
    "temporarily_unavailable": TemporarilyUnavailableError,
    "unsupported_grant_type": UnsupportedGrantTypeError,
}
BY_STATUS: Dict[int, Type[APIError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitedError,
}


def error_class(code: str, status: int) -> Type[APIError]:
    """The class of a code; of a code that is new, that of its status."""
    other = ServerError if status >= 500 else BY_STATUS.get(status, APIError)
    return BY_CODE.get(code, other)


__all__ = [
    "APIError",
    "AuthorizationExpiredError",
    "AuthorizationInactiveError",
    "AuthorizationNotCancellableError",
    "AuthorizationNotFoundError",
    "AuthorizationNotPendingError",
    "AuthorizationUnapprovedError",
    "AuthorizationUnavailableError",
    "BadRequestError",
    "ConfigurationError",
    "ConflictError",
    "ConnectionFailedError",
    "CurrencyMismatchError",
    "CustomerNotFoundError",
    "ForbiddenError",
    "IdempotencyConflictError",
    "IdempotencyInProgressError",
    "IdempotencyUnavailableError",
    "InsufficientBalanceError",
    "InsufficientMerchantBalanceError",
    "InsufficientScopeError",
    "InternalError",
    "InvalidClientError",
    "InvalidIdempotencyKeyError",
    "InvalidJsonError",
    "InvalidPaginationError",
    "InvalidRequestError",
    "InvalidResponseError",
    "InvalidScopeError",
    "LaariError",
    "MethodNotAllowedError",
    "NotFoundError",
    "PaymentConflictError",
    "PaymentCountLimitExceededError",
    "PaymentInProgressError",
    "PaymentNotCancellableError",
    "PaymentNotRefundableError",
    "PaymentRequestNotCancellableError",
    "PaymentRequestNotFoundError",
    "PayoutConflictError",
    "PayoutNotPossibleError",
    "PerPaymentLimitExceededError",
    "PeriodLimitExceededError",
    "RateLimitedError",
    "ReferenceConflictError",
    "RefundExceedsPaymentError",
    "RequestTimeoutError",
    "RequestTooLargeError",
    "SandboxRecipientNotAllowedError",
    "ServerError",
    "ServiceUnavailableError",
    "TemporarilyUnavailableError",
    "TotalLimitExceededError",
    "UnauthorizedError",
    "UnsupportedApiVersionError",
    "UnsupportedGrantTypeError",
    "WalletLimitExceededError",
    "WebhookVerificationError",
    "error_class",
]
