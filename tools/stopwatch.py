"""How long a developer waits: from a bare environment to two green tests of a shop.

Builds the wheels of laari and laari-client, installs them into a new virtual environment, and runs
the first example of docs/testing-your-shop.md there, with an empty cache and then with a warm one.
Exit status 1 where the example has more than ten lines, fails, or takes more than ten seconds.

    python tools/stopwatch.py            installs the dependencies with pip, as a developer does
    python tools/stopwatch.py --borrow   takes them from the environment that runs this
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/testing-your-shop.md"
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.egg-info")
MAX_LINES = 10
MAX_SECONDS = 10.0


class Run(NamedTuple):
    seconds: float
    processor_seconds: float  # of pytest and the sandbox, whatever else the machine does


def example() -> str:
    """The first example of the page."""
    found = re.search(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None, PAGE
    return found[1]


def lines_of(code: str) -> int:
    return len([line for line in code.splitlines() if line.strip()])


def build(target: Path) -> list[Path]:
    """The wheels of the client and of the service."""
    for number, source in enumerate((ROOT / "clients/python", ROOT)):
        # From a copy: `build/` of a checkout may hold files that are gone since.
        copy = target.with_name(f"source{number}")
        shutil.copytree(source / "src", copy / "src", ignore=NOT_SHIPPED)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(source / name, copy)
        _run(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-index",
            "--no-build-isolation",
            "-w",
            target,
            copy,
        )
    return sorted(target.glob("*.whl"))


def install(wheels: list[Path], place: Path, *, borrow: bool) -> Path:
    """The Python of a new environment with the wheels."""
    venv.create(place, symlinks=True, with_pip=not borrow)
    python = place / "bin/python"
    if not borrow:
        service = next(wheel for wheel in wheels if not wheel.name.startswith("laari_client"))
        found = ("--find-links", service.parent, "-c", ROOT / "constraints.txt")
        _run(python, "-m", "pip", "install", "-q", *found, f"{service}[testing]")
        return python
    pip = (sys.executable, "-m", "pip", "--python", python)
    _run(*pip, "install", "-q", "--no-deps", "--no-index", *wheels)
    (packages,) = place.glob("lib/python*/site-packages")
    # Python searches a directory named in a .pth but does not read that directory's .pth files,
    # one of which leads to this checkout.
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    return python


def run_tests(python: Path, folder: Path) -> Run:
    """The two tests, as a developer runs them in a new project."""
    (folder / "test_shop.py").write_text(example())
    began, used = time.monotonic(), _processor_seconds()
    output = _run(
        python,
        "-m",
        "pytest",
        "-q",
        "-W",
        "ignore",
        "-p",
        "no:cacheprovider",
        cwd=folder,
        XDG_CACHE_HOME=str(folder / "cache"),
    )
    assert "2 passed" in output, output
    return Run(time.monotonic() - began, _processor_seconds() - used)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    own = {n: v for n, v in os.environ.items() if not n.startswith(("LAARI_", "PYTHON", "PYTEST"))}
    ended = subprocess.run(  # noqa: S603  # our own programs
        [str(word) for word in command],
        cwd=cwd,
        env={**own, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--borrow", action="store_true", help="take the dependencies from here")
    borrow = parser.parse_args().borrow
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheels = build(place / "dist")
        began = time.monotonic()
        python = install(wheels, place / "venv", borrow=borrow)
        print(f"installed in {time.monotonic() - began:.1f} s")
        (place / "shop").mkdir()
        runs = [run_tests(python, place / "shop") for _ in range(2)]
    print(f"two tests in {lines_of(example())} lines")
    for name, run in zip(("empty cache", "warm cache"), runs, strict=True):
        print(
            f"{name}: green after {run.seconds:.1f} s ({run.processor_seconds:.1f} s of processor)"
        )
    if lines_of(example()) > MAX_LINES or max(run.seconds for run in runs) > MAX_SECONDS:
        raise SystemExit(f"more than {MAX_LINES} lines or {MAX_SECONDS:.0f} s")


if __name__ == "__main__":
    main()
