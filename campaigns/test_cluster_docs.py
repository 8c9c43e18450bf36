"""The configuration that docs/high-availability.md recommends is the one that is tested."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from campaigns.cluster.nodes import DYNAMIC
from campaigns.cluster.proxy import Server, configuration

PAGE = Path(__file__).parents[1] / "docs" / "high-availability.md"


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert found, language
    return found[1]


def lines(settings: Mapping[str, Any], indent: int = 0) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield f"{' ' * indent}{name}:"
            yield from lines(value, indent + 2)
        else:
            shown = str(value).lower() if isinstance(value, bool) else value
            yield f"{' ' * indent}{name}: {shown}"


def test_patroni_is_configured_as_the_page_says() -> None:
    assert block("yaml").splitlines() == list(lines(DYNAMIC))


def test_haproxy_is_configured_as_the_page_says() -> None:
    servers = [Server(f"db{number}", f"10.0.0.{number}") for number in (1, 2, 3)]
    assert block("haproxy") == configuration(servers)
