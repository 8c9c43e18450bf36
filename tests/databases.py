"""Databases that are ready before a test asks for one: made and dropped beside the tests."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

from tests.serving import Database

AHEAD = 2  # a test without a service is as quick as a copy

_numbers = count(1)


def new_name(name: str) -> str:
    """The name of a new database: a fixture of a module may be made more than once."""
    return f"{name}_{next(_numbers)}"


class Copies:
    """Copies of one database, each for one test."""

    def __init__(self, maintenance: Database, template: str) -> None:
        self._maintenance = maintenance
        self._template = template
        self._worker = ThreadPoolExecutor(1, "databases")
        self._coming: deque[Future[str]] = deque()
        self._going: list[Future[None]] = []

    @contextmanager
    def one(self) -> Iterator[str]:
        """The name of a copy that nobody else has, until the block ends."""
        while len(self._coming) <= AHEAD:
            self._coming.append(self._worker.submit(self._make))
        name = self._coming.popleft().result()
        try:
            yield name
        finally:
            self._going.append(self._worker.submit(self._drop, name))

    def close(self) -> None:
        """The copies that nobody took go with the server."""
        for coming in self._coming:
            coming.cancel()
        self._worker.shutdown()
        for going in self._going:
            going.result()

    def _make(self) -> str:
        name = new_name(self._template)
        self._execute(f"CREATE DATABASE {name} TEMPLATE {self._template} STRATEGY FILE_COPY")
        return name

    def _drop(self, name: str) -> None:
        self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        self._maintenance.run(lambda connection: connection.execute(statement))


@contextmanager
def copies_of(template: str, dsn: str) -> Iterator[Copies]:
    """`dsn` is another database of the same server: nobody may be connected to the template."""
    maintenance = Database(dsn)
    copies = Copies(maintenance, template)
    try:
        yield copies
    finally:
        copies.close()
        maintenance.close()
