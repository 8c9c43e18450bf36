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
