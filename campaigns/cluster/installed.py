"""The programs of the cluster: where they are, or why the campaign cannot run."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from laari.engine.programs import program

HERE = Path(__file__).parent
# Patroni's dependencies are its own affair: it lives in an environment beside the project's.
PATRONI_HOME = HERE.parents[1] / "build" / "patroni"
_PROGRAMS = {"etcd": "etcd-server", "haproxy": "haproxy", "ip": "iproute2", "unshare": "util-linux"}
INSTALL_SECONDS = 600


def obstacle() -> str | None:
    """Why the cluster cannot be built on this machine; None where it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need Linux and root"
    for name, package in _PROGRAMS.items():
        if shutil.which(name) is None:
            return f"{name} is not installed (Debian: {package})"
    return _install_patroni()


def postgres_programs() -> Path:
    """Of the wheel that Laari brings, or of the installation that is to be tried instead."""
    chosen = os.environ.get("LAARI_FAULTS_POSTGRES")
    return Path(chosen) if chosen else Path(program("postgres")).parent


def patroni() -> str:
    return str(PATRONI_HOME / "bin" / "patroni")


def _install_patroni() -> str | None:
    wanted = HERE / "requirements.txt"
    installed = PATRONI_HOME / "installed.txt"
    if installed.is_file() and installed.read_text() == wanted.read_text():
        return None
    print("Installing Patroni into build/patroni.", flush=True)
    venv.create(PATRONI_HOME, with_pip=True, clear=True)
    pip = [str(PATRONI_HOME / "bin" / "python"), "-m", "pip", "-qq", "--no-input"]
    try:
        subprocess.run(
            [*pip, "install", "--no-deps", "-r", str(wanted)],
            check=True,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
        return f"Patroni cannot be installed: {last}"
    installed.write_text(wanted.read_text())
    return None
