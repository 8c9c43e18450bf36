"""SMS by the operator's program: what it is given, and what its end means."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from laari.workers.messages import sms
from laari.workers.messages.delivery import NotSent
from laari.workers.messages.texts import write
from tests.messages.outbox import leased

NUMBER = "+9607771234"


def program(source: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import os, sys, time, subprocess\n{source}")


async def run(source: str, seconds: float = 20) -> None:
    await sms.send(program(source), leased(recipient=NUMBER), seconds)


async def failure(source: str, seconds: float = 20) -> str:
    with pytest.raises(NotSent) as refused:
        await run(source, seconds)
    assert not refused.value.permanent
    return str(refused.value)


async def test_the_program_gets_the_number_and_the_text(tmp_path: Path) -> None:
    file = tmp_path / "sent"
    message = leased(recipient=NUMBER, language="dv")
    command = program(
        f"open({str(file)!r}, 'w', encoding='utf-8').write("
        "repr(sys.argv[1:]) + '\\n' + sys.stdin.buffer.read().decode())"
    )
    await sms.send((*command, "--from", "Laari; rm -rf $HOME"), message)
    arguments, _, text = file.read_text(encoding="utf-8").partition("\n")
    assert arguments == repr(["--from", "Laari; rm -rf $HOME", NUMBER])
    assert text == write(message, "sms")


async def test_a_program_that_does_not_read_its_input_may_succeed() -> None:
    await run("sys.stdin.close()")


async def test_another_status_is_a_failure_with_the_last_line_of_its_errors() -> None:
    source = "sys.stderr.write('x' * 100_000 + '\\nfirst\\ngateway says no\\n'); sys.exit(3)"
    assert await failure(source) == "gateway says no"
    assert await failure("sys.exit(3)") == "the SMS command ended with status 3"
    assert len(await failure("sys.stderr.write('x' * 100_000); sys.exit(1)")) <= sms.MOST_READ


async def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    began = time.monotonic()
    said = await failure(
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)",
        seconds=3,
    )
    assert said == "the SMS command did not end within 3 s"
    assert time.monotonic() - began < 30
    own, child = map(int, pids.read_text().split())
    with pytest.raises(ProcessLookupError):
        os.kill(own, 0)
    deadline = time.monotonic() + 10
    while is_running(child):  # a killed process ends when it next gets a processor
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_program_may_leave_another_one_running() -> None:
    began = time.monotonic()
    await run("subprocess.Popen(['sleep', '20'])")
    assert time.monotonic() - began < 15


async def test_a_program_that_does_not_exist() -> None:
    with pytest.raises(NotSent, match=r"cannot be run: No such file"):
        await sms.send(("/no/such/program",), leased(recipient=NUMBER))


async def test_the_program_does_not_get_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAARI_MASTER_KEY", "secret")
    await run("sys.exit(any(name.startswith('LAARI_') for name in os.environ))")
