"""Ends this process, or cuts its connection, before or after one call to the database.

LAARI_TEST_POINTS names a file. While it is there, the statements of all calls are written to
`FILE.calls`. At the first call with the statement that the file names it happens, and the file is
removed:

    {"statement": "COMMIT", "what": "exit", "when": "before"}

`what` is `exit`, or `cut`: the connection is lost and the process lives.
"""

import asyncio
import functools
import json
import os
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

EXITED = 70
ANSWER_SECONDS = 0.03  # for an answer that is under way to leave
METHODS = {
    asyncpg.Connection: ("execute", "executemany", "fetch", "fetchrow", "fetchval"),
    PreparedStatement: ("executemany", "fetch", "fetchrow", "fetchval"),
}

_points = Path(os.environ["LAARI_TEST_POINTS"])
_calls = Path(f"{_points}.calls")
_inside: ContextVar[bool] = ContextVar("inside", default=False)  # the driver calls itself, too


def watch() -> None:
    for owner, names in METHODS.items():
        for name in names:
            setattr(owner, name, _watched(getattr(owner, name)))


def _next_point(statement: str) -> dict[str, Any] | None:
    """What is to happen at this call, if anything."""
    try:
        point = json.loads(_points.read_text())
    except FileNotFoundError:
        return None
    asked = " ".join(statement.split())
    with _calls.open("a") as file:
        file.write(f"{asked}\n")
    if point["statement"] != asked:
        return None
    _points.unlink()
    return dict(point)


def _watched(original: Any) -> Any:
    @functools.wraps(original)
    async def call(self: Any, *args: Any, **options: Any) -> Any:
        if _inside.get():
            return await original(self, *args, **options)
        point = _next_point(getattr(self, "_query", None) or str(args[0]))
        if point is not None and point["when"] == "before":
            # Whoever is answered before the work is done hears of it, and believes it.
            await asyncio.sleep(ANSWER_SECONDS)
            _end(self, point["what"])
        token = _inside.set(True)
        try:
            done = await original(self, *args, **options)
        finally:
            _inside.reset(token)
        if point is not None:
            _end(self, point["what"])
        return done

    return call


def _end(connection: Any, what: str) -> None:
    if what == "exit":
        os._exit(EXITED)
    getattr(connection, "_connection", connection).terminate()
    raise asyncpg.ConnectionDoesNotExistError("cut on purpose")
