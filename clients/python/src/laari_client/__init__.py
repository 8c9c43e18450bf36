"""Client of the Laari merchant payments and wallet service."""

from laari_client import errors, models, params
from laari_client._client import AsyncLaari, Laari
from laari_client._listing import AsyncListing, Listing, Page
from laari_client._transport import __version__
from laari_client._webhooks import verify_webhook
from laari_client.errors import (
    APIError,
    ConfigurationError,
    ConnectionFailedError,
    InvalidResponseError,
    LaariError,
    RequestTimeoutError,
    WebhookVerificationError,
)

__all__ = [
    "APIError",
    "AsyncLaari",
    "AsyncListing",
    "ConfigurationError",
    "ConnectionFailedError",
    "InvalidResponseError",
    "Laari",
    "LaariError",
    "Listing",
    "Page",
    "RequestTimeoutError",
    "WebhookVerificationError",
    "__version__",
    "errors",
    "models",
    "params",
    "verify_webhook",
]
