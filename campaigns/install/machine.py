"""An empty Debian machine in a directory, and programs run on it in namespaces of their own.

Its network has only a loopback interface.
"""

import shutil
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "install"
PATIENCE_SECONDS = 900

_ENTER = """
set -eu
ip link set lo up
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
mount -t proc proc "$1/proc"
mount -t tmpfs dev "$1/dev"
for each in null zero random urandom full; do
  touch "$1/dev/$each"
  mount --bind "/dev/$each" "$1/dev/$each"
done
ln -s /proc/self/fd "$1/dev/fd"
mkdir "$1/dev/shm"
mount -t tmpfs -o size=64m shm "$1/dev/shm"
"""


def missing_tools() -> list[str]:
    tools = ["debootstrap", "buildah", "unshare", "ip", "systemd-analyze", "docker-compose"]
    path = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin"
    return [tool for tool in tools if shutil.which(tool, path=path) is None]


def debian(*packages: str) -> Path:
    """A fresh Debian with these packages, made once and kept."""
    name = "-".join(["debian", *packages])
    place = PLACE / name
    if not place.exists():
        partial = PLACE / f"{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        uris = command("apt-get", "indextargets", "--format", "$(REPO_URI)").split()
        suite = command("sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME").strip()
        # With the mirror that this machine itself installs from.
        command(
            "debootstrap", "--variant=minbase", f"--include={','.join(packages)}",
            suite, str(partial), next(uri for uri in uris if "security" not in uri),
        )  # fmt: skip
        for waste in (
            "var/cache/apt",
            "var/lib/apt/lists",
            "usr/share/doc",
            "usr/share/man",
            "usr/share/locale",
        ):
            shutil.rmtree(partial / waste, ignore_errors=True)
            (partial / waste).mkdir()
        partial.rename(place)
    return place


def wheels() -> Path:
    """The packages that Laari needs, in the tested versions, for pip without an index."""
    place = PLACE / "wheels"
    if not place.exists():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        partial = PLACE / "wheels.partial"
        command(
            str(ROOT / ".venv/bin/pip"), "download", "-q", "-c", str(ROOT / "constraints.txt"),
            "-d", str(partial), *project["dependencies"], "setuptools>=77", "pip",
        )  # fmt: skip
        partial.rename(place)
    return place


def inside(root: Path, script: str, **environment: str) -> str:
    """Runs a shell script in its own mount, process and network namespaces, with the root at `$1`.

    When the script ends, everything that it started ends with it.
    """
    return command(
        "unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc",
        "bash", "-c", _ENTER + script, "inside", str(root), environment=environment,
    )  # fmt: skip


def command(*words: str, environment: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    path = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    ended = subprocess.run(
        words,
        cwd=cwd,
        env={"PATH": path, "HOME": "/root", **(environment or {})},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, (
        f"{' '.join(words)[:200]}\n{ended.stdout[-6000:]}\n{ended.stderr[-6000:]}"
    )
    return ended.stdout
