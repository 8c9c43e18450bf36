"""The samples of docs/guides as programs: taken out of the pages, and run as a reader would."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt

from laari.edge.reference.guide_text import LANGUAGES
from laari.edge.reference.guides import FOLDER, GUIDES

ROOT = Path(__file__).parents[2]
CLIENTS = {"python": ROOT / "clients/python/src", "ts": ROOT / "clients/typescript"}
PATIENCE_SECONDS = 60


class Block(NamedTuple):
    """A code block: its language, what else stands on its fence, and the code."""

    language: str
    words: tuple[str, ...]
    code: str

    def value(self, name: str) -> str | None:
        """What stands on the fence as `name=value`."""
        given = [word.partition("=")[2] for word in self.words if word.startswith(f"{name}=")]
        return given[0] if given else None

    @property
    def runs(self) -> bool:
        """Whether it is part of the page's program; else a file, or for a person to type."""
        return "by-hand" not in self.words and self.value("file") is None


def blocks(guide: str) -> list[Block]:
    return blocks_of(FOLDER / f"{guide}.md")


def blocks_of(page: Path) -> list[Block]:
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    split = [
        (token.info.split() or [""], token.content) for token in tokens if token.type == "fence"
    ]
    return [Block(words[0], tuple(words[1:]), code) for words, code in split]


def samples(guide: str, language: str) -> list[Block]:
    """The page's program in this language: its blocks, one after the other."""
    return [block for block in blocks(guide) if block.language == language and block.runs]


def file_named(name: str) -> str:
    """A file that some guide tells its reader to save."""
    (code,) = (
        block.code for guide in GUIDES for block in blocks(guide) if block.value("file") == name
    )
    return code


def client_samples(language: str) -> list[str]:
    """The samples in the README of that language's client, each a program of its own."""
    page = ROOT / "clients" / {"ts": "typescript"}.get(language, language) / "README.md"
    return [block.code for block in blocks_of(page) if block.language == language]


WITH_SAMPLES = [guide for guide in GUIDES if any(samples(guide, each) for each in LANGUAGES)]


class Ended(NamedTuple):
    output: str
    statuses: list[int]  # of each call with curl


def run(guide: str, language: str, directory: Path, variables: dict[str, str]) -> Ended:
    program = "\n".join(block.code for block in samples(guide, language))
    return RUNNERS[language](program, directory, variables)


def _run_curl(program: str, directory: Path, variables: dict[str, str]) -> Ended:
    needed("curl", "jq")
    told = directory / "statuses"
    told.touch()
    wrapper = directory / "curl"
    tells = '-w "%{stderr}status %{http_code}\\n"'
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("curl")} {tells} "$@" 2>>statuses\n')
    wrapper.chmod(0o755)
    path = f"{directory}:{os.environ['PATH']}"
    ended = finished(
        ["bash", "-euo", "pipefail", "-c", program], directory, {**variables, "PATH": path}
    )
    lines = told.read_text().splitlines()
    assert all(line.startswith("status ") for line in lines), lines
    return Ended(ended, [int(line.removeprefix("status ")) for line in lines])


def with_php_client(directory: Path) -> None:
    """As if a reader had copied the package there."""
    shutil.copytree(ROOT / "clients/php", directory / "laari-client", dirs_exist_ok=True)


def _run_php(program: str, directory: Path, variables: dict[str, str]) -> Ended:
    needed("php")
    with_php_client(directory)
    # Whatever PHP complains about is an error: a notice would be one on a reader's page too.
    strict = "<?php set_error_handler(fn($no, $text) => throw new ErrorException($text, 0, $no));\n"
    (directory / "program.php").write_text(strict + program)
    return Ended(finished(["php", "program.php"], directory, variables), [])


def _run_python(program: str, directory: Path, variables: dict[str, str]) -> Ended:
    (directory / "program.py").write_text(program)
    variables = {**variables, "PYTHONPATH": str(CLIENTS["python"])}
    command = [sys.executable, "-W", "error", "program.py"]
    return Ended(finished(command, directory, variables), [])


RUNNERS = {"sh": _run_curl, "python": _run_python, "php": _run_php}


def needed(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def finished(command: list[str], directory: Path, variables: dict[str, str]) -> str:
    """What a program printed that ended well."""
    ended = subprocess.run(
        command,
        cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": str(directory), **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout
