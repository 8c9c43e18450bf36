"""Logs on standard error: one JSON object per line, or plain text on a terminal.

An exception's text is left out unless it is Laari's or the system's: a database quotes rows.
"""

import logging
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import TypeAlias

import msgspec

from laari.errors import LaariError
from laari.visible import visible, visible_json

ExceptionInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)

_TEXT = "%(asctime)s %(levelname)s %(name)s[%(process)d] %(message)s"


def configure_logs() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(TextLine(_TEXT) if sys.stderr.isatty() else JsonLine())
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class TextLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        stack: list[str] = getattr(record, "stack", [])
        return "\n".join([super().format(record), *(f"  {visible(line)}" for line in stack)])

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return visible(super().formatMessage(record))

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802
        return "\n".join(f"  {visible(line)}" for line in _described(ei[1]))


class JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        for name in ("request_id", "stack"):
            if value := getattr(record, name, None):
                line[name] = value
        if record.exc_info and record.exc_info[1]:
            line["error"] = list(_described(record.exc_info[1]))
        return visible_json(msgspec.json.encode(line))


def _described(error: BaseException | None) -> Iterator[str]:
    seen: set[int] = set()  # an exception may be its own cause
    link = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        state = getattr(link, "sqlstate", None)
        text = f": {link}" if isinstance(link, LaariError | OSError) else ""
        yield f"{type(link).__name__}{f' {state}' if state else ''}{text}"
        for frame in traceback.extract_tb(link.__traceback__):
            yield f"at {frame.filename}:{frame.lineno} in {frame.name}"
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
