"""The answer to a webhook, without aiohttp: a process that sends nothing does not import it."""

from typing import NamedTuple

from laari.rules.webhooks import is_acknowledged

TIMEOUT_SECONDS = 15.0  # in all: look-up, connection, TLS, request and answer


class Answer(NamedTuple):
    """The receiver's answer, or an error if there was none; merchants see both."""

    started_at: float  # Unix time
    duration_ms: int
    status: int | None
    error: str | None
    text: str | None  # the first KiB

    @property
    def acknowledged(self) -> bool:
        return self.status is not None and is_acknowledged(self.status)

    def described(self, url: str) -> dict[str, object]:
        return {
            "url": url,
            "acknowledged": self.acknowledged,
            "http_status": self.status,
            "duration_ms": self.duration_ms,
            "error": self.error,
            "answer": self.text,
        }
