"""The `curl`s of the README, as a reader would type them; test_samples_together.py runs them."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[2] / "README.md"

# What the README lets its reader export, and where it has no answer to take it from.
GIVEN = {"LAARI_URL", "LAARI_SECRET_KEY"}
FROM_ANSWERS = {"PAYMENT_ID": "pay_"}

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ASSIGNED = re.compile(r"^([A-Z_]+)=", re.M)
_VARIABLE = re.compile(r"\$\{?([A-Z_]+)")

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def curl_blocks(markdown: str) -> list[str]:
    return [block for block in _BLOCK.findall(markdown) if re.search(r"^\s*curl ", block, re.M)]


def run_blocks(blocks: Iterable[str], given: dict[str, str], directory: Path) -> list[Any]:
    """Runs the blocks one after the other and answers what each printed, read as JSON.

    As a reader would, it keeps the id of the first answer that has one for the blocks that follow.
    """
    variables = dict(given)
    answers: list[Any] = []
    for block in blocks:
        for answer in _run(block, variables, directory):
            assert "error" not in answer, f"{block}\nanswered {answer}"
            answers.append(answer)
            for name, prefix in FROM_ANSWERS.items():
                found = answer["data"].get("id", "") if isinstance(answer["data"], dict) else ""
                if found.startswith(prefix):
                    variables.setdefault(name, found)
    return answers


def _run(block: str, variables: dict[str, str], directory: Path) -> list[Any]:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],  # -u: a variable nobody has set is a mistake
        env={"PATH": os.environ["PATH"], "HOME": str(directory), **variables},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{done.stderr}"
    answers, rest = [], done.stdout.strip()
    while rest:  # curl puts nothing between the answers of two commands
        answer, end = json.JSONDecoder().raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].lstrip()
    return answers


def test_the_readme_has_a_first_payment_to_follow() -> None:
    blocks = curl_blocks(README.read_text(encoding="utf-8"))
    assert any("/sandbox/payments/$PAYMENT_ID/pay" in block for block in blocks)
    used = {name for block in blocks for name in _VARIABLE.findall(block)}
    own = {name for block in blocks for name in _ASSIGNED.findall(block)}
    assert used - own <= GIVEN | FROM_ANSWERS.keys()


def test_only_shell_blocks_that_call_curl_are_taken() -> None:
    markdown = "```sh\nmake run\n```\ntext\n```sh\ncurl a\n```\n```json\ncurl b\n```\n"
    assert curl_blocks(markdown) == ["curl a\n"]


@needs_curl
def test_ids_are_carried_on_and_errors_found(tmp_path: Path) -> None:
    (tmp_path / "created").write_text('{"data": {"id": "pay_1"}}')
    (tmp_path / "pay_1").write_text('{"data": {"status": "paid"}}{"data": []}')
    (tmp_path / "refused").write_text('{"error": {"code": "not_found"}}')
    here = {"LAARI_URL": tmp_path.as_uri()}
    create, read = 'curl -sS "$LAARI_URL/created"', 'curl -sS "$LAARI_URL/$PAYMENT_ID"'
    answers = run_blocks([create, read], here, tmp_path)
    assert answers == [{"data": {"id": "pay_1"}}, {"data": {"status": "paid"}}, {"data": []}]
    with pytest.raises(AssertionError, match="not_found"):
        run_blocks(['curl -sS "$LAARI_URL/refused"'], here, tmp_path)
    with pytest.raises(AssertionError, match="PAYMENT_ID"):
        run_blocks([read], here, tmp_path)
