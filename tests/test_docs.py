"""Documentation that can be checked is checked."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from laari.cli.main import cli

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])

_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
_PICTURE = re.compile(r'<(?:img|source)\b[^>]* src(?:set)?="([^"]+)"')


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "tools/generate_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_equal_the_code() -> None:
    for name, page in generator().PAGES.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = _LINK.findall(text) + _PICTURE.findall(text)
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert missing == []


def test_pictures_are_well_formed_and_described() -> None:
    pictures = sorted((ROOT / "docs/img").glob("*.svg"))
    assert pictures
    for picture in pictures:
        root = ET.parse(picture).getroot()
        assert root.findtext("{http://www.w3.org/2000/svg}title"), picture.name
        assert root.findtext("{http://www.w3.org/2000/svg}desc"), picture.name


def test_decisions_are_numbered_without_a_gap() -> None:
    text = (ROOT / "docs/decisions.md").read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_constraints_pin_exactly_and_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins
    assert [
        line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)
    ] == []


def told_commands(readme: str) -> set[str]:
    """The commands of the README's table; after the first of a row only the last word is told."""
    told: set[str] = set()
    for cell in re.findall(r"^\| (`laari [^|]*) \|", readme, re.MULTILINE):
        group = ""
        for words in re.findall(r"`([^`]+)`", cell):
            command = " ".join(re.findall(r"[a-z-]+", words.split(" [")[0]))
            if command.startswith("laari "):
                group = command.rpartition(" ")[0]
                told.add(command)
            else:
                told.add(f"{group} {command}")
    return told


def commands(command: click.Command, name: str) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield name
        return
    for word, inner in command.commands.items():
        yield from commands(inner, f"{name} {word}")


def test_the_readme_tells_of_every_command() -> None:
    told = told_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "laari merchant rotate-key" in told
    assert set(commands(cli, "laari")) - told == set()


def test_every_page_of_the_documentation_is_linked() -> None:
    for index, pages in (
        (ROOT / "README.md", ROOT.glob("docs/*.md")),
        (ROOT / "docs/guides/README.md", ROOT.glob("docs/guides/*.md")),
    ):
        linked = {(index.parent / t).resolve() for t in _LINK.findall(index.read_text("utf-8"))}
        assert set(pages) - linked - {index} == set(), "a page that nobody finds"
