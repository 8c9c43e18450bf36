"""Plain English, as far as a machine can decide: short sentences, no banned phrase, "if" for "if".

A sentence ends with a full stop, a question mark, or the end of its list item or table cell.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_SENTENCE = 35
BANNED = (
    r"anew",
    r"so many",
    r"so long",
    r"unasked",
    r"who(?:so)?ever",
    r"by the word of",
    r"the one that",
    r"(?:is|are|was|were) told(?! apart)",
    r"asks? of",
    r"asked of",
    r"hands? on(?!-)",
    r"handed on",
    r"does not do",
    r"has it that",
    r"stands? in(?! for)",
    r"lest",
    r"thereby",
    r"is what (?:\w+ ){1,3}asks? for",
    r"all the same",
    r"tells? of",
    r"the own",
    r"if so",
    r"whose time has come",
    r"of very many",
)
_BANNED = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)

# "Where" that begins a condition. Behind a place or a question ("says where it is") it is right.
_CONDITION = re.compile(
    r"(?P<before>[\w`)]+)[,;]? where (?:it|there|that|this|they|nothing|anything|something|none|"
    r"one|no|nobody|somebody|anybody|several|both|many|all|two)\b",
    re.IGNORECASE,
)
_ALWAYS_CONDITION = re.compile(r"\b(?:only|except|even|also|but) where\b", re.IGNORECASE)
_OPENING_CONDITION = re.compile(r"Where\b[^?:,]*, [^?]*$")
PLACES = set(
    "about address column directory disk exactly field file find finds folder from function is "
    "know knows line machine of page place point position port process row say says screen see "
    "server shows stay stays step table tell tells to write writes".split()
)

_BLOCK = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
_TAG = re.compile(r"<[^>]+>|^\[//\]: #.*$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"\s*(?:[-*>]|\d+\.)\s+|\s*#+ |\s*$")

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "clients/*/*.md")
    for path in ROOT.glob(pattern)
)
SOURCES = sorted(
    path
    for folder in ("src/laari", "tools", "clients/python/src")
    for path in (ROOT / folder).rglob("*.*")
    if path.suffix in (".py", ".sql", ".html", ".js", ".ts")
)


def prose(markdown: str) -> str:
    """The text without code blocks, tags, pictures and the targets of links."""
    text = _TAG.sub("", _BLOCK.sub("\n", markdown))
    return _LINK.sub(r"\1", text)


def passages(markdown: str) -> Iterator[str]:
    """Paragraphs, list items, headings and table cells, each on one line."""
    lines: list[str] = []
    for line in [*prose(markdown).splitlines(), ""]:
        if line.startswith("|") or _ITEM.match(line):
            yield " ".join(lines)
            lines = []
        if line.startswith("|"):
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", line))
        else:
            lines.append(_ITEM.sub("", line, count=1).strip())
    yield " ".join(lines)


def sentences(markdown: str) -> Iterator[str]:
    for passage in passages(markdown):
        # What is between backticks is one word, and no full stop in it ends a sentence.
        plain = re.sub(r"`[^`]+`", "`code`", passage)
        for sentence in re.split(r"(?<=[.!?])[)*_\"”]*\s+(?=\S)", plain):
            if sentence.strip():
                yield sentence.strip()


def words(sentence: str) -> int:
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def source_texts(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings, messages and comments of a module, with the line each begins on."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, " ".join(node.value.split())
    comment: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row = token.start[0]
            if comment and row != last + 1:
                yield first, " ".join(comment)
                comment = []
            first = first if comment else row
            last = row
            comment.append(token.string.lstrip("# "))
    if comment:
        yield first, " ".join(comment)


def odd_phrases(sentence: str) -> Iterator[str]:
    """Phrases that are banned, and each "where" that means "if"."""
    yield from _BANNED.findall(sentence)
    yield from _ALWAYS_CONDITION.findall(sentence)
    yield from (
        found[0] for found in _CONDITION.finditer(sentence) if found["before"].lower() not in PLACES
    )
    if _OPENING_CONDITION.match(sentence):
        yield sentence


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [each for each in sentences(text) if words(each) > LONGEST_SENTENCE] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_in_plain_english(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [phrase for each in sentences(text) for phrase in odd_phrases(each)] == []


def odd_places(path: Path) -> list[str]:
    source = path.read_text(encoding="utf-8")
    texts = source_texts(source) if path.suffix == ".py" else enumerate(source.splitlines(), 1)
    return [
        f"{path.relative_to(ROOT)}:{line}: {phrase}"
        for line, text in texts
        for sentence in re.split(r"(?<=[.!?])\s+", text)
        for phrase in odd_phrases(sentence)
    ]


def test_the_source_is_in_plain_english() -> None:
    places = [place for path in SOURCES for place in odd_places(path)]
    assert places == []


def test_odd_phrases_are_found() -> None:
    odd = """Where the disk is full, it stops. It exits with 1 where something differs. The newest
    so many. Rows are written anew, only where they changed."""
    plain = """It says where it is. Open the page where it was. Where is it? If nothing listens, it
    ends at once. `anew` is code."""
    assert [phrase for each in sentences(odd) for phrase in odd_phrases(each)] == [
        "Where the disk is full, it stops.",
        "1 where something",
        "so many",
        "anew",
        "only where",
        "only where they",
    ]
    assert [phrase for each in sentences(plain) for phrase in odd_phrases(each)] == []


def test_sentences_are_taken_apart() -> None:
    text = """# A title

One sentence. Another `a. b` one
over two lines.

- an item
- one more. And a second.

| A cell | Another |
| --- | --- |
| `x` | [a link](b.md). Then more |

```sh
no sentence.
```
"""
    assert [*sentences(text)] == [
        "A title",
        "One sentence.",
        "Another `code` one over two lines.",
        "an item",
        "one more.",
        "And a second.",
        "A cell",
        "Another",
        "---",
        "---",
        "`code`",
        "a link.",
        "Then more",
    ]


def test_texts_of_a_module_are_found() -> None:
    module = '''"""A docstring
over two lines."""
# A comment
# that goes on.
PAUSE = 1  # another one
MESSAGE = f"the value {PAUSE} is" " one"
'''
    texts = [text for _, text in source_texts(module)]
    assert "A docstring over two lines." in texts
    assert "A comment that goes on." in " ".join(texts)
    assert any("the value" in text for text in texts)


def unpacked_displays(source: str) -> list[int]:
    """The lines of `f(*(a, b))` and `[*(a, b), c]`.

    A call hides which parameter gets which value, and a list only has fewer lines.
    """
    return [
        each.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call | ast.List | ast.Tuple | ast.Set)
        for each in (node.args if isinstance(node, ast.Call) else node.elts)
        if isinstance(each, ast.Starred) and isinstance(each.value, ast.List | ast.Tuple | ast.Set)
    ]


def test_values_are_written_out() -> None:
    others = ("tests", "bench", "campaigns")
    places = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in [*SOURCES, *(path for each in others for path in (ROOT / each).rglob("*.py"))]
        if path.suffix == ".py"
        for line in unpacked_displays(path.read_text(encoding="utf-8"))
    ]
    assert places == []
    assert unpacked_displays("f(a, *(b, c))") == unpacked_displays("[*(a, b), c]") == [1]
    assert unpacked_displays("(*names, c)") == unpacked_displays("f(*names)") == []


MOST_ANY = 32  # lines of src: each one turns the types of what it touches off


def uses_of_any(source: str) -> set[int]:
    return {
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Name) and node.id == "Any")
        or (isinstance(node, ast.Constant) and re.search(r"\[Any\]", str(node.value)))
    }


def test_types_are_rarely_any() -> None:
    places = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in (ROOT / "src/laari").rglob("*.py")
        for line in sorted(uses_of_any(path.read_text(encoding="utf-8")))
    ]
    assert len(places) <= MOST_ANY, places
    assert uses_of_any("def f(a: Any) -> dict[str, Any]:\n    return {}") == {1}


MOST_PARAMETERS = 8
MOST_POSITIONAL = 5  # the others are given by name
# A declaration that is read as a table, all by name.
MANY_PARAMETERS = ["edge/pages/routes.py:__init__"]


def long_signatures(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        positional = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        if positional[:1] in (["self"], ["cls"]):
            positional.pop(0)
        count = len(positional) + len(node.args.kwonlyargs)
        if len(positional) > MOST_POSITIONAL or count > MOST_PARAMETERS:
            yield node.name


def test_functions_have_few_parameters() -> None:
    source = ROOT / "src/laari"
    places = [
        f"{path.relative_to(source)}:{name}"
        for path in source.rglob("*.py")
        for name in long_signatures(path.read_text(encoding="utf-8"))
    ]
    assert places == MANY_PARAMETERS
    assert [*long_signatures("def f(a, b, c, d, e, f): ...")] == ["f"]
    assert [*long_signatures("def f(self, a, b, c, d, e, *, f): ...")] == []


# The reason for each class whose calls have more positional values. Functions cannot have them: the
# test above limits their parameters.
MANY_VALUES = {
    "Body": "takes any number of fields",
    "Query": "takes any number of fields",
    "Fields": "every request makes one, which names would slow down by 0.4 µs",
    "Head": "every request makes one, which names would slow down by 0.5 µs",
    "Reply": "every request makes one, which names would slow down by 0.4 µs",
}


def long_calls(source: str) -> Iterator[str]:
    """The classes that are called with many values whose fields are not named."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONAL:
            name = ast.unparse(node.func).rpartition(".")[2]
            if name.lstrip("_")[:1].isupper():
                yield name


