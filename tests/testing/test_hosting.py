"""The sandbox's process: it starts from any cache, and nothing of it stays behind."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from laari.testing import SandboxError
from laari.testing.host import MASTER_KEY
from laari.testing.hosting import running_sandbox
from laari.testing.sandbox import Sandbox
from laari.testing.templates import template_key

pytestmark = pytest.mark.ci

PATIENCE_SECONDS = 60.0

HOLD = """
import sys
from laari.testing.hosting import running_sandbox
with running_sandbox() as sandbox:
    print(sandbox.url, flush=True)
    sys.stdin.readline()
"""


def until(condition: object, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def hold() -> subprocess.Popen[bytes]:
    """A process that has a sandbox, such as pytest."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline().startswith(b"http://127.0.0.1:")
    return holder


def family(holder: subprocess.Popen[bytes]) -> tuple[psutil.Process, Path, psutil.Process]:
    """The host below it, its directory, and the database's main process."""
    (host,) = psutil.Process(holder.pid).children()
    for postgres in psutil.process_iter():
        try:
            directory = Path(postgres.cwd()).parent
            parents = [each.name() for each in postgres.parents()]
            if postgres.name() != "postgres" or "postgres" in parents:
                continue
            if any(each.path.startswith(str(directory)) for each in host.open_files()):
                return host, directory, postgres
        except (psutil.Error, OSError):
            continue
    raise AssertionError("no database of this sandbox runs")


def test_nothing_stays_where_pytest_is_killed(laari_sandbox: Sandbox) -> None:
    holder = hold()
    host, directory, postgres = family(holder)
    # Warm, because another sandbox runs. Seconds of the processor: they do not depend on what
    # else this machine does.
    used = host.cpu_times()
    assert used.user + used.system < 3.0
    assert os.getpgid(host.pid) != os.getpgid(holder.pid)
    host.send_signal(signal.SIGINT)  # Ctrl-C is for pytest alone
    time.sleep(0.2)
    assert host.is_running()
    holder.kill()
    holder.wait(PATIENCE_SECONDS)
    until(lambda: not host.is_running(), "the host goes on")
    until(lambda: not postgres.is_running(), "the database goes on")
    assert not directory.exists()


def test_nothing_stays_where_the_host_is_killed() -> None:
    holder = hold()
    host, directory, postgres = family(holder)
    host.kill()
    holder.communicate(b"\n", PATIENCE_SECONDS)
    until(lambda: not postgres.is_running(), "the database goes on")
    assert not directory.exists()


def test_two_sessions_at_once_on_an_empty_cache_and_then_a_broken_one(tmp_path: Path) -> None:
    cache, key = tmp_path / "cache", template_key(MASTER_KEY)

    def session(_: int = 0) -> str:
        with running_sandbox(cache=cache) as sandbox:
            return sandbox.merchant().id

    with ThreadPoolExecutor(2) as both:
        first, second = both.map(session, range(2))
    assert first != second
    assert [path.name for path in cache.iterdir()] == [key]
    control = cache / key / "postgres/global/pg_control"
    damaged = b"\0" * len(control.read_bytes())
    control.write_bytes(damaged)
    session()
    assert control.read_bytes() != damaged


def test_settings_are_the_tests_own_and_no_cache_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAARI_PUBLIC_URL", "https://pay.example.com")
    monkeypatch.setenv("LAARI_SANDBOX_SIGNUP", "off")
    (tmp_path / "file").write_text("")
    nowhere = tmp_path / "file" / "cache"
    with running_sandbox({"LAARI_SANDBOX_VPA": "try"}, cache=nowhere) as sandbox:
        merchant = sandbox.merchant()
        assert merchant.customer.vpa == "try"
        payment = merchant.client.payments.create(reference="r", amount=100)
        assert payment.payment_url.startswith(sandbox.url)
        assert httpx.get(payment.payment_url).status_code == 200


def test_a_setting_that_is_wrong_is_told() -> None:
    with (
        pytest.raises(SandboxError, match="LAARI_MAX_BATCH must be a whole number"),
        running_sandbox({"LAARI_MAX_BATCH": "many"}),
    ):
        pass
