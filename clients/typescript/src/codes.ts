// Made from the OpenAPI document by `make clients`; changes belong there or in
// tools/clients.
import { APIError, BadRequestError, ConflictError, ForbiddenError, NotFoundError, RateLimitedError, ServerError, UnauthorizedError } from "./errors.js";

export const API_VERSION = "2027-07-01";

/** `authorization_expired`, HTTP 409 */
export class AuthorizationExpiredError extends ConflictError {}
/** `authorization_inactive`, HTTP 409 */
export class AuthorizationInactiveError extends ConflictError {}
/** `authorization_not_cancellable`, HTTP 409 */
export class AuthorizationNotCancellableError extends ConflictError {}
/** `authorization_not_found`, HTTP 404 */
export class AuthorizationNotFoundError extends NotFoundError {}
/** `authorization_not_pending`, HTTP 409 */
export class AuthorizationNotPendingError extends ConflictError {}
/** `authorization_unapproved`, HTTP 409 */
export class AuthorizationUnapprovedError extends ConflictError {}
/** `authorization_unavailable`, HTTP 409 */
export class AuthorizationUnavailableError extends ConflictError {}
/** `currency_mismatch`, HTTP 409 */
export class CurrencyMismatchError extends ConflictError {}
/** `customer_not_found`, HTTP 400 */
export class CustomerNotFoundError extends BadRequestError {}
/** `idempotency_conflict`, HTTP 409 */
export class IdempotencyConflictError extends ConflictError {}
/** `idempotency_in_progress`, HTTP 409 */
export class IdempotencyInProgressError extends ConflictError {}
/** `idempotency_unavailable`, HTTP 503 */
export class IdempotencyUnavailableError extends ServerError {}
/** `insufficient_balance`, HTTP 402 */
export class InsufficientBalanceError extends APIError {}
/** `insufficient_merchant_balance`, HTTP 409 */
export class InsufficientMerchantBalanceError extends ConflictError {}
/** `insufficient_scope`, HTTP 403 */
export class InsufficientScopeError extends ForbiddenError {}
/** `internal_error`, HTTP 500 */
export class InternalError extends ServerError {}
/** `invalid_idempotency_key`, HTTP 400 */
export class InvalidIdempotencyKeyError extends BadRequestError {}
/** `invalid_json`, HTTP 400 */
export class InvalidJsonError extends BadRequestError {}
/** `invalid_pagination`, HTTP 400 */
export class InvalidPaginationError extends BadRequestError {}
/** `invalid_request`, HTTP 400 */
export class InvalidRequestError extends BadRequestError {}
/** `method_not_allowed`, HTTP 405 */
export class MethodNotAllowedError extends APIError {}
/** `payment_conflict`, HTTP 409 */
export class PaymentConflictError extends ConflictError {}
/** `payment_count_limit_exceeded`, HTTP 409 */
export class PaymentCountLimitExceededError extends ConflictError {}
/** `payment_in_progress`, HTTP 409 */
export class PaymentInProgressError extends ConflictError {}
/** `payment_not_cancellable`, HTTP 409 */
export class PaymentNotCancellableError extends ConflictError {}
/** `payment_not_refundable`, HTTP 409 */
export class PaymentNotRefundableError extends ConflictError {}
/** `payment_request_not_cancellable`, HTTP 409 */
export class PaymentRequestNotCancellableError extends ConflictError {}
/** `payment_request_not_found`, HTTP 404 */
export class PaymentRequestNotFoundError extends NotFoundError {}
/** `payout_conflict`, HTTP 409 */
export class PayoutConflictError extends ConflictError {}
/** `payout_not_possible`, HTTP 409 */
export class PayoutNotPossibleError extends ConflictError {}
/** `per_payment_limit_exceeded`, HTTP 409 */
export class PerPaymentLimitExceededError extends ConflictError {}
/** `period_limit_exceeded`, HTTP 409 */
export class PeriodLimitExceededError extends ConflictError {}
/** `reference_conflict`, HTTP 409 */
export class ReferenceConflictError extends ConflictError {}
/** `refund_exceeds_payment`, HTTP 409 */
export class RefundExceedsPaymentError extends ConflictError {}
/** `request_too_large`, HTTP 400 */
export class RequestTooLargeError extends BadRequestError {}
/** `sandbox_recipient_not_allowed`, HTTP 400 */
export class SandboxRecipientNotAllowedError extends BadRequestError {}
/** `service_unavailable`, HTTP 503 */
export class ServiceUnavailableError extends ServerError {}
/** `total_limit_exceeded`, HTTP 409 */
export class TotalLimitExceededError extends ConflictError {}
/** `unsupported_api_version`, HTTP 400 */
export class UnsupportedApiVersionError extends BadRequestError {}
/** `wallet_limit_exceeded`, HTTP 422 */
export class WalletLimitExceededError extends APIError {}
/** `invalid_client`, HTTP 401 */
export class InvalidClientError extends UnauthorizedError {}
/** `invalid_scope`, HTTP 400 */
export class InvalidScopeError extends BadRequestError {}
/** `temporarily_unavailable`, HTTP 429 */
export class TemporarilyUnavailableError extends RateLimitedError {}
/** `unsupported_grant_type`, HTTP 400 */
export class UnsupportedGrantTypeError extends BadRequestError {}

