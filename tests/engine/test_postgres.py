"""Programs of PostgreSQL that are run for us end with us."""

import signal
import subprocess
from typing import Any

import pytest

from laari.engine import programs


def test_a_program_that_was_just_started_is_ended_by_an_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The signal comes when the program runs and whoever started it has not heard of that yet."""
    started: list[subprocess.Popen[str]] = []

    class Interrupted(subprocess.Popen[str]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(programs, "program", lambda name: name)
    monkeypatch.setattr(programs.subprocess, "Popen", Interrupted)
    # Tests that a shell has started in the background ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        programs.watch("sleep", "60")
    try:
        assert started[0].poll() == -signal.SIGTERM
    finally:
        started[0].kill()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
