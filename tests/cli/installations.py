"""Installations with an embedded database, for tests of commands that work on its files."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from laari.cli.main import run


class Answer(NamedTuple):
    status: int
    out: str
    error: str

    @property
    def json(self) -> Any:
        assert self.status == 0, self.error
        return json.loads(self.out)

    @property
    def refusal(self) -> str:
        """The one line that says what is wrong."""
        assert self.status == 1, self.out
        assert self.out == ""
        assert self.error.startswith("laari: ")
        assert self.error.count("\n") == 1
        return self.error.removeprefix("laari: ").rstrip("\n")


class Commands:
    """Runs commands in this process, which is quicker than in one of their own."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, data_dir: Path | None, *arguments: object, **settings: str) -> Answer:
        own = {} if data_dir is None else {"LAARI_DATA_DIR": str(data_dir)}
        self._capsys.readouterr()
        with environment({**own, **settings}):
            status = run([str(argument) for argument in arguments])
        return Answer(status, *self._capsys.readouterr())


@contextmanager
def environment(settings: dict[str, str]) -> Iterator[None]:
    """The environment with these settings of Laari and no other."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("LAARI_")]:
        del os.environ[name]
    os.environ.update(settings)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
