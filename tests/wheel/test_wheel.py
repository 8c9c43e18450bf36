"""The wheel as it is installed elsewhere: whole, and able to show each kind of page."""

import html
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

pytestmark = pytest.mark.ci

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src" / "laari"
PATIENCE_SECONDS = 60.0
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.egg-info")

_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
_ASSET = re.compile(r'(?:href|src)="(/(?:static|docs/assets)/[^"]+|docs/assets/[^"]+)"')


def run(*command: object, cwd: Path) -> str:
    """What a command prints; nothing of this checkout's own settings reaches it."""
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LAARI_", "PYTHON"))
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: `build/` of a checkout may hold files that are gone since."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, copy)
    shutil.copytree(PROJECT / "src", copy / "src", ignore=NOT_SHIPPED)
    # What a build in a checkout that has been used would come across.
    stale = copy / "src/laari/edge/__pycache__"
    stale.mkdir()
    (stale / "stale.cpython-311.pyc").write_bytes(b"")
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
        cwd=copy,
    )
    (built,) = (copy / "dist").glob("laari-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel, which borrows only the dependencies."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place / "venv", symlinks=True)
    programs = place / "venv" / "bin"
    pip = (sys.executable, "-m", "pip", "--python", programs / "python")
    run(*pip, "install", "-q", "--no-deps", "--no-index", wheel, cwd=place)
    (packages,) = (place / "venv").glob("lib/python*/site-packages")
    # A directory named in a .pth is searched, but its own .pth files, such as the one that leads
    # to this checkout, are not read.
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    return programs


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("laari/")}
    # The guides are a link to docs/guides, which `rglob` does not follow.
    files = [*SOURCE.rglob("*"), *(SOURCE / "edge/reference/docs/guides").iterdir()]
    ours = {
        f"laari/{path.relative_to(SOURCE)}"
        for path in files
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == ours
    assert "laari/edge/reference/docs/guides/quick-start.md" in shipped


def test_the_code_comes_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    where = run(installed / "python", "-c", "import laari; print(laari.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)


class Demo(NamedTuple):
    """What `laari serve --demo` has printed, and the command to go on with."""

    laari: Path
    directory: Path
    origin: str
    secret_key: str
    email: str
    password: str


@pytest.fixture(scope="module")
def demo(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    directory = tmp_path_factory.mktemp("elsewhere")
    laari = installed / "laari"
    output = directory / "serve.out"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [laari, "serve", "--demo", "--port", "0", "--workers", "1"],
            cwd=directory,
            env=environment(),
            stdout=file,
        )
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "Create a payment" not in (greeting := output.read_text()):
            assert process.poll() is None, "it ended"
            assert time.monotonic() < deadline, greeting
            time.sleep(0.05)
        told = r"ready at (\S+).*Secret key +(\S+).*Dashboard login +(\S+)  (\S+)"
        found = re.search(told, greeting, re.DOTALL)
        assert found, greeting
        yield Demo(laari, directory, *found.groups())
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def opened(browser: httpx.Client, path: str, contains: str) -> str:
    """A page that renders, and everything it loads."""
    response = browser.get(path)
    assert response.status_code == 200, f"{path}: {response.status_code} {response.text[:500]}"
    assert contains in response.text, path
    for asset in set(_ASSET.findall(response.text)):
        loaded = browser.get(html.unescape(asset))
        assert loaded.status_code == 200, asset
        assert loaded.content, asset
    return response.text


def log_in(browser: httpx.Client, path: str, identity: str, password: str) -> None:
    hidden = _HIDDEN.findall(opened(browser, path, 'type="password"'))
    form = {name: html.unescape(value) for name, value in hidden}
    form |= {"identity": identity, "password": password}
    response = browser.post(path, data=form, headers={"Sec-Fetch-Site": "same-origin"})
    assert response.status_code == 303, response.text


def created(demo: Demo, kind: str, **fields: object) -> dict[str, str]:
    body = {"reference": f"{kind}-1", "title": "Two coffees", **fields}
    key = {"X-API-Key": demo.secret_key}
    response = httpx.post(f"{demo.origin}/merchant/{kind}", json=body, headers=key)
    assert response.status_code == 201, response.text
    data: dict[str, str] = response.json()["data"]
    return data


def test_each_kind_of_page_opens(demo: Demo) -> None:
    payment = created(demo, "payments", amount=12550)
    authorization = created(demo, "authorizations")
    password = "three grey herons"
    run(
        demo.laari,
        "customer",
        "create",
        "Aisha",
        "--mobile",
        "7771234",
        "--mode",
        "sandbox",
        "--password",
        password,
        cwd=demo.directory,
    )
    with httpx.Client(base_url=demo.origin, timeout=PATIENCE_SECONDS) as browser:
        opened(browser, payment["payment_url"], "Two coffees")
        opened(browser, authorization["approval_url"], "Two coffees")
        assert browser.get(payment["qr_url"]).content.startswith(b"\x89PNG")
        opened(browser, "/docs", "<html")
        opened(browser, "/docs/guides", "Laari guides")
        opened(browser, "/docs/guides/checkout", "payment_url")
        assert browser.get("/openapi.json").json()["openapi"].startswith("3.1")
        assert browser.get("/readyz").status_code == 200
        assert browser.get("/pay/none").status_code == 404
        log_in(browser, "/app/login?mode=sandbox", "7771234", password)
        for path in ("/app", "/app/transactions", "/app/requests", "/app/authorizations"):
            opened(browser, path, "Aisha" if path == "/app" else "<main")
        for path in ("/app/keys", "/app/password"):
            opened(browser, path, "<main")
        log_in(browser, "/dashboard/login", demo.email, demo.password)
        home = str(browser.get("/dashboard", follow_redirects=True).url.path)
        opened(browser, home, "Demo Shop")
        for path in ("payments", "requests", "authorizations", "webhooks", "keys", "sandbox"):
            opened(browser, f"{home.rstrip('/')}/{path}", "<main")
