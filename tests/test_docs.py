"""Documentation that can be checked is checked."""

import importlib.util
import re
import shlex
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

import click
import pytest

from laari.cli.main import cli
from laari.edge.app import PROMPT_PATHS
from laari.edge.pages.app import FIRST_SEGMENTS, ROUTES
from laari.edge.reference.guides import PATHS
from laari.edge.reference.openapi import openapi_document
from laari.rules.refusals import CODES
from laari.settings import VARIABLES

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "clients/*/*.md")
    for path in ROOT.glob(pattern)
)

_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
_ANCHOR = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")
_LINKED = re.compile(r"\[([^\]]*)\]\([^)]*\)")
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


def anchors(page: Path) -> set[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = (_LINKED.sub(r"\1", line) for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w -]", "", each).strip().lower().replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_to_one(page: Path) -> None:
    missing = []
    for target, anchor in _ANCHOR.findall(page.read_text(encoding="utf-8")):
        there = page.parent / target if target else page
        if "://" not in target and anchor not in anchors(there):
            missing.append(f"{target}#{anchor}")
    assert missing == []


def test_pictures_are_well_formed_and_described() -> None:
    pictures = sorted((ROOT / "docs/img").glob("*.svg"))
    assert pictures
    for picture in pictures:
        root = ET.parse(picture).getroot()
        assert root.findtext("{http://www.w3.org/2000/svg}title"), picture.name
        assert root.findtext("{http://www.w3.org/2000/svg}desc"), picture.name


def test_every_picture_is_shown_on_a_page() -> None:
    shown = {
        (page.parent / target).resolve()
        for page in PAGES
        for text in [page.read_text(encoding="utf-8")]
        for target in _LINK.findall(text) + _PICTURE.findall(text)
    }
    pictures = {path for path in (ROOT / "docs/img").rglob("*.*") if path.is_file()}
    assert pictures - shown == set(), "`make screenshots` writes such pictures to build/screenshots"


def test_decisions_are_numbered_without_a_gap() -> None:
    text = (ROOT / "docs/decisions.md").read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_error_guide_has_every_code_once() -> None:
    made = generator()
    shown = [code for _, _, codes in made.SECTIONS for code in codes]
    assert sorted(shown) == sorted({public for public, _ in made.ADVICE})
    assert {code.shown_as or name for name, code in CODES.items()} - {*shown} == set()


def test_the_architecture_has_every_dependency_and_no_other() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.split(r"[<>=~!\[ ]", line, maxsplit=1)[0] for line in project["dependencies"]}
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    section = page.partition("\n## Dependencies\n")[2].partition("\n## ")[0]
    named = re.findall(r"^- \*\*(.+?):\*\*", section, re.MULTILINE)
    assert {name for names in named for name in names.split(", ")} == needed


def test_the_table_of_layers_has_those_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    section = page.partition("\n## Layers\n")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(named) == sorted(name for layer in layers for name in layer.split(" | "))
    in_order = " → ".join(layer.replace(" | ", ", ") for layer in layers)
    assert f"`{in_order}`" in (ROOT / "docs/development.md").read_text("utf-8")


def test_the_parts_of_the_pages_are_the_first_segments_of_their_addresses() -> None:
    sentence = (ROOT / "docs/pages.md").read_text("utf-8").partition("\n\n")[2].partition(". ")[0]
    named = {span.split("/")[1] for span in spans(sentence)}
    assert named == FIRST_SEGMENTS - {"static"}


def test_constraints_pin_exactly_and_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins
    assert [
        line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)
    ] == []


def test_every_page_of_the_documentation_is_linked() -> None:
    for index, pages in (
        (ROOT / "docs/README.md", ROOT.glob("docs/*.md")),
        (ROOT / "docs/guides/README.md", ROOT.glob("docs/guides/*.md")),
    ):
        linked = {(index.parent / t).resolve() for t in _LINK.findall(index.read_text("utf-8"))}
        assert set(pages) - linked - {index} == set(), "a page that nobody finds"


# Names: what the pages mention has to exist.

CLIENT_VARIABLES = {"LAARI_URL", "LAARI_SECRET_KEY", "LAARI_WALLET_KEY"}
_FENCED = re.compile(r"^```(\w*).*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(
    r"[\w./-]+\.(?:py|ts|js|sql|toml|txt|html|css)|(?:src|tests|tools|bench)/[\w./-]+"
)
_COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(?:\S*/bin/)?laari (?=[a-z])(.*)")
_ROUTE = re.compile(r"(?:(GET|POST) )?(/[\w{}…/.$-]*)(?:\?\S*)?")


def spans(text: str) -> list[str]:
    """Everything between backticks, outside blocks."""
    return re.findall(r"`([^`\n]+)`", _FENCED.sub("", text))


def shell_lines(text: str) -> list[str]:
    """The lines of shell blocks, each with the lines that continue it."""
    blocks = [block for language, block in _FENCED.findall(text) if language in ("sh", "console")]
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]