const BY_CODE = new Map<string, typeof APIError>([
  ["authorization_expired", AuthorizationExpiredError],
  ["authorization_inactive", AuthorizationInactiveError],
  ["authorization_not_cancellable", AuthorizationNotCancellableError],
  ["authorization_not_found", AuthorizationNotFoundError],
  ["authorization_not_pending", AuthorizationNotPendingError],
  ["authorization_unapproved", AuthorizationUnapprovedError],
  ["authorization_unavailable", AuthorizationUnavailableError],
  ["currency_mismatch", CurrencyMismatchError],
  ["customer_not_found", CustomerNotFoundError],
  ["idempotency_conflict", IdempotencyConflictError],
  ["idempotency_in_progress", IdempotencyInProgressError],
  ["idempotency_unavailable", IdempotencyUnavailableError],
  ["insufficient_balance", InsufficientBalanceError],
  ["insufficient_merchant_balance", InsufficientMerchantBalanceError],
  ["insufficient_scope", InsufficientScopeError],
  ["internal_error", InternalError],
  ["invalid_idempotency_key", InvalidIdempotencyKeyError],
  ["invalid_json", InvalidJsonError],
  ["invalid_pagination", InvalidPaginationError],
  ["invalid_request", InvalidRequestError],
  ["method_not_allowed", MethodNotAllowedError],
  ["not_found", NotFoundError],
  ["payment_conflict", PaymentConflictError],
  ["payment_count_limit_exceeded", PaymentCountLimitExceededError],
  ["payment_in_progress", PaymentInProgressError],
  ["payment_not_cancellable", PaymentNotCancellableError],
  ["payment_not_refundable", PaymentNotRefundableError],
  ["payment_request_not_cancellable", PaymentRequestNotCancellableError],
  ["payment_request_not_found", PaymentRequestNotFoundError],
  ["payout_conflict", PayoutConflictError],
  ["payout_not_possible", PayoutNotPossibleError],
  ["per_payment_limit_exceeded", PerPaymentLimitExceededError],
  ["period_limit_exceeded", PeriodLimitExceededError],
  ["rate_limited", RateLimitedError],
  ["reference_conflict", ReferenceConflictError],
  ["refund_exceeds_payment", RefundExceedsPaymentError],
  ["request_too_large", RequestTooLargeError],
  ["sandbox_recipient_not_allowed", SandboxRecipientNotAllowedError],
  ["service_unavailable", ServiceUnavailableError],
  ["total_limit_exceeded", TotalLimitExceededError],
  ["unauthorized", UnauthorizedError],
  ["unsupported_api_version", UnsupportedApiVersionError],
  ["wallet_limit_exceeded", WalletLimitExceededError],
  ["invalid_client", InvalidClientError],
  ["invalid_scope", InvalidScopeError],
  ["server_error", ServerError],
  ["temporarily_unavailable", TemporarilyUnavailableError],
  ["unsupported_grant_type", UnsupportedGrantTypeError],
]);
const BY_STATUS = new Map<number, typeof APIError>([
  [400, BadRequestError],
  [401, UnauthorizedError],
  [403, ForbiddenError],
  [404, NotFoundError],
  [409, ConflictError],
  [429, RateLimitedError],
]);

/** The class of a code; of a code that is new, that of its status. */
export function errorClass(code: string, status: number): typeof APIError {
  const other = status >= 500 ? ServerError : (BY_STATUS.get(status) ?? APIError);
  return BY_CODE.get(code) ?? other;
}
