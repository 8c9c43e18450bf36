"""The Markdown of the guides as HTML: tabs, anchors, coloured code.

Imported when the first guide is read: most processes never need it.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name

# Names of the tabs; a sample in `sh` is a call with curl.
LANGUAGES = {"sh": "curl", "python": "Python", "ts": "TypeScript", "php": "PHP"}

# Addresses of the service: written as code, they become links.
_PLACES = {"/docs", "/openapi.json", "/dashboard", "/app"}


class Heading(NamedTuple):
    anchor: str
    text: str


class Text(NamedTuple):
    body: Markup
    headings: tuple[Heading, ...]  # of the second level


def render(text: str, address: dict[str, str]) -> Text:
    """`address` has the page of each file, by the name that links use."""
    markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")
    tokens = markdown.parse(text)
    headings = list(_headings(tokens))
    parts = tuple(Heading(anchor, text) for level, anchor, text in headings if level == "h2")
    env = {"address": address}
    body = markdown.renderer.render(_with_samples(tokens), markdown.options, env)
    return Text(Markup(body), parts)  # noqa: S704  # made of our own files


def _headings(tokens: Sequence[Token]) -> Iterator[tuple[str, str, str]]:
    """Gives each heading the same anchor as code hosts do."""
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            anchor = re.sub(r"[^\w -]", "", inline.content.lower()).replace(" ", "-")
            opening.attrSet("id", anchor)
            yield opening.tag, anchor, inline.content.replace("`", "")


def _with_samples(tokens: Sequence[Token]) -> list[Token]:
    """Joins code blocks of several languages that follow each other into one `samples` token."""
    joined: list[Token] = []
    for is_sample, run in groupby(tokens, _is_sample):
        blocks = list(run)
        if is_sample and len(blocks) > 1:
            joined.append(Token("samples", "", 0, meta={"blocks": blocks, "number": len(joined)}))
        else:
            joined += blocks
    return joined


def _is_sample(token: Token) -> bool:
    return token.type == "fence" and language(token.info) in LANGUAGES


def language(info: str) -> str:
    """The first word after a code block's fence."""
    return info.split(" ", 1)[0]


def highlighted(code: str, name: str) -> str:
    if not name or name == "text":
        return str(escape(code))
    options = {"startinline": not code.startswith("<?php")} if name == "php" else {}
    lexer = get_lexer_by_name(name, stripnl=False, **options)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


class _Renderer(RendererHTML):
    """markdown-it's renderer with the differences of the guides. A method renders its token."""

    def fence(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return f'<div class="listing">{_listing(tokens[idx])}</div>\n'

    def samples(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        """Radio buttons that look like tabs: they work without JavaScript and with a keyboard."""
        number, blocks = tokens[idx].meta["number"], tokens[idx].meta["blocks"]
        tabs, panels = [], []
        for place, block in enumerate(blocks):
            name = language(block.info)
            key = f"sample-{number}-{name}"
            chosen = "" if place else " checked"
            tabs.append(
                f'<input type="radio" name="sample-{number}" id="{key}" value="{name}"{chosen}>'
                f'<label for="{key}">{LANGUAGES[name]}</label>'
            )
            panels.append(f'<div class="listing" data-language="{name}">{_listing(block)}</div>')
        return (
            '<fieldset class="samples"><legend class="unseen">Sample in</legend>'
            f"{''.join(tabs)}{''.join(panels)}</fieldset>\n"
        )

    def heading_close(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        opening = tokens[idx - 2]
        if opening.tag == "h1":
            return "</h1>\n"
        title = escape(tokens[idx - 1].content.replace("`", ""))
        return (
            f' <a class="anchor" href="#{opening.attrGet("id")}" aria-label="Link to “{title}”">'
            f"#</a></{opening.tag}>\n"
        )

    def code_inline(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        text = tokens[idx].content
        code = f"<code>{escape(text)}</code>"
        return f'<a href="{text}">{code}</a>' if text in _PLACES else code

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A link to another file leads to its page."""
        token = tokens[idx]
        target = urlsplit(str(token.attrGet("href")))
        if target.path:
            path = env["address"][target.path]
            token.attrSet("href", f"{path}#{target.fragment}" if target.fragment else path)
        return self.renderToken(tokens, idx, options, env)

    def table_open(self, *_: object) -> str:
        """A table that is too wide for a phone can be scrolled, with the keyboard too."""
        return '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>\n'

    def table_close(self, *_: object) -> str:
        return "</table></div>\n"


def _listing(token: Token) -> str:
    _, _, name = token.info.partition("file=")
    caption = f'<p class="file">{escape(name)}</p>' if name else ""
    code = highlighted(token.content, language(token.info))
    label = f"Code: {name}" if name else "Code"
    return (
        f'{caption}<pre tabindex="0" role="group" aria-label="{escape(label)}">'
        f"<code>{code}</code></pre>"
    )