@cache
def tree() -> set[str]:
    """Files and folders of the project, each by every end of its path: `a/b.py` and `b.py`."""
    paths = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in ("bench", "campaigns", "clients", "docs", "examples", "src", "tests", "tools"):
        paths += (ROOT / folder).rglob("*")
    ends: set[str] = set()
    for path in paths:
        parts = path.relative_to(ROOT).parts
        ends.update("/".join(parts[first:]) for first in range(len(parts)))
    return ends


@cache
def sources(*folders: str) -> str:
    files = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return "\n".join(path.read_text("utf-8") for path in files if path.suffix in ("", ".py"))


def unknown_modules(text: str) -> Iterator[str]:
    """A name is that of a module, of something in one, or of a logger."""
    for name in spans(text):
        if re.fullmatch(r"laari(?:\.\w+)+(?:\(\))?", name) and name not in tree():
            try:
                resolve_name(name.removesuffix("()"))
            except (ImportError, AttributeError):
                if f'getLogger("{name}")' not in sources("src"):
                    yield name


def unknown_files(text: str) -> Iterator[str]:
    for name in spans(text):
        if _FILE.fullmatch(name) and name.removeprefix("./").rstrip("/") not in tree():
            yield name


def unknown_commands(text: str) -> Iterator[str]:
    for line in [*spans(text), *shell_lines(text)]:
        if found := _COMMAND.fullmatch(line.strip()):
            problem = wrong_word(re.sub(r"[][|…]", " ", found[1]))
            if problem is not None:
                yield f"{line}: {problem}"


def wrong_word(arguments: str) -> str | None:
    """The first word that is neither a command nor an option of the command before it."""
    command: click.Command = cli
    for word in shlex.split(arguments, comments=True):
        if isinstance(command, click.Group) and not word.startswith("-"):
            if word not in command.commands:
                return word
            command = command.commands[word]
        elif word.startswith("--"):
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            if word.partition("=")[0] not in {*known, "--help", "--version"}:
                return word
        elif word in (">", "&&", ";", "\\"):
            return None
    return None


@cache
def variables() -> set[str]:
    """Settings, the variables of the examples, and those that tests and tools read."""
    own = r"LAARI_(?:CRASH|FAULTS|FUZZ|HTTP|MODEL|TESTS?)_[A-Z_]+"
    read = re.findall(own, sources("campaigns", "tests", "tools"))
    return {*(variable.name for variable in VARIABLES), *CLIENT_VARIABLES, *read}


def unknown_variables(text: str) -> Iterator[str]:
    yield from sorted({*re.findall(r"\bLAARI_[A-Z_]+\b", text)} - variables())


@cache
def routes() -> list[list[str]]:
    paths = {
        *openapi_document("http://laari.test", signup=True)["paths"],
        *(route.path for route in ROUTES),
        *PROMPT_PATHS,
        *PATHS,
        "/docs",
        "/openapi.json",
        "/static/{name}",
    }
    return [path.split("/")[1:] for path in paths]


def is_route(path: str) -> bool:
    """Whether a route is this path or begins with it; `{id}`, `$ID` and `…` are any segment."""
    segments = path.rstrip("/").split("/")[1:]
    return any(
        len(segments) <= len(route)
        and all(
            told == real or real.startswith("{") or told.startswith(("{", "$", "…"))
            for told, real in zip(segments, route, strict=False)
        )
        for route in routes()
    )


def unknown_routes(text: str) -> Iterator[str]:
    """The guides leave out `/merchant`. Paths of files begin like no route."""
    first = {route[0] for route in routes()} | {"oauth"}
    asked = re.findall(r"\$LAARI_URL(/[^\s\"'?]*)", text)
    for span in spans(text):
        found = _ROUTE.fullmatch(span)
        if found and (found[1] or found[2].split("/")[1] in first):
            asked.append(found[2])
    yield from (path for path in asked if not is_route(path) and not is_route(f"/merchant{path}"))


UNKNOWN = (unknown_modules, unknown_files, unknown_commands, unknown_variables, unknown_routes)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != "CHANGELOG.md"],  # which tells of what was
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_names_in_the_documentation_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [name for unknown in UNKNOWN for name in unknown(text)] == []


def test_a_wrong_name_in_the_documentation_is_found() -> None:
    text = """`laari.rules.nothing`, `rules/nothing.py`, `laari merchant vanish`, `LAARI_NOTHING`,
    `POST /payments/{id}/vanish`, and `laari audit --never`, but `laari.rules.ledger.transfer`,
    `rules/ledger.py`, `laari audit --standby URL`, `LAARI_MAX_BATCH` and `GET /events/{id}`."""
    assert [name for unknown in UNKNOWN for name in unknown(text)] == [
        "laari.rules.nothing",
        "rules/nothing.py",
        "laari merchant vanish: vanish",
        "laari audit --never: --never",
        "LAARI_NOTHING",
        "/payments/{id}/vanish",
    ]
