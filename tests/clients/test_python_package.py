"""laari-client as it is installed elsewhere: its wheel, without the service, on other Pythons."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.serving import Merchant

pytestmark = pytest.mark.ci

PROJECT = Path(__file__).parents[2] / "clients/python"
SOURCE = PROJECT / "src/laari_client"
# Everything httpx needs, and nothing else of what is installed for development.
DEPENDENCIES = ["anyio", "certifi", "h11", "httpcore", "httpx", "idna", "sniffio"]
OLDEST = (3, 9)


def run(*command: object, **environ: str) -> str:
    ended = subprocess.run(
        [str(word) for word in command],
        env={
            **{name: each for name, each in os.environ.items() if not name.startswith("PYTHON")},
            **environ,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("source") / "python"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "-w",
        copy / "dist",
        copy,
    )
    (built,) = (copy / "dist").glob("laari_client-*.whl")
    return built


def test_the_wheel_is_whole_and_asks_for_httpx_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("laari_client/")}
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        told = archive.read(metadata).decode()
    # `cli/_shared` is a link to the service's folder, which `rglob` does not follow.
    files = [*SOURCE.rglob("*"), *(SOURCE / "cli/_shared").iterdir()]
    assert shipped == {
        f"laari_client/{path.relative_to(SOURCE)}"
        for path in files
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"laari_client/py.typed", "laari_client/cli/_shared/listen.py"} <= shipped
    assert re.findall(r"^Requires-Dist: (.*)$", told, re.M) == [
        "httpx<1,>=0.24",
        'click<9,>=8.1; extra == "cli"',
    ]
    assert "Requires-Python: >=3.9" in told


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel, httpx and what that needs."""
    place = tmp_path_factory.mktemp("bare")
    venv.create(place / "venv", symlinks=True)
    python = place / "venv/bin/python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "-q", "--no-deps", "--no-index", wheel)
    (packages,) = (place / "venv").glob("lib/python*/site-packages")
    here = Path(sysconfig.get_path("purelib"))
    for name in DEPENDENCIES:
        if (here / name).is_dir():
            shutil.copytree(here / name, packages / name)
    for single in ("typing_extensions.py", "sniffio.py"):
        if (here / single).is_file():
            shutil.copy(here / single, packages)
    return python


def test_it_works_without_the_service_installed(bare: Path, shop: Merchant) -> None:
    script = (
        "import importlib.util, os, laari_client\n"
        "assert importlib.util.find_spec('laari') is None\n"
        "given = os.environ['LAARI_URL'], os.environ['LAARI_SECRET_KEY']\n"
        "with laari_client.Laari(*given) as client:\n"
        "    print(client.payments.create(reference='p', amount=100).status)\n"
    )
    given = {"LAARI_URL": shop.service.origin, "LAARI_SECRET_KEY": shop.secret_key}
    assert run(bare, "-I", "-c", script, **given) == "pending\n"


def test_its_program_names_the_extra_and_works_with_it(bare: Path, shop: Merchant) -> None:
    program = bare.with_name("laari-client")
    given = {"LAARI_URL": shop.service.origin, "LAARI_SECRET_KEY": shop.secret_key}
    ended = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "laari-client[cli]" in ended.stderr) == (1, True)
    (packages,) = bare.parents[1].glob("lib/python*/site-packages")
    shutil.copytree(Path(sysconfig.get_path("purelib")) / "click", packages / "click")
    assert run(program, "--version").startswith("laari-client ")
    assert "payment.paid  pay_" in run(program, "trigger", "payment.paid", **given)


def pythons() -> list[str]:
    """Every Python from 3.9 on that this machine has, and this one in any case."""
    found: dict[str, str] = {}
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [*os.environ["PATH"].split(":"), *(str(each / "bin") for each in managed.glob("3.*"))]
    for minor in range(OLDEST[1], 16):
        for place in places:
            program = Path(place) / f"python3.{minor}"
            if program.is_file() and "shims" not in place:
                found.setdefault(f"3.{minor}", str(program))
    found[f"3.{sys.version_info[1]}"] = sys.executable
    return sorted(found.values())


# Loads every module, and evaluates every annotation of what users see.
LOAD = """
import importlib, inspect, pkgutil, sys, types, typing

class Fake(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {"__init__": lambda self, *_, **__: None})

if "--no-httpx" in sys.argv:
    sys.modules["httpx"] = Fake("httpx")
import laari_client
import laari_client.cli._shared as shared

for package in (laari_client, shared):
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(package.__name__ + "." + module.name)
for name in laari_client.models.__all__:
    each = getattr(laari_client.models, name)
    if inspect.isclass(each):
        assert typing.get_type_hints(each)
client = laari_client.Laari("https://pay.example", "sk_1")
print(client)
"""


@pytest.mark.parametrize("python", pythons())
def test_it_loads_on_every_python_there_is(python: str) -> None:
    """httpx need not be installed there: it stays away, the rest is loaded."""
    source = {"PYTHONPATH": str(SOURCE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    assert "pay.example" in run(python, "-S", "-c", LOAD, "--no-httpx", **source)
