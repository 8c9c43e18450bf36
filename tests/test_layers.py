"""What the import contracts cannot see: SQL outside the store, impure rules, cycles of clients."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "laari"
CLIENTS = Path(__file__).parents[1] / "clients"

_SQL = re.compile(
    r"\b(SELECT|INSERT\s+INTO|UPDATE\s+\w+\s+(\w+\s+)?SET|DELETE\s+FROM|"
    r"(CREATE|ALTER|DROP|TRUNCATE)\s+(TABLE|INDEX|FUNCTION|SEQUENCE|DATABASE|ROLE))\b",
)
# Modules of clocks and of chance; `datetime` and `uuid` are also needed for their types.
_IMPURE_MODULES = {"os", "platform", "random", "secrets", "socket", "sys", "threading", "time"}
_WRITING = re.compile(r"\b(INSERT\s+INTO|UPDATE\s+\w+\s+(\w+\s+)?SET|DELETE\s+FROM)\b")
# The rooms of writes that decide nothing: leases, figures, sessions, purging. The others write the
# rows of batches, seals, the schema, statements that wait for their import, how far messages about
# movements are written, and what is noted about the installation.
DECIDE_NOTHING = ("counters", "outbox")
WRITING = {
    "tables.py",
    "bank_statements.py",
    "movement_messages.py",
    "ledger/seals.py",
    "postgres/migrate.py",
    "merchants/installation.py",
}
# What a statement that only reads does not have: changes, locks, notices and numbers that it takes.
_NOT_READING = re.compile(
    r"\b(INSERT|UPDATE|DELETE|MERGE|TRUNCATE|FOR SHARE|FOR KEY SHARE|pg_notify|pg_advisory_\w+|"
    r"nextval|setval)\b"
)
MOST_MODULES = 24  # of a folder: more are several subjects
_IMPURE_CALLS = {"now", "utcnow", "today", "uuid1", "uuid3", "uuid4", "uuid5", "urandom"}


def files(layer: str = "") -> list[Path]:
    return sorted((SOURCE / layer).rglob("*.py"))


def statements(source: str) -> Iterator[str]:
    """Text in the code that reads as SQL; the pieces of an f-string count as one text."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.JoinedStr():
                text = "".join(
                    piece.value if isinstance(piece, ast.Constant) else "x" for piece in node.values
                )
            case ast.Constant(value=str(text)):
                pass
            case _:
                continue
        if _SQL.search(text):
            yield text


def impurities(source: str) -> Iterator[str]:
    """What a pure decision must not do: wait, read a clock, or use a random source."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.AsyncFunctionDef(name=name):
                yield f"async def {name}"
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name in _IMPURE_MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                if module in _IMPURE_MODULES:
                    yield module
                yield from (each.name for each in names if each.name in _IMPURE_CALLS)
            # `datetime.now` handed on without a call reads the clock later.
            case ast.Attribute(value=ast.Name(id=owner), attr=attr) if (
                attr in _IMPURE_CALLS and owner not in ("self", "world", "moment")
            ):
                yield f"{owner}.{attr}"


def test_only_the_store_writes_sql() -> None:
    others = (
        path for path in files() if not {SOURCE / "store", SOURCE / "engine"} & {*path.parents}
    )
    found = {str(path): list(statements(path.read_text())) for path in others}
    assert {path: what for path, what in found.items() if what} == {}


def test_new_writes_are_commands() -> None:
    store = SOURCE / "store"
    writing = {
        str(path.relative_to(store))
        for path in files("store")
        if any(map(_WRITING.search, statements(path.read_text())))
        if path.parent.name not in DECIDE_NOTHING
    }
    assert writing == WRITING
    # A command names who changes a setting; no other code acts for somebody.
    assert [path for path in files() if "set_config('laari.actor'" in path.read_text()] == []


def test_reads_contain_only_select() -> None:
    found = {
        str(path.relative_to(SOURCE)): [
            each for each in statements(path.read_text()) if _NOT_READING.search(each)
        ]
        for path in files("store/reads")
    }
    assert len(found) > 40
    assert {path: what for path, what in found.items() if what} == {}
    assert _NOT_READING.search("SELECT nextval('wallet_accounts')")


# Names so general that two modules with one of them would be about different things.
GENERAL = ("addresses", "limits", "money", "settings", "signup", "views")


def test_a_general_name_has_one_module() -> None:
    for name in GENERAL:
        found = [path for path in files() if path.stem == name]
        assert len(found) <= 1, found


def test_the_rules_have_no_clock_and_no_random_source() -> None:
    found = {path.name: list(impurities(path.read_text())) for path in files("rules")}
    assert {name: what for name, what in found.items() if what} == {}


def test_sql_and_impurity_are_recognised() -> None:
    assert any(statements((SOURCE / "store" / "reads" / "tiers.py").read_text()))
    assert list(statements('f"UPDATE {table} SET a = 1"')) == ["UPDATE x SET a = 1"]
    assert list(statements('"Select a payment from the list"')) == []
    assert list(impurities("async def f(): pass")) == ["async def f"]
    for source in (
        "import random",
        "from secrets import token_hex",
        "import time as t",
        "from uuid import uuid4",
        "key = uuid.uuid4()",
        "moment_of = datetime.now",
    ):
        assert list(impurities(source)), source
    assert list(impurities("now = world.now")) == []


def cycle(folder: Path, suffix: str, imported: str) -> list[str]:
    """A cycle of the folder's modules, imports for types included; `imported` finds the names."""
    modules = {path.stem: path.read_text() for path in folder.glob(f"*{suffix}")}
    assert len(modules) > 5
    graph = {
        name: {other for pair in re.findall(imported, text, re.M) for other in pair} & {*modules}
        for name, text in modules.items()
    }
    assert sum(map(len, graph.values())) > len(modules)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


@pytest.mark.parametrize(
    ("folder", "suffix", "imported"),
    [
        ("python/src/laari_client", ".py", r"^ *from laari_client(?:\.(\w+)| import (\w+))"),
        ("typescript/src", ".ts", r'from "\./(\w+)\.js"|import\("\./(\w+)\.js"\)'),
    ],
    ids=["python", "typescript"],
)
def test_the_clients_have_no_import_cycle(folder: str, suffix: str, imported: str) -> None:
    assert cycle(CLIENTS / folder, suffix, imported) == []


def test_a_folder_has_few_modules() -> None:
    folders = {path.parent for path in files()}
    counted = {folder: len(list(folder.glob("*.py"))) for folder in folders}
    assert {str(folder): count for folder, count in counted.items() if count > MOST_MODULES} == {}
