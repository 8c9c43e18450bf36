"""The table of refusal codes. A refusal is a value, and commits like any other outcome."""

from typing import Literal, NamedTuple, TypeAlias

from laari.rules.limits.bodies import MAX_BODY_BYTES


class Code(NamedTuple):
    status: int
    message: str
    shown_as: str | None = None  # if two statuses share one public code


# The names are a closed type: a misspelt code fails the type check.
RefusalCode: TypeAlias = Literal[
    "invalid_request",
    "invalid_json",
    "request_too_large",
    "unsupported_api_version",
    "customer_not_found",
    "sandbox_recipient_not_allowed",
    "invalid_idempotency_key",
    "unauthorized",
    "insufficient_balance",
    "insufficient_scope",
    "https_required",
    "not_found",
    "authorization_not_found",
    "payment_request_not_found",
    "request_timeout",
    "header_too_large",
    "method_not_allowed",
    "reference_conflict",
    "payment_not_cancellable",
    "payment_request_not_cancellable",
    "payment_not_refundable",
    "refund_exceeds_payment",
    "insufficient_merchant_balance",
    "payout_not_possible",
    "payout_conflict",
    "authorization_unapproved",
    "authorization_inactive",
    "authorization_expired",
    "authorization_not_pending",
    "authorization_unavailable",
    "authorization_not_cancellable",
    "per_payment_limit_exceeded",
    "period_limit_exceeded",
    "total_limit_exceeded",
    "payment_count_limit_exceeded",
    "currency_mismatch",
    "payment_in_progress",
    "payment_conflict",
    "conflict",
    "idempotency_conflict",
    "idempotency_in_progress",
    "wallet_limit_exceeded",
    "rate_limited",
    "internal_error",
    "not_implemented",
    "idempotency_unavailable",
    "service_unavailable",
    "invalid_pagination",
]

CODES: dict[RefusalCode, Code] = {
    "invalid_request": Code(400, "The request is not valid."),
    "invalid_json": Code(400, "The body is not valid JSON."),
    "request_too_large": Code(400, f"The body exceeds {MAX_BODY_BYTES // 1024} KiB."),
    "unsupported_api_version": Code(400, "This API version is not supported."),
    "customer_not_found": Code(400, "No customer matches this recipient."),
    "sandbox_recipient_not_allowed": Code(
        400, "Sandbox mode allows requests only to the designated sandbox recipient."
    ),
    "invalid_idempotency_key": Code(
        400, "Idempotency-Key must be 1 to 255 printable ASCII characters without spaces."
    ),
    "unauthorized": Code(401, "The credentials are missing, invalid or expired."),
    "insufficient_balance": Code(402, "The customer's balance is too low."),
    "insufficient_scope": Code(403, "The credential lacks the required scope."),
    "https_required": Code(403, "HTTPS is required.", shown_as="invalid_request"),
    "not_found": Code(404, "Not found."),
    "authorization_not_found": Code(404, "No such authorization."),
    "payment_request_not_found": Code(404, "No such payment request."),
    "request_timeout": Code(
        408, "The request did not arrive in time; nothing was done.", shown_as="invalid_request"
    ),
    "header_too_large": Code(
        431, "The header exceeds 64 KiB or 100 fields.", shown_as="request_too_large"
    ),
    "method_not_allowed": Code(405, "This method is not allowed here."),
    "reference_conflict": Code(
        409, "This reference belongs to a different payment, amount or request."
    ),
    "payment_not_cancellable": Code(409, "The payment is no longer pending."),
    "payment_request_not_cancellable": Code(409, "The payment request can no longer be cancelled."),
    "payment_not_refundable": Code(409, "The payment cannot be refunded now."),
    "refund_exceeds_payment": Code(409, "The amount exceeds the rest of the payment."),
    "insufficient_merchant_balance": Code(409, "Your balance does not cover this."),
    "payout_not_possible": Code(409, "Nothing can be paid out now."),
    "payout_conflict": Code(409, "The payout's current state does not allow this."),
    "authorization_unapproved": Code(409, "The customer has not approved this authorization yet."),
    "authorization_inactive": Code(409, "The authorization is not active."),
    "authorization_expired": Code(409, "The authorization has expired."),
    "authorization_not_pending": Code(409, "The authorization no longer awaits a decision."),
    "authorization_unavailable": Code(409, "The authorization is unavailable for this operation."),
    "authorization_not_cancellable": Code(409, "The authorization cannot be cancelled now."),
    "per_payment_limit_exceeded": Code(409, "The amount exceeds the limit per payment."),
    "period_limit_exceeded": Code(409, "The amount exceeds the rest of this period's limit."),
    "total_limit_exceeded": Code(409, "The amount exceeds the rest of the lifetime limit."),
    "payment_count_limit_exceeded": Code(409, "The number of payments allowed has been reached."),
    "currency_mismatch": Code(409, "The authorization is not in MVR."),
    "payment_in_progress": Code(
        409, "Another payment of this authorization is being processed; retry the same request."
    ),
    "payment_conflict": Code(409, "The payment's current state does not allow this."),
    "conflict": Code(409, "The current state does not allow this."),
    "idempotency_conflict": Code(409, "This Idempotency-Key was used with different data."),
    "idempotency_in_progress": Code(
        409, "An earlier request with this Idempotency-Key has not finished."
    ),
    "wallet_limit_exceeded": Code(422, "The amount exceeds the customer's wallet limits."),
    "rate_limited": Code(429, "Too many requests."),
    "internal_error": Code(500, "An unexpected error occurred; the outcome may be unknown."),
    "not_implemented": Code(501, "This operation is unavailable."),
    "idempotency_unavailable": Code(
        503, "The Idempotency-Key could not be looked up; retry with the same key and body."
    ),
    "service_unavailable": Code(
        503, "The service is unavailable and has begun nothing; try again soon."
    ),
    # Wallet interface only.
    "invalid_pagination": Code(400, "The page size or cursor is not valid."),
}

# Temporary refusals: they are not saved for an idempotency key.
PASSING_CODES = frozenset(
    code
    for code, (status, *_) in CODES.items()
    if status == 429 or status >= 500 or code.startswith("idempotency_")
) | {"payment_in_progress"}


class Refusal(NamedTuple):
    """Why a request was refused, in the terms of the interface."""

    code: RefusalCode
    message: str
    field: str | None = None
    retry_after: int | None = None  # seconds, if known

    @property
    def status(self) -> int:
        return CODES[self.code].status

    @property
    def public_code(self) -> str:
        return CODES[self.code].shown_as or self.code


def refuse(code: RefusalCode, message: str | None = None, field: str | None = None) -> Refusal:
    return Refusal(code, message or CODES[code].message, field)


def invalid(field: str, message: str) -> Refusal:
    return Refusal("invalid_request", message, field)
