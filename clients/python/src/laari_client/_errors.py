"""What every error has in common; the classes of single codes are generated beside it."""

from __future__ import annotations

from typing import Optional


class LaariError(Exception):
    """Something went wrong. `code` says what; branch on it or on the class, never on the text.

    `status` is the HTTP status if there was a response, `request_id` names the request in the
    service's logs, `field` is the field or parameter that an answer complained about, and
    `retry_after` the seconds to wait that it asked for.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "client_error",
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        field: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.request_id = request_id
        self.field = field
        self.retry_after = retry_after

    def __str__(self) -> str:
        details = [self.code]
        if self.status is not None:
            details.append(f"HTTP {self.status}")
        if self.field is not None:
            details.append(f"field {self.field}")
        if self.request_id is not None:
            details.append(f"request {self.request_id}")
        return f"{self.message} ({', '.join(details)})"


class ConfigurationError(LaariError, ValueError):
    """The client was made or called in a way that cannot work; nothing was sent."""


class ConnectionFailedError(LaariError):
    """No answer: the service could not be reached (`connection_failed`), or the connection broke.

    With `connection_lost` the request may have been carried out.
    """


class RequestTimeoutError(ConnectionFailedError):
    """No answer in time; the request may have been carried out."""


class InvalidResponseError(LaariError):
    """An answer that is not the service's, such as a redirect or a page of a proxy."""


class WebhookVerificationError(LaariError):
    """A webhook that is not signed by the service, or not now. Answer it with 401."""


class APIError(LaariError):
    """The service's own refusal. Statuses such as 402, 405 and 422 have no class of their own."""


class BadRequestError(APIError):
    """400: the request has to change."""


class UnauthorizedError(APIError):
    """401: the credentials are missing, wrong or expired."""


class ForbiddenError(APIError):
    """403: the credentials do not allow it."""


class NotFoundError(APIError):
    """404: there is no such resource for this merchant and mode."""


class ConflictError(APIError):
    """409: the current state does not allow it."""


class RateLimitedError(APIError):
    """429: too many requests."""


class ServerError(APIError):
    """5xx: the service failed; unless the code says otherwise, the outcome is unknown."""
