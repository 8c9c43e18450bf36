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
    """`authorization_expired`"""


class AuthorizationInactiveError(ConflictError):
    """`authorization_inactive`"""


class AuthorizationNotCancellableError(ConflictError):
    """`authorization_not_cancellable`"""


class AuthorizationNotFoundError(NotFoundError):
    """`authorization_not_found`"""


class AuthorizationNotPendingError(ConflictError):
    """`authorization_not_pending`"""


class AuthorizationUnapprovedError(ConflictError):
    """`authorization_unapproved`"""


class AuthorizationUnavailableError(ConflictError):
    """`authorization_unavailable`"""


class CurrencyMismatchError(ConflictError):
    """`currency_mismatch`"""


class CustomerNotFoundError(BadRequestError):
    """`customer_not_found`"""


class IdempotencyConflictError(ConflictError):
    """`idempotency_conflict`"""


class IdempotencyInProgressError(ConflictError):
    """`idempotency_in_progress`"""


class IdempotencyUnavailableError(ServerError):
    """`idempotency_unavailable`"""


class InsufficientBalanceError(APIError):
    """`insufficient_balance`"""


class InsufficientScopeError(ForbiddenError):
    """`insufficient_scope`"""


class InternalError(ServerError):
    """`internal_error`"""


class InvalidIdempotencyKeyError(BadRequestError):
    """`invalid_idempotency_key`"""


class InvalidJsonError(BadRequestError):
    """`invalid_json`"""


class InvalidPaginationError(BadRequestError):
    """`invalid_pagination`"""


class InvalidRequestError(BadRequestError):
    """`invalid_request`"""


class MethodNotAllowedError(APIError):
    """`method_not_allowed`"""


class PaymentConflictError(ConflictError):
    """`payment_conflict`"""


class PaymentCountLimitExceededError(ConflictError):
    """`payment_count_limit_exceeded`"""


class PaymentInProgressError(ConflictError):
    """`payment_in_progress`"""


class PaymentNotCancellableError(ConflictError):
    """`payment_not_cancellable`"""


class PaymentRequestNotCancellableError(ConflictError):
    """`payment_request_not_cancellable`"""


class PaymentRequestNotFoundError(NotFoundError):
    """`payment_request_not_found`"""


class PerPaymentLimitExceededError(ConflictError):
    """`per_payment_limit_exceeded`"""


class PeriodLimitExceededError(ConflictError):
    """`period_limit_exceeded`"""


class ReferenceConflictError(ConflictError):
    """`reference_conflict`"""


class RequestTooLargeError(BadRequestError):
    """`request_too_large`"""


class SandboxRecipientNotAllowedError(BadRequestError):
    """`sandbox_recipient_not_allowed`"""


class ServiceUnavailableError(ServerError):
    """`service_unavailable`"""


class TotalLimitExceededError(ConflictError):
    """`total_limit_exceeded`"""


class UnsupportedApiVersionError(BadRequestError):
    """`unsupported_api_version`"""


class WalletLimitExceededError(APIError):
    """`wallet_limit_exceeded`"""


class InvalidClientError(UnauthorizedError):
    """`invalid_client`"""


class InvalidScopeError(BadRequestError):
    """`invalid_scope`"""


class TemporarilyUnavailableError(RateLimitedError):
    """`temporarily_unavailable`"""


class UnsupportedGrantTypeError(BadRequestError):
    """`unsupported_grant_type`"""


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
    "payment_request_not_cancellable": PaymentRequestNotCancellableError,
    "payment_request_not_found": PaymentRequestNotFoundError,
    "per_payment_limit_exceeded": PerPaymentLimitExceededError,
    "period_limit_exceeded": PeriodLimitExceededError,
    "rate_limited": RateLimitedError,
    "reference_conflict": ReferenceConflictError,
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
    "PaymentRequestNotCancellableError",
    "PaymentRequestNotFoundError",
    "PerPaymentLimitExceededError",
    "PeriodLimitExceededError",
    "RateLimitedError",
    "ReferenceConflictError",
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
