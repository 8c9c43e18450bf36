"""The reference as others' tools see it: generated clients, and Lighthouse.

Each client that a generator makes of /openapi.json makes a round trip with the largest amount.

The tools are installed under build/clients, in the versions named here. What cannot be
installed is skipped, and says what was missing.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.serving import Service, serving

PYTHON_GENERATOR = "openapi-python-client==0.26.2"
GENERATOR = "openapi-generator-cli==7.14.0"  # the Java program, packed for pip
NODE_PACKAGES = (
    "openapi-typescript@7.13.0",
    "openapi-fetch@0.17.0",
    "typescript@5.9.3",
    "@types/node@20.19.25",
)
LIGHTHOUSE = "lighthouse@12.8.2"
GO_LIBRARIES = Path("/usr/share/gocode")  # Debian's; the modules' own host is not asked

TOOLS = Path(__file__).parents[1] / "build/clients"
SCRIPTS = Path(__file__).parent / "clients"

pytestmark = pytest.mark.campaign


@pytest.fixture(scope="module")
def service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(engine.migrated("clients"), tmp_path_factory.mktemp("clients")) as service:
        yield service


@pytest.fixture
def document(service: Service, tmp_path: Path) -> Path:
    file = tmp_path / "openapi.json"
    file.write_bytes(httpx.get(f"{service.origin}/openapi.json").content)
    return file


def run(*command: str | Path, cwd: Path, **environ: str) -> str:
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ended.returncode == 0, f"{command}:\n{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}"
    return ended.stdout


def needed(*commands: str) -> None:
    missing = [command for command in commands if shutil.which(command) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def installed(name: str, wanted: str, *commands: list[str | Path]) -> Path:
    """The directory where the tools of this name are, installed where they are not yet."""
    place = TOOLS / name
    mark = place / ".installed"
    if mark.exists() and mark.read_text() == wanted:
        return place
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for command in commands:
        ended = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if ended.returncode:
            why = (ended.stderr or ended.stdout).strip().splitlines()[-1:]
            pytest.skip(f"{wanted} could not be installed: {' '.join(why)}")
    mark.write_text(wanted)
    return place


def python_tools() -> Path:
    wanted = f"{PYTHON_GENERATOR} {GENERATOR}"
    return installed(
        "python",
        wanted,
        [sys.executable, "-m", "venv", "."],
        ["bin/pip", "install", "--quiet", *wanted.split()],
    )


def test_openapi_python_client(service: Service, document: Path, tmp_path: Path) -> None:
    tools = python_tools()
    made = run(
        tools / "bin/openapi-python-client",
        "generate",
        "--path",
        document,
        "--output-path",
        tmp_path / "laari_api",
        "--meta",
        "none",
        cwd=tmp_path,
        PATH=f"{tools / 'bin'}:{os.environ['PATH']}",
    )
    assert "parsing" not in made, made  # what it could not read it leaves out, with a warning
    shop = service.merchant(fee_bps=150)
    script = SCRIPTS / "round_trip.py"
    said = run(
        tools / "bin/python",
        script,
        service.origin,
        shop.secret_key,
        cwd=tmp_path,
        PYTHONPATH=str(tmp_path),
    )
    assert said == "done\n"


def test_openapi_typescript(service: Service, document: Path, tmp_path: Path) -> None:
    needed("node", "npm")
    tools = installed(
        "node",
        " ".join(NODE_PACKAGES),
        ["npm", "init", "--yes"],
        ["npm", "install", "--silent", "--no-audit", "--no-fund", *NODE_PACKAGES],
    )
    (tmp_path / "node_modules").symlink_to(tools / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    bin_ = tools / "node_modules/.bin"
    run(bin_ / "openapi-typescript", document, "--output", tmp_path / "api.d.ts", cwd=tmp_path)
    shutil.copy(SCRIPTS / "round_trip.ts", tmp_path)
    run(
        bin_ / "tsc",
        "--strict",
        "--noUncheckedIndexedAccess",
        "--exactOptionalPropertyTypes",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--types",
        "node",
        "round_trip.ts",
        cwd=tmp_path,
    )
    shop = service.merchant(fee_bps=150)
    said = run("node", "round_trip.js", service.origin, shop.secret_key, cwd=tmp_path)
    assert said == "done\n"


def test_openapi_generator_go(service: Service, document: Path, tmp_path: Path) -> None:
    needed("java", "go")
    libraries = ("golang.org/x/oauth2", "gopkg.in/validator.v2")
    missing = [each for each in libraries if not (GO_LIBRARIES / "src" / each).is_dir()]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    tools = python_tools()
    (jar,) = tools.glob("lib/python3*/site-packages/openapi_generator_cli/openapi-generator.jar")
    sources = tmp_path / "src"
    run(
        "java",
        "-jar",
        jar,
        "generate",
        "-g",
        "go",
        "-i",
        document,
        "-o",
        sources / "laari",
        "--additional-properties=packageName=laari,withGoMod=false",
        cwd=tmp_path,
    )
    (sources / "trip").mkdir()
    shutil.copy(SCRIPTS / "round_trip.go", sources / "trip/main.go")
    places = f"{tmp_path}:{GO_LIBRARIES}"
    build = {"GO111MODULE": "off", "GOPATH": places, "GOCACHE": str(TOOLS / "go-cache")}
    run("go", "build", "-o", "round_trip", "trip", cwd=tmp_path, **build)
    shop = service.merchant(fee_bps=150)
    said = run(tmp_path / "round_trip", service.origin, shop.secret_key, cwd=tmp_path)
    assert said == "done\n"


def test_lighthouse_finds_the_reference_accessible(service: Service, tmp_path: Path) -> None:
    needed("node", "npm", "chromium-headless-shell")
    tools = installed(
        "lighthouse",
        LIGHTHOUSE,
        ["npm", "init", "--yes"],
        ["npm", "install", "--silent", "--no-audit", "--no-fund", LIGHTHOUSE],
    )
    report = tmp_path / "report.json"
    run(
        tools / "node_modules/.bin/lighthouse",
        f"{service.origin}/docs",
        "--only-categories=accessibility",
        "--chrome-flags=--headless --no-sandbox --disable-gpu",
        "--output=json",
        f"--output-path={report}",
        "--quiet",
        cwd=tmp_path,
        CHROME_PATH=shutil.which("chromium-headless-shell") or "",
    )
    found = json.loads(report.read_text())
    assert [
        name for name, audit in found["audits"].items() if audit["score"] not in (1, None)
    ] == []
    assert found["categories"]["accessibility"]["score"] == 1
