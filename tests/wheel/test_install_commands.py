"""The commands of the documentation that install something, run as they are written.

Each page begins with an empty environment and a checkout nobody has used. There is no package
index: what Laari depends on comes from wheels that are packed of what is installed here.
"""

import os
import re
import shutil
import subprocess
import tomllib
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.api.guide_samples import ROOT, Block, blocks_of

pytestmark = pytest.mark.ci

PATIENCE_SECONDS = 600
PAGES = [
    "docs/install.md",
    "docs/guides/quick-start.md",
    "docs/guides/sandbox.md",
    "docs/testing-your-shop.md",
    "clients/python/README.md",
    "clients/typescript/README.md",
    "examples/django-payments/README.md",
    "examples/shop/README.md",
]
# What a page says has been done before: the quick start built the wheels.
BEFORE = dict.fromkeys(
    ["docs/install.md", "docs/guides/sandbox.md"],
    "pip wheel -q --no-deps -w dist . ./clients/python",
)
OURS = {"laari", "laari-client"}
CHECKS = {
    "docs/guides/quick-start.md": "laari --help >/dev/null && python -c 'import laari_client'",
    "docs/guides/sandbox.md": "python -m pytest --fixtures | grep laari_merchant",
    "docs/testing-your-shop.md": "python -m pytest --fixtures | grep laari_merchant",
    "clients/python/README.md": "python -c 'import laari_client'",
    "examples/django-payments/README.md": ".venv/bin/python -c 'import laari_client, payments'",
    "examples/shop/README.md": ".venv/bin/python -m pytest --fixtures tests | grep laari_merchant",
}

_INSTALLS = re.compile(r"\b(pip|pipx|npm) install |\bpip wheel |\buvx ")
_WHEEL = re.compile(r"[\w./]*?(laari\w*)-([\d.]+)-py3-none-any\.whl")


def install_blocks(page: str) -> list[Block]:
    return [
        block
        for block in blocks_of(ROOT / page)
        # `root`: on a machine of its own, in campaigns/test_install.py.
        if block.language == "sh" and _INSTALLS.search(block.code) and "root" not in block.words
    ]


def every_page() -> list[str]:
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("clients/*/*.md")]
    return [str(page.relative_to(ROOT)) for page in (*pages, *ROOT.glob("examples/**/*.md"))]


def test_every_page_that_installs_something_is_tried() -> None:
    assert {page for page in every_page() if install_blocks(page)} == {*PAGES}


def test_the_wheels_that_are_named_are_those_that_are_built() -> None:
    """In `dist`, by version. A bare `laari` would be whatever a package index has by that name."""
    versions = {
        name.replace("-", "_"): tomllib.loads((ROOT / file).read_text())["project"]["version"]
        for name, file in {
            "laari": "pyproject.toml",
            "laari-client": "clients/python/pyproject.toml",
        }.items()
    }
    for page in every_page():
        for block in install_blocks(page):
            for name, version in _WHEEL.findall(block.code):
                assert version == versions[name], (page, name, version)
            assert not re.search(r"install [^\n]*(?<![\w./])['\"]?laari(\[|\s|$)", block.code), page
            named = {each[0] for each in _WHEEL.findall(block.code)}
            if "[testing]" in block.code and "dist/" in block.code:
                assert named == {"laari", "laari_client"}, page


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheels")
    shops = [file.read_text().split() for file in ROOT.glob("examples/*/requirements.txt")]
    wanted = ["laari[testing]", "laari-client", "setuptools>=77", *chain(*shops)]
    packed = set[str]()
    while wanted:
        requirement = Requirement(wanted.pop())
        name = requirement.name.lower().replace("_", "-")
        found = distribution(name)
        for each in map(Requirement, found.requires or []):
            extras = requirement.extras or {""}
            if each.marker is None or any(each.marker.evaluate({"extra": e}) for e in extras):
                asked = f"{each.name}{sorted(each.extras)}"
                wanted += [str(each)] if asked not in packed else []
                packed.add(asked)
        if name not in OURS and name not in packed:
            packed.add(name)
            _pack(found, place)
    return place


def _pack(found: Distribution, place: Path) -> None:
    """A wheel of an installed package, without the programs it brought."""
    tags = re.findall(r"^Tag: (\S+)", found.read_text("WHEEL") or "", re.M)
    tag = tags[-1]  # a py2-none-any comes before its py3-none-any
    name = re.sub(r"[-.]+", "_", found.metadata["Name"])
    with zipfile.ZipFile(place / f"{name}-{found.version}-{tag}.whl", "w") as wheel:
        for file in found.files or []:
            if ".." not in file.parts and "__pycache__" not in file.parts:
                wheel.write(str(file.locate()), str(file))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    place = tmp_path / "laari"
    left_out = shutil.ignore_patterns(
        "__pycache__", "*.egg-info", "dist", "build", "node_modules", "tests"
    )
    for name in ("src", "clients"):
        shutil.copytree(ROOT / name, place / name, symlinks=True, ignore=left_out)
    shutil.copytree(ROOT / "docs/guides", place / "docs/guides")
    shutil.copytree(ROOT / "examples", place / "examples")
    for name in ("pyproject.toml", "README.md", "LICENSE", "constraints.txt"):
        shutil.copy(ROOT / name, place)
    return place


@pytest.mark.campaign
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_as_written(
    page: str, checkout: Path, wheelhouse: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "empty", symlinks=True, with_pip=True)
    code = "\n".join(_runnable(block.code) for block in install_blocks(page))
    program = "\n".join([BEFORE.get(page, ""), code, CHECKS.get(page, "")])
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", program],
        cwd=checkout / (page.removesuffix("/README.md") if page.startswith("examples") else ""),
        env={
            "PATH": f"{tmp_path / 'empty/bin'}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheelhouse),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, f"{program}\n{ended.stdout}\n{ended.stderr}"


def _runnable(code: str) -> str:
    """Without what runs until it is ended, and programs that bring an environment of their own."""
    left_out = re.compile(
        r"laari serve --demo|pipx |uvx |\S+/uvicorn |\S+/python -m (pytest$|django runserver)"
    )
    return "\n".join(line for line in code.splitlines() if not left_out.match(line))
