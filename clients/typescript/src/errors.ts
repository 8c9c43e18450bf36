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

/** The service's own refusal. Statuses such as 402, 405 and 422 have no class of their own. */
export class APIError extends LaariError {}

/** 400: the request has to change. */
export class BadRequestError extends APIError {}
/** 401: the credentials are missing, wrong or expired. */
export class UnauthorizedError extends APIError {}
/** 403: the credentials do not allow it. */
export class ForbiddenError extends APIError {}
/** 404: there is no such resource for this merchant and mode. */
export class NotFoundError extends APIError {}
/** 409: the current state does not allow it. */
export class ConflictError extends APIError {}
/** 429: too many requests. */
export class RateLimitedError extends APIError {}
/** 5xx: the service failed; unless the code says otherwise, the outcome is unknown. */
export class ServerError extends APIError {}
