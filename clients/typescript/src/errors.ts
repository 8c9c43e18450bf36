// What every error has in common; the classes of single codes are generated.

export interface ErrorDetails {
  code?: string;
  status?: number | undefined;
  requestId?: string | undefined;
  field?: string | undefined;
  retryAfter?: number | undefined;
}

/**
 * Something went wrong. `code` says what; branch on it or on the class, never on the text.
 * `requestId` names the request in the service's logs, `retryAfter` is in seconds.
 */
export class LaariError extends Error {
  readonly code: string;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly field: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message);
    this.name = new.target.name;
    this.code = details.code ?? "client_error";
    this.status = details.status;
    this.requestId = details.requestId;
    this.field = details.field;
    this.retryAfter = details.retryAfter;
  }
}

/** The client was made or called in a way that cannot work; nothing was sent. */
export class ConfigurationError extends LaariError {}

/**
 * No answer: the service could not be reached (`connection_failed`), or the connection broke
 * (`connection_lost`) and the request may have been carried out.
 */
export class ConnectionFailedError extends LaariError {}

/** No answer in time; the request may have been carried out. */
export class RequestTimeoutError extends ConnectionFailedError {}

/** An answer that is not the service's, such as a redirect or a page of a proxy. */
export class InvalidResponseError extends LaariError {}

/** A webhook that is not signed by the service, or not now. Answer it with 401. */
export class WebhookVerificationError extends LaariError {}

/** The service's own refusal. */
export class APIError extends LaariError {}

export class BadRequestError extends APIError {}
export class UnauthorizedError extends APIError {}
export class ForbiddenError extends APIError {}
export class NotFoundError extends APIError {}
export class ConflictError extends APIError {}
export class RateLimitedError extends APIError {}
export class ServerError extends APIError {}
