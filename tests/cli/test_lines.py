"""Lines on a terminal: coloured, not wider than it, and safe whatever they quote."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest
from rich.cells import cell_len

from tests.cli.test_terminal import HOSTILE, unseen

COLUMNS = 80
LINES = f"""
from laari.cli.terminal.output import Part, complain, say_line, say_meanwhile, say_wrapped
say_meanwhile("waiting for " + {HOSTILE!r} * 3)
say_line(Part("ok", "green"), Part("  short"))
say_line(Part("FAIL", "red"), Part({HOSTILE!r} * 3, "red"), Part("pay_never-seen", whole=True))
say_line(Part("漢字" * 30), Part("x"))
say_line(Part("payment.paid"), Part("  " + "i" * 70, whole=True), Part("y", whole=True))
say_line(Part("z" * {COLUMNS}))
say_wrapped("why " * 40, 10)
"""
_STYLE = re.compile(r"\x1b\[(\d*)m")
_CLEAR = "\x1b[2K"


def on_a_terminal(program: str, **environ: str) -> str:
    """What a program writes to a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    usual = {each: os.environ[each] for each in os.environ.keys() - {"NO_COLOR", "COLUMNS"}}
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=theirs,
        stderr=theirs,
        env={**usual, "TERM": "xterm", **environ},
    )
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65536):
            written += chunk
    except OSError:  # Linux says so that the other end is closed
        pass
    os.close(ours)
    assert process.wait(60) == 0, written
    return written.decode().replace("\r\n", "\n")


def test_lines_are_coloured_and_fit() -> None:
    written = on_a_terminal(LINES)
    assert "\x1b[32mok" in written
    assert "\x1b[31mFAIL" in written
    waiting, _, lines = written.partition(f"\r{_CLEAR}")  # it goes when the first line comes
    assert cell_len(waiting) == COLUMNS - 1
    shown = _STYLE.sub("", lines).splitlines()
    assert all(cell_len(line) <= COLUMNS for line in shown), shown
    assert unseen("".join(shown)) == set()
    assert shown[1].startswith("FAIL\\x1b]52")
    assert shown[1].endswith("…")
    assert shown[2].endswith("…")
    assert shown[3] == "payment.paid"  # half an id is of no use
    assert shown[4] == "z" * COLUMNS
    assert len(shown) == 5 + 3  # the explanation has three lines


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_declined(environ: dict[str, str]) -> None:
    written = on_a_terminal(LINES, **environ)
    assert _STYLE.search(written) is None
    assert (_CLEAR in written) == ("TERM" not in environ)


def test_without_a_terminal_lines_are_whole_and_plain() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LINES], capture_output=True, text=True, check=True, timeout=60
    )
    assert unseen(ended.stdout) == set()
    assert "waiting" not in ended.stdout
    assert "pay_never-seen" in ended.stdout
    assert "漢字" * 30 + "x" in ended.stdout
