"""A long page is written in slices, and comes out the same."""

import asyncio
import time

import pytest
from jinja2 import DictLoader, Environment, nodes

from laari.edge.pages import render
from laari.edge.pages.language import ENGLISH

ROWS = 200
SLOW = 0.001  # seconds for each row


@pytest.fixture
def slow_page(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "frame.html": "<main>{% block content %}{% endblock %}</main>",
        "long.html": "{% extends 'frame.html' %}{% block content %}"
        "{% include 'table.html' %}{% endblock %}",
        "table.html": "{% for row in rows %}<p>{{ row | slow }}</p>{% endfor %}",
    }

    def slow(text: str) -> str:
        time.sleep(SLOW)
        return text

    environment = render._ENVIRONMENT.overlay(loader=DictLoader(texts))
    environment.filters = {**environment.filters, "slow": slow}
    monkeypatch.setattr(render, "_ENVIRONMENT", environment)


@pytest.mark.usefixtures("slow_page")
async def test_others_have_their_turn_while_a_long_page_is_written() -> None:
    rows = [f"<{number}>" for number in range(ROWS)]
    waits: list[float] = []

    async def other() -> None:
        while True:
            asked = time.monotonic()
            await asyncio.sleep(0)
            waits.append(time.monotonic() - asked)

    asking = asyncio.create_task(other())
    html = await render.render_long(["long.html"], ENGLISH, rows=rows)
    asking.cancel()
    assert html == render.render(["long.html"], ENGLISH, rows=rows)
    assert "&lt;7&gt;" in html
    assert len(waits) > ROWS * SLOW / render.SLICE_SECONDS / 10  # many turns, not one
    # What takes many turns meets a slice in few of them.
    assert sum(wait > render.SLICE_SECONDS / 2 for wait in waits) < len(waits) / 4


def test_no_macro_writes_a_table() -> None:
    """A macro is rendered in one piece, an included template is not."""
    environment: Environment = render._ENVIRONMENT
    assert environment.loader is not None
    found = {
        (name, macro.name)
        for name in environment.list_templates(extensions=["html"])
        for macro in environment.parse(
            environment.loader.get_source(environment, name)[0]
        ).find_all(nodes.Macro)
        if any("<table" in text.data for text in macro.find_all(nodes.TemplateData))
    }
    assert found == set()