def test_records_are_made_with_the_names_of_their_fields() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}": name
        for path in (ROOT / "src/laari").rglob("*.py")
        for name in long_calls(path.read_text(encoding="utf-8"))
    }
    assert [place for place, name in found.items() if name not in MANY_VALUES] == []
    assert {*MANY_VALUES} == {*found.values()}
    assert [*long_calls("records.Wallet(1, 2, 3, 4, 5, 6)")] == ["Wallet"]
    assert [*long_calls("Wallet(1, 2, 3, 4, 5, f=6); g(1, 2, 3, 4, 5, 6)")] == []


# The reason for each module of the store that makes records of values without their names.
_GENERATED = "its columns are made from the fields of the records"
_ADDS = "it adds up two records of one type"
_QUICK = f"{_GENERATED}, and names would slow every request down"
READ_BY_PLACE = {
    "batch/load_charge.py": _QUICK,
    "merchants/oauth.py": _QUICK,
    "reads/figures.py": _ADDS,
    "reads/people/cases.py": _GENERATED,
    "reads/tenants.py": _QUICK,
    "reads/tills/records.py": _GENERATED,
    "reads/tills/sales.py": _GENERATED,
    "reads/wallets.py": _QUICK,
}


def records_by_place(source: str) -> list[int]:
    """The lines of `Record(*row)`: two columns of one type could change places unnoticed."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.lstrip("_")[0].isupper()
        and any(isinstance(each, ast.Starred) for each in node.args)
    ]


def test_rows_are_read_by_the_names_of_their_columns() -> None:
    store = ROOT / "src/laari/store"
    places = [
        str(path.relative_to(store))
        for path in store.rglob("*.py")
        if records_by_place(path.read_text(encoding="utf-8"))
    ]
    assert {*places} == {*READ_BY_PLACE}
    assert records_by_place("Holder(*row)") == records_by_place("Holder(*row[1:])") == [1]
    assert records_by_place("id, *rest = row; Holder(id, *rest)") == [1]
    assert records_by_place("Holder(**row)") == []


# Functions of others that take any number of values, and those that get a value for each place of
# a list: the rest of a place in a list, the steps of a form, or a row on the way of every request.
VARIADIC = set(
    "fetch fetchrow fetchval execute cursor copy_from_query copy gather zip attrgetter difference "
    "format partial Table add_row Progress create_subprocess_exec".split()
)
BY_PLACE = {"make", "operation", "read_details", "record", "sent"}


def variadic(source: str) -> Iterator[str]:
    """The functions and methods of a module that take any number of values."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.vararg:
            yield node.name


def spread_calls(source: str, allowed: set[str]) -> list[int]:
    """The lines of `f(*values)` if `f` takes a fixed number, and the values are not `*args`."""
    found: list[int] = []

    def look(node: ast.AST, passed: frozenset[str]) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.vararg:
            passed |= {node.args.vararg.arg}
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            spread = {
                ast.unparse(each.value) for each in node.args if isinstance(each, ast.Starred)
            }
            # Records have a test of their own.
            is_record = name.lstrip("_")[:1].isupper()
            if spread - passed and name not in allowed and not is_record:
                found.append(node.lineno)
        for each in ast.iter_child_nodes(node):
            look(each, passed)

    look(ast.parse(source), frozenset())
    return found


def test_only_functions_of_any_number_of_values_get_a_list() -> None:
    sources = {
        path: path.read_text(encoding="utf-8") for path in (ROOT / "src/laari").rglob("*.py")
    }
    allowed = {name for source in sources.values() for name in variadic(source)}
    allowed |= VARIADIC | BY_PLACE
    places = [
        f"{path.relative_to(ROOT)}:{line}"
        for path, source in sources.items()
        for line in spread_calls(source, allowed)
    ]
    assert places == []
    assert spread_calls("log_in(request, *named)", allowed) == [1]
    assert spread_calls("def f(*args):\n    log_in(*args)", allowed) == []
    assert spread_calls("connection.fetch(query, *values)", allowed) == []
